"""The steps of a FHIR server: create, replace, change and delete resources."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.fhirpath import list_choice_names, parse_plain_path
from clerkship.formats.fhir.names import list_resource_names
from clerkship.formats.fhir.path_check import find_path_error, find_value_error
from clerkship.formats.fhir.resource import Resource, get_key, list_references, parse_reference
from clerkship.formats.fhir.validation import validate
from clerkship.model.errors import InputError
from clerkship.model.frozen import Frozen
from clerkship.model.located_error import FieldPath, build_located_error, existing_part
from clerkship.model.names import did_you_mean
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.fhir.inputs import FhirSandboxName
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import delete_resource, patch_resource, put_resource

_STEP = re.compile(r"[A-Za-z_]\w*|\d+")


def require_valid(resource: Resource) -> Resource:
    """Return the resource; raise an error with the location of each mistake if it is not valid by R4."""
    issues = [issue for issue in validate(resource) if issue.severity in ("fatal", "error")]
    if issues:
        raise build_located_error((_locate(resource, issue.expression), issue.text) for issue in issues)
    return resource


def _locate(resource: Resource, expression: str) -> FieldPath:
    """Return the path of an issue in the data: `Observation.component[1].value` -> `component, 1, valueQuantity`."""
    data: Any = resource
    place: list[int | str] = []
    for step in _STEP.findall(expression)[1:]:
        name: int | str = int(step) if step.isdigit() else step
        if isinstance(data, dict) and isinstance(name, str) and name not in data:
            name = next((choice for choice in list_choice_names(name) if choice in data), name)
        place.append(name)
        inside = existing_part(data, (name,))
        data = data[name] if inside else None
    return existing_part(resource, tuple(place))


class FhirPut(Step):
    """Creates a resource, or replaces the one with its id. Without an id, the server assigns one."""

    name: ClassVar[str] = "fhir.put"
    simulator: ClassVar[str | None] = "fhir"
    resource: Annotated[
        dict[str, Any], AfterValidator(require_valid), Field(description="a complete resource, valid by FHIR R4")
    ]
    sandbox: FhirSandboxName = None

    def list_required_records(self) -> Iterable[tuple[FieldPath, str]]:
        """Return nothing: the step creates a resource that does not exist."""
        return ()

    def list_referenced_records(self, config: Mapping[str, Any]) -> Iterable[tuple[FieldPath, str]]:
        """Yield the resources that the resource refers to, other than itself.

        There are none if the server does not check references.
        """
        if config.get("references") == "unchecked":
            return
        for path, holder in list_references(self.resource):
            target = parse_reference(holder["reference"])
            if (
                target is not None
                and target.type in RESOURCE_TYPES
                and (target.key,) != self.list_resulting_records()[0]
            ):
                yield (
                    ("resource", *_locate(self.resource, f"{self.resource['resourceType']}.{path}.reference")),
                    target.key,
                )

    def list_resulting_records(self) -> tuple[Collection[str], Collection[str]]:
        return ((get_key(self.resource),) if "id" in self.resource else ()), ()

    def list_names(self) -> Iterable[tuple[str, str]]:
        """Return the names by which criteria and other steps can refer to the resource."""
        return list_resource_names(get_key(self.resource)) if "id" in self.resource else ()

    def run(self, host: StepHost) -> None:
        state, action = host.state(FhirState, self.sandbox)
        with Transaction(state, action) as transaction:
            put_resource(transaction, self.resource, "put")


class ResourceStep(Step):
    """A step on one existing resource."""

    resource: Annotated[str | None, Field(description="the resource, such as `Patient/42`")] = None
    type: Annotated[str | None, Field(description="its type, if `resource` is not given")] = None
    id: Annotated[str | None, Field(description="its id, if `resource` is not given")] = None
    sandbox: FhirSandboxName = None

    @property
    def key(self) -> str:
        return self.resource if self.resource is not None else f"{self.type}/{self.id}"

    def list_required_records(self) -> Iterable[tuple[FieldPath, str]]:
        """Return the resource that must exist."""
        return [(("resource",) if self.resource is not None else ("id",), self.key)]

    def list_referenced_records(self, config: Mapping[str, Any]) -> Iterable[tuple[FieldPath, str]]:
        return ()

    def list_resulting_records(self) -> tuple[Collection[str], Collection[str]]:
        return (self.key,), ()

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        parts = [part for part in (self.type, self.id) if part is not None]
        if len(parts) != (2 if self.resource is None else 0):
            raise ValueError("expected `resource`, such as Patient/42, or `type` and `id`")
        target = parse_reference(self.key)
        if target is None or target.version is not None:
            raise ValueError(f"`{self.key}` is not a resource (expected: a type and an id, such as Patient/42)")
        if target.type not in RESOURCE_TYPES:
            hint = did_you_mean(target.type, RESOURCE_TYPES)
            raise ValueError(f"unknown resource type `{target.type}`" + (f"; {hint}" if "mean" in hint else ""))
        return self


class FhirDelete(ResourceStep):
    """Deletes a resource. Its earlier versions remain."""

    name: ClassVar[str] = "fhir.delete"
    simulator: ClassVar[str | None] = "fhir"

    def list_resulting_records(self) -> tuple[Collection[str], Collection[str]]:
        return (), (self.key,)

    def run(self, host: StepHost) -> None:
        state, action = host.state(FhirState, self.sandbox)
        # A FHIR server accepts the deletion of an unknown resource; here the author most likely mistyped the id.
        if state.resource(self.key) is None:
            raise InputError.of(f"there is no {self.key} to delete")
        with Transaction(state, action) as transaction:
            delete_resource(transaction, self.key)


_OPS_WITH_VALUE = ("add", "replace", "test")
_OPS_WITH_FROM = ("move", "copy")


def _check_pointer(text: str) -> str:
    if text and not text.startswith("/"):
        raise ValueError(
            f"`{text}` is not a JSON pointer (expected: a path that starts with /, such as /name/0/family)"
        )
    return text


Pointer = Annotated[str, AfterValidator(_check_pointer)]


class PatchOperation(Frozen):
    """One operation of a JSON Patch (RFC 6902)."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: Annotated[Pointer, Field(description="a JSON pointer, such as /name/0/family")]
    value: JsonValue = None
    from_: Annotated[Pointer | None, Field(alias="from")] = None

    @model_validator(mode="after")
    def _check_members(self) -> Self:
        if (self.op in _OPS_WITH_VALUE) != ("value" in self.model_fields_set):
            raise ValueError(f"`{self.op}` {'needs' if self.op in _OPS_WITH_VALUE else 'does not take'} `value`")
        if (self.op in _OPS_WITH_FROM) != (self.from_ is not None):
            raise ValueError(f"`{self.op}` {'needs' if self.op in _OPS_WITH_FROM else 'does not take'} `from`")
        return self

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_unset=True)


