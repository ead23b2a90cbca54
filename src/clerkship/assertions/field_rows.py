"""Build rows of evidence, each of which compares a field with an expectation."""

from collections.abc import Sequence
from typing import Any, Protocol

from clerkship.assertions.text_value import matches_texts
from clerkship.events.query import to_evidence_value
from clerkship.model.matcher import describe_expected, matches_expected
from clerkship.model.path import MISSING, lookup_all, split_path
from clerkship.model.run import FieldCheck

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
