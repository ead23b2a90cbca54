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
