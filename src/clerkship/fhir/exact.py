"""JSON whose decimals keep every digit: `1.50` is not `1.5` (R4 §2.24.0.1, decimal: precision is part of the value)."""

import json
import re
from typing import Any, Self

import orjson

from clerkship.model.freeze import FrozenDict, FrozenList

_LOSSY = re.compile(rb"[:\[,\s]-?(?:\d+\.\d+0|\d+\.0000\d*|\d+(?:\.\d+)?[eE][+-]?\d+|[\d.]{16,})(?=[\s,\]}])")
"""A number that a binary fraction would write otherwise. In a text it may match too, which costs time alone."""

_BETWEEN = re.compile(rb"[^\d.eE+\-:\[,\s\]}]")
"""A byte that is in no match of _LOSSY: between two slices."""
_SLICE = 500_000


class Decimal(float):
    """A number with the digits it was written with."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        """From its digits."""
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        """What a copy is made from."""
        return (self.text,)


def loads(data: bytes) -> Any:
    """Plain data; raises ValueError where it is not JSON, as RFC 8259 has it."""
    if not _is_lossy(data):
        return orjson.loads(data)
    orjson.loads(data)  # the stricter reader of the two says whether it is JSON at all
    return json.loads(data, parse_float=Decimal, parse_int=_whole)


def _is_lossy(data: bytes) -> bool:
    """Look for a lossy number, slice by slice: no other thread runs while one slice is looked through."""
    start = 0
    while start < len(data):
        cut = _BETWEEN.search(data, start + _SLICE)
        end = len(data) if cut is None else cut.start()
        if _LOSSY.search(data, start, end) is not None:
            return True
        start = end
    return False


def _whole(text: str) -> int | Decimal:
    return int(text) if len(text) <= 18 else Decimal(text)


def _digits(value: Any) -> orjson.Fragment:
    if isinstance(value, Decimal):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is no JSON")


def dumps(data: Any) -> bytes:
    """The same data, the same bytes: keys in order, digits as they were."""
    return orjson.dumps(data, default=_digits, option=orjson.OPT_SORT_KEYS)


def is_exact(data: Any) -> bool:
    """Whether plain JSON would lose digits of it."""
    left = [data]
    while left:
        item = left.pop()
        kind = type(item)
        if kind is dict or kind is FrozenDict:
            left.extend(item.values())
        elif kind is list or kind is FrozenList:
            left.extend(item)
        elif kind is Decimal:
            return True
    return False


def pretty(data: Any) -> bytes:
    """The same for people to read: keys as they come, two spaces a level."""
    return orjson.dumps(data, default=_digits, option=orjson.OPT_INDENT_2)


def plain(data: Any) -> Any:
    """The same data with numbers as any reader of JSON has them."""
    if isinstance(data, Decimal):
        return float(data)
    if isinstance(data, dict):
        return {key: plain(item) for key, item in data.items()} if is_exact(data) else data
    if isinstance(data, list):
        return [plain(item) for item in data] if is_exact(data) else data
    return data
