"""JSON that keeps the digits of decimals: `1.50` is not `1.5` (R4 §2.24.0.1: precision is part of a decimal)."""

import json
import re
from typing import Any, Self

import orjson

from clerkship.model.freeze import FrozenDict, FrozenList

_LOSSY = re.compile(rb"[:\[,\s]-?(?:\d+\.\d+0|\d+\.0000\d*|\d+(?:\.\d+)?[eE][+-]?\d+|[\d.]{16,})(?=[\s,\]}])")
"""A number that would lose digits as a float. It may also match in a text, which only costs time."""

_SLICE_END = re.compile(rb"[^\d.eE+\-:\[,\s\]}]")
"""A byte that cannot be part of a match of _LOSSY, where a slice can end."""
_SLICE_BYTES = 500_000

# Each match of _LOSSY contains one of these, which are found several times faster, because each begins with a literal.
_TRAILING_ZERO = re.compile(rb"\.\d*0[\s,\]}]")
_SMALL_FRACTION = b".0000"
_CLASSES = bytes.maketrans(b"023456789.E+ \t\r\n]}", b"1111111111e-,,,,,,")
"""Maps digits and dots to `1`, signs to `-`, and bytes that end a number to `,`."""
_EXPONENT = re.compile(rb"1e-?1+,")
_MANY_DIGITS = b"1" * 16 + b","


class Decimal(float):
    """A number with its original digits."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        return (self.text,)


def loads(data: bytes) -> Any:
    """Parse JSON with exact decimals; raises ValueError if it is not valid by RFC 8259."""
    if not _is_lossy(data):
        return orjson.loads(data)
    orjson.loads(data)  # the stricter parser decides whether it is valid JSON
    return json.loads(data, parse_float=Decimal, parse_int=_parse_integer)


def _is_lossy(data: bytes) -> bool:
    """Return whether there is a lossy number. A search blocks all other threads, so it is made slice by slice."""
    if not _may_be_lossy(data):
        return False
    start = 0
    while start < len(data):
        cut = _SLICE_END.search(data, start + _SLICE_BYTES)
        end = len(data) if cut is None else cut.start()
        if _LOSSY.search(data, start, end) is not None:
            return True
        start = end
    return False


def _may_be_lossy(data: bytes) -> bool:
    """Return False if there is certainly no lossy number."""
    if _SMALL_FRACTION in data or _TRAILING_ZERO.search(data) is not None:
        return True
    classes = data.translate(_CLASSES)
    return _MANY_DIGITS in classes or _EXPONENT.search(classes) is not None


def _parse_integer(text: str) -> int | Decimal:
    return int(text) if len(text) <= 18 else Decimal(text)


def _encode_decimal(value: Any) -> orjson.Fragment:
    if isinstance(value, Decimal):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is no JSON")


def dumps(data: Any) -> bytes:
    """Render as canonical JSON: keys sorted, digits unchanged."""
    return orjson.dumps(data, default=_encode_decimal, option=orjson.OPT_SORT_KEYS)


def has_exact_decimals(data: Any) -> bool:
    """Return whether plain JSON would lose digits."""
    try:
        orjson.dumps(data)
    except TypeError:  # it refuses a Decimal, but other data too
        return _contains_decimal(data)
    return False


def _contains_decimal(data: Any) -> bool:
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


def dumps_pretty(data: Any) -> bytes:
    """Render as indented JSON, keys in their order."""
    return orjson.dumps(data, default=_encode_decimal, option=orjson.OPT_INDENT_2)


def to_plain(data: Any) -> Any:
    """Return the data with exact decimals converted to floats."""
    if isinstance(data, Decimal):
        return float(data)
    if isinstance(data, dict):
        return {key: to_plain(item) for key, item in data.items()} if has_exact_decimals(data) else data
    if isinstance(data, list):
        return [to_plain(item) for item in data] if has_exact_decimals(data) else data
    return data
