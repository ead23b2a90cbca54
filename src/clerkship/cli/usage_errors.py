"""Reword errors of the command line: what was expected, and what to write instead."""

import re
from collections.abc import Collection
from typing import Any

from clerkship.model.names import did_you_mean, find_nearest_name

_CHOICES = re.compile(r"is not one of (.*?)\.?$")
_NUMBERS = {"integer": "a whole number", "number": "a number"}
_LIMITS = {"greater than or equal to": "at least", "less than or equal to": "at most"}
_LIMITS |= {"greater than": "more than", "less than": "less than"}
_NUMBER = re.compile(r"should be a valid (integer|number)")
_LIMIT = re.compile(rf"should be ({'|'.join(_LIMITS)}) (\S+)$")


def describe_value_error(message: str, value: object) -> str:
    """Return what was expected of the value of an option or argument, for an error of typer about it."""
    shown = repr(value)[:60]
    if choices := _CHOICES.search(message):
        names = [name.strip("'\" ") for name in choices[1].split(",")]
        return f"{shown} is not one of {', '.join(names)}{suggest_name(str(value), names)}"
    if number := _NUMBER.search(message):
        return f"expected {_NUMBERS[number[1]]}, not {shown}"
    if limit := _LIMIT.search(message):
        return f"expected {_LIMITS[limit[1]]} {limit[2]}, not {shown}"
    return message.removeprefix("Value error, ")


def suggest_name(written: str, known: Collection[str]) -> str:
    """Return the end of an error about an unknown name: the nearest one, if there is one."""
    nearest = find_nearest_name(written, known)
    return f"; did you mean `{nearest}`?" if nearest is not None else ""


def add_suggestion(error: Any, written: str, known: Collection[str]) -> None:
    """Replace the suggestion of typer's error about an unknown option or command."""
    error.possibilities = None
    message = error.message.partition(" Did you mean")[0].rstrip(".")
    hint = did_you_mean(written, known)
    error.message = f"{message}; {hint}" if hint else message
