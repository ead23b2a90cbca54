"""Read objects as clients send them: as the API returned them, or as those of other platforms are written."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from clerkship.model.errors import InputError, InputProblem
from clerkship.model.server_objects import DraftKind
from clerkship.service.serving.drafts.objects import strip_read_only
from clerkship.service.serving.drafts.yaml_rendering import require_renderable
from clerkship.service.serving.refusals import ObjectNotFound

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")


def normalize(kind: DraftKind, written: Mapping[str, Any], current: Collection[str] = ()) -> dict[str, Any]:
    """Return the definition of an object that a client sent. A key whose value is null counts as missing, unless the
    object has it already. Raise InputError for what no file can hold.
    """
    data = strip_read_only(kind, written)
    data = {key: value for key, value in data.items() if value is not None or key in current}
    if kind == "simulator":
        return normalize_simulator(data)
    simulators = data.get("simulators")
    if kind == "environment" and isinstance(simulators, list):
        named = [
            normalize_simulator(strip_read_only("simulator", item)) for item in simulators if isinstance(item, dict)
        ]
        data["simulators"] = {str(item.pop("name", "")): item for item in named}
    require_renderable(data)
    return data


def normalize_simulator(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a simulator with `kind`, which may be sent as `type` in capital letters: `FHIR`, `Fhir`."""
    kind = data.get("kind", data.get("type"))
    left = {key: value for key, value in data.items() if key not in ("kind", "type") and value is not None}
    name = {"name": left.pop("name")} if "name" in left else {}
    require_renderable(left)
    return {**name, **({"kind": kind.lower() if isinstance(kind, str) else kind} if kind is not None else {}), **left}


def merge_patch(target: Any, patch: Any) -> Any:
    """Return JSON data changed by a merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def require_slug(slug: object) -> str:
    """Return a slug. Raise InputError if it is none."""
    if isinstance(slug, str) and _SLUG.fullmatch(slug):
        return slug
    hint = "use lower-case letters, digits and -, such as `chart`"
    raise InputError([InputProblem(key="slug", message=f"`{str(slug)[:100]}` is not a slug", hint=hint)])


def add_entity(entity: Mapping[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a change of a task that binds a record to it."""
    left = {key: value for key, value in entity.items() if value is not None}
    require_renderable(left)
    return lambda task: {**task, "entities": [*task.get("entities", ()), left]}


def remove_entity(entity_id: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a change of a task that unbinds a record from it. It raises ObjectNotFound if the task has no such."""

    def change(task: dict[str, Any]) -> dict[str, Any]:
        entities = task.get("entities", ())
        left = [each for each in entities if each.get("id") != entity_id]
        if len(left) == len(entities):
            raise ObjectNotFound(f"the task has no entity `{entity_id[:100]}`")
        return {**task, "entities": left}

    return change
