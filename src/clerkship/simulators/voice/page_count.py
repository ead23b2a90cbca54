"""How many entries a page of a list has."""

from typing import Annotated, Any

from pydantic import BeforeValidator


def _refuse_flag(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("expected a whole number, not true or false")
    return value


PageCount = Annotated[int, BeforeValidator(_refuse_flag)]
"""A whole number. It may be text, which it is in a query, and not a flag, which pydantic would convert to 0 or 1."""
