"""What is wrong with a value, in words that fit in a line."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from clerkship.fhir.shapes import Shape

_LONGEST = 80
_MOST = 16


def shown(value: Any) -> str:
    """A value as it is quoted: short."""
    if isinstance(value, str):
        return repr(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]!r}..."
    return "true" if value is True else "false" if value is False else str(value)[:_LONGEST]


def as_name(name: str) -> str:
    """Any text as a name in FHIRPath."""
    return name if len(name) <= _LONGEST and name.isidentifier() else f"`{name[:_LONGEST]}`"


def what_is(value: Any) -> str:
    """What a value is in JSON: `a string`."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return "null" if value is None else f"a Python {type(value).__name__}"


def listed(names: Iterable[str]) -> str:
    """Some names; of many the first."""
    every = tuple(names)
    more = f" ... ({len(every)} in all)" if len(every) > _MOST else ""
    return ", ".join(every[:_MOST]) + more


def misspelt(name: str, made: Shape) -> str:
    """What was probably meant by a name that a type does not have."""
    spelled = [spelling for spelling, choice in made.choices.items() if choice == name]
    if spelled:
        return f": it is written with its type ({listed(spelled)})"
    near = get_close_matches(name[:_LONGEST], made.rules, 1)
    return f"; {near[0]}?" if near else ""
