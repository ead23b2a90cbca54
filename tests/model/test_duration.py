"""Parsing and rendering of durations."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from clerkship.model.duration import Seconds, describe_duration, parse_duration, render_duration


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("30m", 1800),
        ("+10m", 600),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("250ms", 0.25),
        ("1.5s", 1.5),
        ("2w", 1_209_600),
        ("1d", 86_400),
        ("90", 90),
        (90, 90),
        (0.5, 0.5),
        (0, 0),
        (timedelta(seconds=5), 5),
    ],
)
def test_duration_is_parsed_from_units_or_seconds(written: Any, seconds: float) -> None:
    assert parse_duration(written) == timedelta(seconds=seconds)


@pytest.mark.parametrize(("written", "seconds"), [(90, 90), ("90s", 90), ("2m", 120), ("1h30m", 5400), ("0.5", 0.5)])
def test_wall_time_is_read_as_seconds(written: Any, seconds: float) -> None:
    assert TypeAdapter(Seconds).validate_python(written) == seconds


@pytest.mark.parametrize("written", ["soon", True, [1]])
def test_other_wall_time_is_refused(written: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Seconds).validate_python(written)


@pytest.mark.parametrize("written", ["", "soon", "5y", "m", "-5m", "5 minutes", "1h-30m", "1e3s", True, None, [5]])
def test_invalid_duration_is_rejected_with_an_example(written: Any) -> None:
    with pytest.raises(ValueError, match="expected a duration such as 30m, 1h30m or a number of seconds"):
        parse_duration(written)


@pytest.mark.parametrize("written", ["101w" * 60, "9" * 400 + "s", 1e300, -1, float("nan"), float("inf"), 10**400])
def test_duration_out_of_range_is_rejected(written: Any) -> None:
    with pytest.raises(ValueError, match="between 0 and 100 years"):
        parse_duration(written)


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(0), "0s"),
        (timedelta(minutes=90), "1h30m"),
        (timedelta(days=15, milliseconds=250), "15d250ms"),
        (timedelta(microseconds=500), "0.5ms"),
    ],
)
def test_duration_is_rendered_in_the_largest_units(span: timedelta, text: str) -> None:
    assert render_duration(span) == text


FOR_PEOPLE = {
    0: "0 s",
    0.0001: "1 ms",
    0.35: "350 ms",
    0.9999: "1 s",
    4.2: "4.2 s",
    42.4: "42 s",
    59.7: "1 min",
    125: "2 min 5 s",
    3600: "1 h",
    3599.6: "1 h",
    5400: "1 h 30 min",
    90_000: "1 d 1 h",
    172_800: "2 d",
}


def test_duration_for_people_has_two_units_at_most() -> None:
    assert {seconds: describe_duration(seconds) for seconds in FOR_PEOPLE} == FOR_PEOPLE
    assert describe_duration(timedelta(minutes=30)) == "30 min"
