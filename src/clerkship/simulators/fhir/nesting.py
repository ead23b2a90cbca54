"""How deep data is nested: looked at level by level, for what is too deep cannot be walked."""

from typing import Any


def nesting(data: Any, most: int) -> int:
    """How deep it is nested, counted no further than one more than may be."""
    level, deep = [data], 0
    while level and deep <= most:
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, dict | list)
        ]
        deep += 1
    return deep