class FhirPatch(ResourceStep):
    """Changes a resource by `operations` of JSON Patch, or by `set`, which sets values at dotted paths."""

    name: ClassVar[str] = "fhir.patch"
    simulator: ClassVar[str | None] = "fhir"
    operations: Annotated[
        tuple[PatchOperation, ...], Field(description="operations of JSON Patch (RFC 6902), in order")
    ] = ()
    set: Annotated[
        dict[str, JsonValue],
        Field(description="dotted path -> new value; null removes the element. Items of a list need an index"),
    ] = {}

    @model_validator(mode="after")
    def _check_changes(self) -> Self:
        if not self.operations and not self.set:
            raise ValueError("expected `operations` or `set`")
        places: dict[FieldPath, str] = {
            ("set", path): _find_mistake(self.key, path, value) for path, value in self.set.items()
        }
        if any(places.values()):
            raise build_located_error((place, message) for place, message in places.items() if message)
        return self

    def run(self, host: StepHost) -> None:
        state, action = host.state(FhirState, self.sandbox)
        operations = [operation.to_json() for operation in self.operations]
        if self.set:
            resource = state.resource(self.key)
            if resource is None:
                raise InputError.of(f"there is no {self.key}")
            operations += build_set_operations(resource, self.set)
        with Transaction(state, action) as transaction:
            patch_resource(transaction, self.key, operations)


def _find_mistake(key: str, path: str, value: JsonValue) -> str:
    if parse_plain_path(path) is None:
        return f"`{path}` is not a plain path (expected: element names and indexes, such as name[0].family)"
    type = key.partition("/")[0]
    message = find_value_error(type, path, value)
    return find_path_error(type, path) or (f"`{path}`: {message}" if message else "")


def build_set_operations(resource: Resource, values: dict[str, JsonValue]) -> list[dict[str, Any]]:
    """Build a JSON Patch that sets values at paths: one `add` or `remove` for each top-level element."""
    changed: Resource = dict(resource)
    for path, value in values.items():
        steps = [step for step in parse_plain_path(path) or () if step != resource["resourceType"]]
        changed = _set_value(changed, steps, value, path)
    changed_names = [name for name in changed if name not in resource or changed[name] != resource[name]]
    additions = [{"op": "add", "path": f"/{name}", "value": changed[name]} for name in changed_names]
    return [*additions, *({"op": "remove", "path": f"/{name}"} for name in resource if name not in changed)]


def _set_value(data: Any, steps: list[str | int], value: JsonValue, path: str) -> Any:
    """Return the data with a value at a path. Elements that become empty are removed."""
    if not steps:
        return value
    head, rest = steps[0], steps[1:]
    if isinstance(data, list) and isinstance(head, str):
        if len(data) != 1:
            raise InputError.of(
                f"`{path}` is ambiguous: the list before `{head}` has {len(data)} items",
                hint="add an index, such as [0]",
            )
        head, rest = 0, steps
    if isinstance(head, int):
        return _set_item(data, head, rest, value, path)
    members = dict(data) if isinstance(data, dict) else {}
    inner = _set_value(members.get(head), rest, value, path)
    if inner is None or inner in ({}, []):
        members.pop(head, None)
    else:
        members[head] = inner
    return members


def _set_item(data: Any, number: int, rest: list[str | int], value: JsonValue, path: str) -> Any:
    items = list(data) if isinstance(data, list) else []
    if number > len(items):
        raise InputError.of(f"`{path}`: the list has {len(items)} items, so [{number}] would leave a gap")
    inner = _set_value(items[number] if number < len(items) else None, rest, value, path)
    items[number : number + 1] = [] if inner is None or inner in ({}, []) else [inner]
    return items
