"""`event_count`: the number of matching events is as expected."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.assertions.any_event import EventCount
from tests.assertions.log_builder import LogBuilder


@pytest.mark.parametrize(
    ("where", "expected", "passed"),
    [
        ({}, 3, True),
        ({}, {"lte": 3}, True),
        ({}, {"gt": 3}, False),
        ({"path": "a"}, 2, True),
        ({"path": "b"}, {"in": [0, 1]}, True),
        ({"path": "c"}, 0, True),
        ({"path": "c"}, {"gte": 1}, False),
    ],
)
def test_number_of_matching_events_is_compared(where: dict[str, Any], expected: Any, passed: bool) -> None:
    log_builder = LogBuilder()
    for path in ("a", "b", "a"):
        log_builder.read(path)
    log_builder.add_write("a")
    args = {"event": "files.file.read", "where": where, "expected": expected}
    assert EventCount.model_validate(args).check(log_builder.evidence()).passed is passed


def test_failure_shows_count_and_event_numbers() -> None:
    log_builder = LogBuilder()
    for _ in range(12):
        log_builder.read("a")
    found = EventCount.model_validate({"event": "files.file.read", "expected": {"lte": 10}}).check(
        log_builder.evidence()
    )
    assert found.detail.startswith("`files.file.read` happened 12 times (at #1, #2, ")
    assert "#11" not in found.detail
    assert found.detail.endswith("expected at most 10")
    [row] = found.evidence
    assert (row.path, row.expected, row.actual, row.passed) == ("count", {"lte": 10}, 12, False)


def test_expected_is_required() -> None:
    with pytest.raises(ValidationError):
        EventCount.model_validate({"event": "files.file.read"})
