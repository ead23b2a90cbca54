"""How many elements a resource has: the work of a request grows with them, so their number is limited.

An element is any JSON value: an object, an array, a text, a number, `true`, `false` or `null`.
"""

from collections.abc import Callable
from typing import Any

from clerkship.simulators.fhir.outcome import refusal

MAX_RESOURCE_ELEMENTS = 100_000
MAX_BUNDLE_ELEMENTS = 1_000_000
"""In a batch or transaction together, where each resource has the limit of a resource; and in a Bundle that is kept."""
_SLICE = 250_000
"""Bytes looked at by one call of the interpreter: no other thread runs during that."""


def check_elements(body: bytes, limit: int) -> None:
    """Refuse JSON with more elements than a limit, before it is parsed."""
    if _is_over(body, limit):
        raise too_many(limit)


def check_resource(resource: Any, expression: str = "", status: int = 413) -> None:
    """Refuse a resource with too many elements."""
    if count_elements(resource, MAX_RESOURCE_ELEMENTS) > MAX_RESOURCE_ELEMENTS:
        raise too_many(MAX_RESOURCE_ELEMENTS, expression, status)


def too_many(limit: int, expression: str = "", status: int = 413) -> Exception:
    """Say that there are more elements than a limit."""
    return refusal(status, "too-costly", f"more than {limit:,} elements; send it in smaller parts", expression)


def count_elements(data: Any, limit: int) -> int:
    """Count the elements of parsed data; stop soon after a limit."""
    left, count = [data], 0
    while left and count <= limit:
        item = left.pop()
        count += 1
        if isinstance(item, dict | list):
            left.extend(item.values() if isinstance(item, dict) else item)
    return count


def _is_over(body: bytes, limit: int) -> bool:
    """Every element is the first in an object or array, or follows a comma; commas and brackets in texts are none."""
    return len(body) > limit and _count(body, limit, _marks) > limit and _count(body, limit, _Outside()) > limit


def _count(body: bytes, limit: int, count_in: Callable[[bytes], int]) -> int:
    """Add up what is counted in each slice; stop soon after a limit."""
    count, start = 1, 0
    while start < len(body) and count <= limit:
        end = start + _SLICE
        while body[end - 1 : end] == b"\\":  # an escape stays whole
            end += 1
        count += count_in(body[start:end])
        start = end
    return count


def _marks(data: bytes) -> int:
    return data.count(b",") + data.count(b"{") + data.count(b"[")


class _Outside:
    """Counts marks outside of texts, from slice to slice."""

    def __init__(self) -> None:
        self._in_text = False

    def __call__(self, data: bytes) -> int:
        if b"\\" in data:
            data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = data.split(b'"')
        outside = parts[1::2] if self._in_text else parts[::2]
        self._in_text ^= len(parts) % 2 == 0
        return _marks(b"".join(outside))
