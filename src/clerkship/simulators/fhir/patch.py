"""JSON Patch (RFC 6902): what a resource becomes when some operations are done to it, all or none."""

from collections.abc import Callable
from typing import Any

from clerkship.fhir.issue import Invalid, Issue
from clerkship.simulators.fhir.body import MAX_RESOURCE_ELEMENTS, count_elements, nesting

MOST_OPERATIONS = 1000
MAX_PATCHED = MAX_RESOURCE_ELEMENTS
"""Elements that one patch adds, moves and copies: copies of copies double with each operation."""
MOST_LEVELS = 200
_NEEDS = {
    "add": ("path", "value"),
    "remove": ("path",),
    "replace": ("path", "value"),
    "move": ("path", "from"),
    "copy": ("path", "from"),
    "test": ("path", "value"),
}


class Unpatchable(Exception):
    """An operation that cannot be done to this document."""


def check(operations: Any) -> None:
    """Whether they are a patch at all; raises Invalid with all that is wrong with them."""
    if not isinstance(operations, list) or not operations:
        raise Invalid(Issue("error", "structure", "a JSON Patch is an array of operations (RFC 6902 §3)"))
    if len(operations) > MOST_OPERATIONS:
        raise Invalid(Issue("error", "too-costly", f"a patch may have {MOST_OPERATIONS} operations"))
    issues = [issue for number, operation in enumerate(operations) for issue in _wrong(number, operation)]
    if issues:
        raise Invalid(*issues)


def _wrong(number: int, operation: Any) -> list[Issue]:
    if not isinstance(operation, dict):
        return [Issue("error", "structure", f"operation {number} is not an object")]
    name = operation.get("op")
    if not isinstance(name, str) or name not in _NEEDS:
        return [Issue("error", "value", f"operation {number}: `op` is one of {', '.join(_NEEDS)}")]
    missing = [key for key in _NEEDS[name] if key not in operation]
    if missing:
        return [Issue("error", "required", f"operation {number}: `{name}` needs `{missing[0]}`")]
    pointers = [operation[key] for key in ("path", "from") if key in _NEEDS[name]]
    if not all(isinstance(pointer, str) and (not pointer or pointer.startswith("/")) for pointer in pointers):
        return [Issue("error", "value", f"operation {number}: a path is empty or begins with `/` (RFC 6901 §3)")]
    return []


def apply(document: Any, operations: list[dict[str, Any]], depth: int = MOST_LEVELS) -> Any:
    """The document with them done, in place; raises Invalid at the first that cannot be."""
    left = MAX_PATCHED
    for number, operation in enumerate(operations):
        try:
            if operation["op"] in ("add", "replace", "move", "copy"):
                value = (
                    operation["value"] if "from" not in _NEEDS[operation["op"]] else _get(document, operation["from"])
                )
                # Seen before it is done: by several operations a patch that is flat can make what nothing can read.
                if len(_parts(operation["path"])) + _levels(value, depth) > depth:
                    raise Unpatchable(f"the resource would be nested more than {depth} deep")
                left -= count_elements(value, left)
                if left < 0:
                    raise Unpatchable(f"the patch adds, moves and copies more than {MAX_PATCHED:,} elements")
            document = _DO[operation["op"]](document, operation)
        except Unpatchable as error:
            said = f"operation {number} ({operation['op']} {operation['path']}): {error}"
            raise Invalid(Issue("error", "processing", said)) from None
    return document


def _levels(value: Any, most: int) -> int:
    return nesting(value, most) if isinstance(value, dict | list) else 0


def _copied(value: Any) -> Any:
    """Its own, so that what is done to one is not done to the other; no deeper than a document may be."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _parts(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _index(part: str, size: int) -> int:
    """RFC 6901 §4: digits without leading zeros."""
    if not part.isascii() or not part.isdigit() or (part[0] == "0" and part != "0") or len(part) > 9:
        raise Unpatchable(f"`{part}` is no index")
    if int(part) >= size:
        raise Unpatchable(f"there is no item {part}")
    return int(part)


def _step(place: Any, part: str) -> Any:
    if isinstance(place, dict):
        if part not in place:
            raise Unpatchable(f"there is no `{part}`")
        return place[part]
    if isinstance(place, list):
        return place[_index(part, len(place))]
    raise Unpatchable(f"nothing can be under a {type(place).__name__}")


def _get(document: Any, pointer: str) -> Any:
    for part in _parts(pointer):
        document = _step(document, part)
    return document


def _parent(document: Any, pointer: str) -> tuple[Any, str]:
    *above, last = _parts(pointer)
    for part in above:
        document = _step(document, part)
    return document, last


def _add(document: Any, operation: dict[str, Any]) -> Any:
    return _put(document, operation["path"], _copied(operation["value"]))


def _put(document: Any, pointer: str, value: Any) -> Any:
    if not pointer:
        return value
    place, last = _parent(document, pointer)
    if isinstance(place, dict):
        place[last] = value
    elif isinstance(place, list):
        place.insert(len(place) if last == "-" else _index(last, len(place) + 1), value)
    else:
        raise Unpatchable(f"nothing can be under a {type(place).__name__}")
    return document


def _remove(document: Any, operation: dict[str, Any]) -> Any:
    return _take(document, operation["path"])


def _take(document: Any, pointer: str) -> Any:
    if not pointer:
        raise Unpatchable("the whole resource cannot be removed")
    place, last = _parent(document, pointer)
    _step(place, last)
    del place[int(last) if isinstance(place, list) else last]
    return document


def _replace(document: Any, operation: dict[str, Any]) -> Any:
    if not operation["path"]:
        return _copied(operation["value"])
    place, last = _parent(document, operation["path"])
    _step(place, last)
    place[int(last) if isinstance(place, list) else last] = _copied(operation["value"])
    return document


def _move(document: Any, operation: dict[str, Any]) -> Any:
    source, target = operation["from"], operation["path"]
    if target == source:
        _get(document, source)
        return document
    if target.startswith(f"{source}/"):
        raise Unpatchable("nothing can be moved into itself")
    value = _get(document, source)
    return _put(_take(document, source), target, value)


def _copy(document: Any, operation: dict[str, Any]) -> Any:
    return _put(document, operation["path"], _copied(_get(document, operation["from"])))


def _test(document: Any, operation: dict[str, Any]) -> Any:
    if not same(_get(document, operation["path"]), operation["value"]):
        raise Unpatchable("the value is another")
    return document


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: numbers by value, `true` no number (RFC 6902 §4.6)."""
    left = [(one, other)]
    while left:
        one, other = left.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            left.extend((one[key], other[key]) for key in one)
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            left.extend(zip(one, other, strict=True))
        elif isinstance(one, bool) or isinstance(other, bool):
            if one is not other:
                return False
        elif isinstance(one, dict | list) or isinstance(other, dict | list) or one != other:
            return False
    return True


_DO: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
