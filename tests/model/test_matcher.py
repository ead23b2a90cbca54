"""Matchers in `expected`."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from clerkship.model import pattern
from clerkship.model.matcher import check_expected, describe_expected, is_matcher, matches_expected
from clerkship.model.path import MISSING, lookup
from clerkship.model.pattern import PatternTooSlow

HOLD = [
    (1, 1.0),
    ("a", "a"),
    (None, None),
    ({"a": [1, {"b": None}]}, {"a": (1.0, {"b": None})}),
    ({}, {}),
    ("text", b"text"),
    ("2026-03-02", date(2026, 3, 2)),
    ("2026-03-02T14:00:00Z", datetime(2026, 3, 2, 14, tzinfo=UTC)),
    ({"in": ["2026-03-02", None]}, date(2026, 3, 2)),
    ({"not": {"matches": "^2025"}}, date(2026, 3, 2)),
    ({"equals": {"gt": 5}}, {"gt": 5}),
    ({"in": [1, "a", None]}, None),
    ({"matches": "^a.c$"}, "abc"),
    ({"matches": "b"}, "abc"),
    ({"matches": "b"}, b"abc"),
    ({"contains": "b"}, "abc"),
    ({"contains": 1.0}, [0, 1]),
    ({"contains": {"a": 1}}, [{"a": 1}]),
    ({"contains": "k"}, {"k": 1}),
    ({"gt": 1, "lte": 2}, 2),
    ({"gte": "2026-03-02"}, "2026-03-02T00:00:00Z"),
    ({"lt": "2026-03-02T10:00:00+02:00"}, "2026-03-02T07:59:59Z"),
    ({"gt": "2026-03-01"}, date(2026, 3, 2)),
    ({"exists": True}, None),
    ({"exists": False}, MISSING),
    ({"not": 5}, 6),
    ({"not": {"matches": "x"}}, "abc"),
    ({"not": {"exists": True}}, MISSING),
    ({"approx": 0.3}, 0.1 + 0.2),
    ({"approx": {"value": 3, "tolerance": 0.5}}, 3.5),
    ({"within": {"of": "2026-03-02", "by": "2d"}}, "2026-03-04"),
    ({"within": {"of": "2026-03-02", "by": "2d"}}, "2026-02-28"),
]
FAIL = [
    (1, True),
    (True, 1),
    (0, False),
    (1, "1"),
    ("1", 1),
    (None, MISSING),
    (None, False),
    ([1, 2], [2, 1]),
    ([1], [1, 2]),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({"a": 1}, [["a", 1]]),
    ({"in": [1]}, True),
    ({"in": []}, None),
    ({"matches": "5"}, 5),
    ({"matches": "^b"}, "abc"),
    ({"contains": 1}, "1"),
    ({"contains": [1]}, {"a": 1}),
    ({"contains": 1}, 1),
    ({"contains": True}, [1]),
    ({"gt": 1}, 1),
    ({"gt": 0}, True),
    ({"gt": 1}, "2"),
    ({"gt": 1}, "2026-03-02"),
    ({"gt": "2026-03-02"}, "tomorrow"),
    ({"gt": 1}, MISSING),
    ({"gt": 1, "lt": 3}, 3),
    ({"exists": True}, MISSING),
    ({"exists": False}, None),
    ({"not": 5}, 5.0),
    ({"approx": 1}, 1.1),
    ({"approx": 1}, "1"),
    ({"approx": 1.5}, 10**400),
    ({"approx": 1}, float("nan")),
    ({"within": {"of": "2026-03-02", "by": "1d"}}, "2026-03-04"),
    ({"within": {"of": "2026-03-02", "by": "1d"}}, 5),
]


@pytest.mark.parametrize(("expected", "actual"), HOLD)
def test_value_matches(expected: Any, actual: Any) -> None:
    assert matches_expected(expected, actual)


@pytest.mark.parametrize(("expected", "actual"), FAIL)
def test_value_does_not_match(expected: Any, actual: Any) -> None:
    assert not matches_expected(expected, actual)


@pytest.mark.parametrize("expected", [{"gt": 1, "size": 2}, {}, {"a": 1}, [{"gt": 1}], "gt", None])
def test_map_with_other_keys_is_a_literal(expected: Any) -> None:
    assert not is_matcher(expected)


def test_backtracking_pattern_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern, "TIME_LIMIT", 0.1)
    with pytest.raises(PatternTooSlow, match=r"took over 0\.1 s on 60 characters"):
        matches_expected({"matches": "^(a|aa)+$(?<=b)"}, "a" * 60)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"matches": "("}, r"not a regular expression: missing \)"),
        ({"matches": 5}, "expected a regular expression, not 5"),
        ({"gt": "soon"}, "expected a number or a date to compare with, not 'soon'"),
        ({"lte": True}, "expected a number or a date to compare with, not True"),
        ({"in": 5}, "expected a list of allowed values"),
        ({"exists": "yes"}, "expected true or false"),
        ({"approx": "3"}, "expected a number, or {value, tolerance}"),
        ({"approx": {"value": 3}}, "expected a number, or {value, tolerance}"),
        ({"approx": {"value": 3, "tolerance": 1, "unit": 1}}, "expected a number, or {value, tolerance}"),
        ({"within": {"of": "2026-03-02"}}, "expected {of: a date, by: a duration}"),
        ({"within": {"of": "2026-03-02", "by": "soon"}}, "expected a duration"),
        ({"not": {"matches": "("}}, "not a regular expression"),
        ({"matchs": "x"}, "unknown matcher `matchs`; did you mean `matches`?"),
        ({"gte": 1, "lessthan": 5, "containz": 1}, "unknown matcher `containz`; did you mean `contains`?"),
    ],
)
def test_invalid_matcher_argument_is_rejected(expected: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("{", r"\{").replace("?", r"\?")):
        check_expected(expected)


@pytest.mark.parametrize(
    "expected", [{"equals": {"matchs": "x"}}, {"a": 1, "b": 2}, {"gt": 1, "zzz": 2}, "matchs", None]
)
def test_literal_is_accepted(expected: Any) -> None:
    assert check_expected(expected) == expected


def test_expectation_is_described_in_words() -> None:
    assert describe_expected({"gte": 1, "not": {"in": [2]}}) == "at least 1 and not one of [2]"
    assert describe_expected("x") == "'x'"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a", {"b": [{"c": 1}, {"c": 2}]}),
        ("a.b.1.c", 2),
        ("a.b[0].c", 1),
        ("a.b.*.c", 1),
        ("a.b.2", MISSING),
        ("a.b.²", MISSING),
        ("a.b." + "9" * 5000, MISSING),
        ("a.x", MISSING),
        ("n", None),
        ("n.x", MISSING),
    ],
)
def test_lookup_returns_a_value_or_missing(path: str, value: Any) -> None:
    assert lookup({"a": {"b": [{"c": 1}, {"c": 2}]}, "n": None}, path) == value
