"""Compare values that are always text, such as those of CSV and HL7.

Decimals and bounds compare numbers: `4.2`, `gte: 4`. Bounds with a date compare times: `gte: 2026-03-02`. A quoted
text compares text. A whole number is compared digit by digit, since it may be an identifier: 4711 does not equal
0004711. An empty text counts as absent.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from clerkship.model.matcher import is_matcher, is_number, matches_expected, to_datetime

_TIME = re.compile(r"(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d(?:\.\d{1,4})?)?([+-]\d{4})?")
"""A time in the format of HL7. ISO 8601 needs no conversion."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
_MAX_NUMBER_LENGTH = 40
_BOUNDS = ("gt", "gte", "lt", "lte")
_COLLECTION_MATCHERS = ("exists", "not")


def matches_texts(expected: Any, values: Sequence[str]) -> bool:
    """Return whether one of the values matches.

    `not` holds if no value matches its argument, and `exists` if there are any values.
    """
    values = [value for value in values if value]
    if expected is None or expected == "":
        return not values
    if not is_matcher(expected):
        return any(_equals(expected, value) for value in values)
    single = {name: argument for name, argument in expected.items() if name not in _COLLECTION_MATCHERS}
    return (
        ("exists" not in expected or bool(values) == expected["exists"])
        and ("not" not in expected or not matches_texts(expected["not"], values))
        and (not single or any(_matches_one(single, value) for value in values))
    )


def _matches_one(expected: Mapping[str, Any], value: str) -> bool:
    """Return whether one value matches all of these matchers."""
    return all(_matches_one_name(name, argument, value) for name, argument in expected.items())


def _matches_one_name(name: str, argument: Any, value: str) -> bool:
    if name == "equals":
        return _equals(argument, value)
    if name == "in":
        return any(_equals(each, value) for each in argument)
    if name == "approx" or (name in _BOUNDS and is_number(argument)):
        return matches_expected({name: argument}, _parse_number(value))
    if name in _BOUNDS or name == "within":
        return matches_expected({name: argument}, _parse_hl7_time(value) or value)
    return matches_expected({name: argument}, value)


def _equals(expected: Any, value: str) -> bool:
    if isinstance(expected, int) and is_number(expected) and "." not in value:
        return value.strip() == str(expected)
    return matches_expected({"equals": expected}, _parse_number(value) if is_number(expected) else value)


def _parse_number(value: str) -> float | str:
    return float(value) if len(value) < _MAX_NUMBER_LENGTH and _NUMBER.fullmatch(value.strip()) else value


def _parse_hl7_time(value: str) -> str | None:
    """Return an HL7 time as ISO 8601; None if it is not one."""
    match = _TIME.fullmatch(value.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    text = f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}"
    text += f"{zone[:3]}:{zone[3:]}" if zone else ""
    return text if to_datetime(text) is not None else None
