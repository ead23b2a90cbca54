"""The hooks and the fields of their contexts, as data (`hooks.json`), and the check of a context."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import orjson
from pydantic import TypeAdapter

from clerkship.model.frozen import Flag, Frozen

FieldType = Literal["id", "reference", "references", "resources", "bundle"]
HookName = Literal[
    "patient-view",
    "order-select",
    "order-sign",
    "order-dispatch",
    "appointment-book",
    "encounter-start",
    "encounter-discharge",
]
HOOK_NAMES: Final[tuple[str, ...]] = get_args(HookName)
FIELD_TYPES: Final[dict[FieldType, str]] = {
    "id": "an id, such as 123",
    "reference": "a reference, such as Practitioner/123",
    "references": "a list of references",
    "resources": "a list of resources",
    "bundle": "a Bundle",
}
"""What a context field of each type holds."""
_ID = re.compile(r"[A-Za-z0-9.-]{1,64}", re.ASCII)
_REFERENCE = re.compile(r"([A-Z][A-Za-z]{1,63})/[A-Za-z0-9.-]{1,64}", re.ASCII)


class ContextField(Frozen):
    """One field of the context of a hook."""

    required: Flag
    token: Flag
    """Whether prefetch templates may use it: {{context.patientId}}."""
    type: FieldType
    text: str
    """What it is, for people."""
    resources: tuple[str, ...] = ()
    """The resource types that it may hold."""


class HookDefinition(Frozen):
    """A hook: when it fires, for which users, and the fields of its context."""

    version: str
    when: str
    users: tuple[str, ...]
    """The resource types of the users whom it expects."""
    context: dict[str, ContextField]


class ContextProblem(NamedTuple):
    """What is wrong with one field of a context."""

    field: str
    text: str


@cache
def load_hooks() -> dict[str, HookDefinition]:
    """Return the definitions of the hooks by name."""
    data = orjson.loads(Path(__file__).with_suffix(".json").read_bytes())
    return TypeAdapter(dict[str, HookDefinition]).validate_python(data)


def find_hook(name: str) -> HookDefinition | None:
    """Return the definition of a hook; None if the name is unknown."""
    return load_hooks().get(name)


def is_reference(value: object, types: tuple[str, ...] = ()) -> bool:
    """Return whether a value is a reference such as `Practitioner/123`, to one of some resource types if given."""
    match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return match is not None and (not types or match[1] in types)


def check_context(hook: str, context: dict[str, Any]) -> list[ContextProblem]:
    """Return what is wrong with the context of one of `HOOK_NAMES`. Fields that it does not define are allowed."""
    definition = load_hooks()[hook]
    problems: list[ContextProblem] = []
    for name, field in definition.context.items():
        if name not in context:
            if field.required:
                problems.append(ContextProblem(name, f"{hook} needs {name}: {field.text}"))
            continue
        types = definition.users if name == "userId" else field.resources
        problems.extend(ContextProblem(name, text) for text in _check_field(field, types, context[name]))
    return problems


def _check_field(field: ContextField, types: tuple[str, ...], value: object) -> Iterator[str]:
    expected = FIELD_TYPES[field.type]
    if field.type == "id":
        if not isinstance(value, str) or not _ID.fullmatch(value):
            yield f"expected {expected}"
    elif field.type == "reference":
        if not is_reference(value, types):
            yield f"expected {expected}" + (f", to one of {', '.join(types)}" if types else "")
    elif field.type == "references":
        if not isinstance(value, list) or not value or not all(map(is_reference, value)):
            yield f"expected {expected}, such as MedicationRequest/123"
    else:
        yield from _check_resources(field, value)


def _check_resources(field: ContextField, value: object) -> Iterator[str]:
    resources = value if field.type == "resources" else list_bundle_resources(value)
    if not isinstance(resources, list) or not resources:
        yield f"expected {FIELD_TYPES[field.type]} with at least one resource"
        return
    for resource in resources:
        type = resource.get("resourceType") if isinstance(resource, dict) else None
        if type not in field.resources:
            yield f"expected resources of the types {', '.join(field.resources)}, not {str(type)[:40]}"
            return


def list_bundle_resources(value: object) -> list[Any] | None:
    """Return the resources of a Bundle; None if the value is not a Bundle."""
    if not isinstance(value, dict) or value.get("resourceType") != "Bundle":
        return None
    entries = value.get("entry", [])
    if not isinstance(entries, list):
        return None
    return [entry.get("resource") if isinstance(entry, dict) else None for entry in entries]
