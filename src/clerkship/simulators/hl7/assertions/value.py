"""What is expected of a value in a message, which is always text: `4.2` and `gte: 4` are of the number it says, and
`gte: 2026-03-02` of the time, as HL7 writes one. An empty field is not there."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator

from clerkship.events.query import shown
from clerkship.hl7.message import Message
from clerkship.hl7.path import parse_path
from clerkship.model.frozen import Frozen
from clerkship.model.matcher import as_instant, holds, is_matcher, is_number
from clerkship.model.path import MISSING
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import Expected

_TIME = re.compile(r"(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d(?:\.\d{1,4})?)?([+-]\d{4})?")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_BOUNDS = ("gt", "gte", "lt", "lte")
_OF_ALL = ("exists", "not")


def _checked(path: str) -> str:
    parse_path(path)
    return path


PathText = Annotated[str, AfterValidator(_checked)]
"""A path into a message, such as `PID.5.1` or `OBX[2].5`; a wrong one is the author's mistake, told at its line."""


class Hl7Field(Frozen):
    """A path into a message, and a literal or a matcher for what is there; `[*]` is any of several."""

    path: PathText
    expected: Expected

    def compare(self, message: Message, seq: int | None = None) -> FieldCheck:
        """What is there beside it."""
        return compare(message, self.path, self.expected, seq)


def compare(message: Message, path: str, expected: Any, seq: int | None = None) -> FieldCheck:
    """One expectation beside what is there."""
    values = values_at(message, path)
    actual = shown(values if len(values) > 1 else values[0] if values else MISSING)
    return FieldCheck(path=path, expected=expected, actual=actual, passed=fits(expected, values), seq=seq)


def values_at(message: Message, path: str) -> list[str]:
    """What is at a path; what is empty is not there."""
    return [value for value in message.values(path) if value]


def fits(expected: Any, values: Sequence[str]) -> bool:
    """Whether it holds for one of the values; `not` where what it denies holds for none, `exists` if there are any."""
    if expected is None or expected == "":
        return not values
    if not is_matcher(expected):
        return any(_equal(expected, value) for value in values)
    one = {name: argument for name, argument in expected.items() if name not in _OF_ALL}
    return (
        ("exists" not in expected or bool(values) == expected["exists"])
        and ("not" not in expected or not fits(expected["not"], values))
        and (not one or any(_fits_one(one, value) for value in values))
    )


def _fits_one(expected: Mapping[str, Any], value: str) -> bool:
    """All of these matchers, for one and the same value."""
    return all(_holds(name, argument, value) for name, argument in expected.items())


def _holds(name: str, argument: Any, value: str) -> bool:
    if name == "equals":
        return _equal(argument, value)
    if name == "in":
        return any(_equal(each, value) for each in argument)
    if name == "approx" or (name in _BOUNDS and is_number(argument)):
        return holds({name: argument}, _number(value))
    if name in _BOUNDS or name == "within":
        return holds({name: argument}, _instant(value) or value)
    return holds({name: argument}, value)


def _equal(expected: Any, value: str) -> bool:
    return holds({"equals": expected}, _number(value) if is_number(expected) else value)


def _number(value: str) -> float | str:
    return float(value) if len(value) < 40 and _NUMBER.fullmatch(value.strip()) else value


def _instant(value: str) -> str | None:
    """A time as HL7 writes one, as everybody else does."""
    found = _TIME.fullmatch(value.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second, zone = found.groups()
    text = f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}"
    text += f"{zone[:3]}:{zone[3:]}" if zone else ""
    return text if as_instant(text) is not None else None
