"""Dotted paths into plain data: `name.0.family`, `slots[2].start`, `*` for any item."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic import BaseModel

_BRACKET = re.compile(r"\[(\d+|\*)\]")
_MAX_INDEX_LENGTH = 10


class MissingValue:
    """The type of MISSING: the result for a path that does not exist. `null` is a value and not missing."""

    def __repr__(self) -> str:
        return "(absent)"


MISSING: Final = MissingValue()


def split_path(path: str) -> list[str]:
    """Split a path into its keys. `a[0].b` and `a.0.b` are the same path."""
    return [part for part in _BRACKET.sub(r".\1", path).split(".") if part]


def lookup(data: Any, path: str) -> Any:
    """Return the first value at a path, or MISSING."""
    if "." not in path and "[" not in path and path != "*":
        return _child(data, path)
    return next(lookup_all(data, split_path(path)), MISSING)


def lookup_all(data: Any, parts: Sequence[str]) -> Iterator[Any]:
    """Yield every value at a path. A path with `*` can have several."""
    if not parts:
        yield data
        return
    head, rest = parts[0], parts[1:]
    if head == "*":
        for item in data if isinstance(data, list | tuple) else ():
            yield from lookup_all(item, rest)
        return
    child = _child(data, head)
    if child is not MISSING:
        yield from lookup_all(child, rest)


def _child(data: Any, key: str) -> Any:
    if isinstance(data, dict):
        return data.get(key, MISSING)
    if isinstance(data, BaseModel):
        return data.__dict__.get(key, MISSING)
    if isinstance(data, list | tuple):
        return data[int(key)] if key.isdecimal() and len(key) < _MAX_INDEX_LENGTH and int(key) < len(data) else MISSING
    return MISSING


def set_value(data: Any, parts: Sequence[str], value: Any) -> None:
    """Set the value at a path in place, with `*` at each of several; None removes it. Missing maps are added.

    Raise KeyError if the path leads through something else than a map or an existing item of a list.
    """
    head, *rest = parts
    if head == "*" and isinstance(data, list):
        for number in range(len(data)):
            set_value(data, [str(number), *rest], value)
        return
    if isinstance(data, list) and _child(data, head) is not MISSING:
        head = int(head)  # type: ignore[assignment]
    elif not isinstance(data, dict):
        raise KeyError(head)
    if rest:
        data[head] = data.get(head, {}) if isinstance(data, dict) else data[head]
        set_value(data[head], rest, value)
    elif value is None:
        del data[head]
    else:
        data[head] = value
