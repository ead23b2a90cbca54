"""Dotted paths into plain data: `name.0.family`, `slots[2].start`, `*` for any item."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic import BaseModel

_BRACKET = re.compile(r"\[(\d+|\*)\]")
_MAX_INDEX_LENGTH = 10


class MissingValue:
    """What a path leads to when it leads nowhere; `null` is something else."""

    def __repr__(self) -> str:
        """As evidence shows it."""
        return "(absent)"


MISSING: Final = MissingValue()


def split_path(path: str) -> list[str]:
    """`a[0].b` and `a.0.b` are one path."""
    return [part for part in _BRACKET.sub(r".\1", path).split(".") if part]


def lookup(data: Any, path: str) -> Any:
    """The first value at the path, or MISSING."""
    if "." not in path and "[" not in path and path != "*":
        return _child(data, path)
    return next(lookup_all(data, split_path(path)), MISSING)


def lookup_all(data: Any, parts: Sequence[str]) -> Iterator[Any]:
    """Every value at the path: more than one where it has a `*`."""
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
