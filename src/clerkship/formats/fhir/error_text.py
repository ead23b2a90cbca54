"""Parts of validation messages: quoted values, names and suggestions."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from clerkship.formats.fhir.type_rules import TypeRules

_MAX_LENGTH = 80
_MAX_NAMES = 16


def quote_value(value: Any) -> str:
    """Return a value quoted and shortened."""
    if isinstance(value, str):
        return repr(value) if len(value) <= _MAX_LENGTH else f"{value[:_MAX_LENGTH]!r}..."
    return "true" if value is True else "false" if value is False else str(value)[:_MAX_LENGTH]


def quote_name(name: str) -> str:
    """Return any text as a name in FHIRPath."""
    return name if len(name) <= _MAX_LENGTH and name.isidentifier() else f"`{name[:_MAX_LENGTH]}`"


def describe_json_type(value: Any) -> str:
    """Return the JSON type of a value, such as `a string`."""
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


def join_names(names: Iterable[str]) -> str:
    """Join names with commas; of many, only the first ones."""
    every = tuple(names)
    more = f" ... ({len(every)} in all)" if len(every) > _MAX_NAMES else ""
    return ", ".join(every[:_MAX_NAMES]) + more


def suggest_name(name: str, rules: TypeRules) -> str:
    """Return a suggestion for a name that a type does not have."""
    spelled = [spelling for spelling, choice in rules.choices.items() if choice == name]
    if spelled:
        return f": it is written with its type ({join_names(spelled)})"
    near = get_close_matches(name[:_MAX_LENGTH], rules.elements, 1)
    return f"; {near[0]}?" if near else ""
