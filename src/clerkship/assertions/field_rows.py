"""Build rows of evidence, each of which compares a field with an expectation."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from clerkship.events.query import to_evidence_value
from clerkship.model.matcher import describe_expected, is_matcher, is_number, matches_expected, to_datetime
from clerkship.model.path import MISSING, lookup_all, split_path
from clerkship.model.run import FieldCheck

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


Rows = tuple[FieldCheck, ...]
MAX_NAMES = 10
"""The most names in a sentence; the rest is counted."""


def one_or_all(values: Sequence[Any]) -> Any:
    """Return a single value as it is, several as a list, and MISSING for none."""
    return values if len(values) > 1 else values[0] if values else MISSING


def compare_texts(path: str, expected: Any, values: Sequence[str], seq: int | None = None) -> FieldCheck:
    """Compare the texts at a path with the expectation, and return the row."""
    actual = to_evidence_value(one_or_all(values))
    return FieldCheck(path=path, expected=expected, actual=actual, passed=matches_texts(expected, values), seq=seq)


def matches_field(data: Any, path: str, expected: Any) -> bool:
    """Return whether a value at a path is as expected; one of several, if the path has `*`."""
    values = list(lookup_all(data, split_path(path)))
    return any(matches_expected(expected, value) for value in values) or matches_expected(expected, one_or_all(values))


def compare_field(data: Any, path: str, expected: Any, label: str, seq: int | None) -> FieldCheck:
    """Compare the values at a path, and return the row."""
    actual = to_evidence_value(one_or_all(list(lookup_all(data, split_path(path)))))
    passed = matches_field(data, path, expected)
    return FieldCheck(path=label, expected=expected, actual=actual, passed=passed, seq=seq)


class ExpectedField(Protocol):
    """A path, and a literal or matcher for the value there."""

    @property
    def path(self) -> Any:
        """Where the value is."""

    @property
    def expected(self) -> Any:
        """The literal or matcher."""


def describe_fields(fields: Sequence[ExpectedField]) -> str:
    """Return the expected fields as the end of a sentence: ` that has status denied`; empty if there are none."""
    conditions = ", ".join(f"{field.path} {describe_expected(field.expected)}" for field in fields)
    return f" that has {conditions}" if conditions else ""


def share_passed(rows: Sequence[FieldCheck]) -> float:
    """Return the share of rows that passed; 1 where there are none."""
    return sum(row.passed for row in rows) / len(rows) if rows else 1.0


def prefix_paths(owner: str, rows: Rows) -> Rows:
    """Return the rows with a name before each path, such as the key of a resource."""
    return tuple(row.model_copy(update={"path": f"{owner}: {row.path}"}) for row in rows)
