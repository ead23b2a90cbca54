"""Durations round trip through their text."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.model.duration import parse_duration, render_duration
from tests.examples import examples

SPANS = st.timedeltas(timedelta(0), timedelta(days=36_500))


@settings(max_examples=examples(100), deadline=None)
@given(SPANS)
def test_duration_round_trips(span: timedelta) -> None:
    assert parse_duration(render_duration(span)) == span


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["ms", "s", "m", "h"]), st.integers(0, 59))
def test_parts_of_a_duration_add_up(count: int, unit: str, seconds: int) -> None:
    assert parse_duration(f"+{count}{unit} {seconds}s") == parse_duration(f"{count}{unit}") + timedelta(seconds=seconds)
