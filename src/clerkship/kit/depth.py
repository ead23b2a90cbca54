"""A limit on the nesting of plain data that all JSON parsers in use can read.

orjson writes 254 levels and reads 1,024; pydantic reads 200.
"""

from typing import Any

MAX_DEPTH = 64
"""Levels of lists and maps in data from an agent, and in copies of it in evidence."""
CUT_MARKER = f"(nested deeper than {MAX_DEPTH} levels)"
"""Replaces data below the limit."""


def is_deeper_than(value: Any, limit: int = MAX_DEPTH) -> bool:
    """Return whether lists and maps are nested more than `limit` levels deep."""
    if not isinstance(value, dict | list | tuple):
        return False
    if limit == 0:
        return True
    return any(is_deeper_than(child, limit - 1) for child in (value.values() if isinstance(value, dict) else value))


def cut_at_depth(value: Any, limit: int = MAX_DEPTH) -> Any:
    """Return the data with CUT_MARKER in place of every list and map below the limit."""
    return _cut(value, limit) if is_deeper_than(value, limit) else value


def _cut(value: Any, limit: int) -> Any:
    if not isinstance(value, dict | list | tuple):
        return value
    if limit == 0:
        return CUT_MARKER
    if isinstance(value, dict):
        return {key: _cut(child, limit - 1) for key, child in value.items()}
    return [_cut(child, limit - 1) for child in value]
