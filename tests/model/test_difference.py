"""Differences of nested values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clerkship.model.matcher import equals
from clerkship.model.run import MAX_DIFFERENCES, MAX_VALUE_LENGTH, find_differences

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab", min_size=1, max_size=1), inner),
    max_leaves=12,
)


def find(expected: Any, actual: Any) -> list[tuple[str, Any, Any]]:
    """Return the differences as tuples."""
    return [(one.path, one.expected, one.actual) for one in find_differences(expected, actual).first]


def test_a_difference_names_its_path_and_both_values() -> None:
    expected = {"patient": "p1", "orders": [{"drug": "a", "dose": {"value": 5}}, {"drug": "b", "dose": {"value": 20}}]}
    actual = {"patient": "p1", "orders": [{"drug": "a", "dose": {"value": 5}}, {"drug": "b", "dose": {"value": 40}}]}
    assert find(expected, actual) == [("orders[1].dose.value", 20, 40)]


def test_keys_on_one_side_only_are_absent_on_the_other() -> None:
    assert find({"a": {"b": 1}}, {"a": {"c": [2]}}) == [("a.b", 1, "(absent)"), ("a.c", "(absent)", "[2]")]


@pytest.mark.parametrize(
    ("expected", "actual", "differences"),
    [
        ([1, 2, 3], [1, 9, 2, 3], [("[1]", "(absent)", 9)]),
        ([1, 2, 3], [1, 3], [("[1]", 2, "(absent)")]),
        ([1, 2], [3, 4], [("[0]", 1, 3), ("[1]", 2, 4)]),
        ([1, 1], [1], [("[1]", 1, "(absent)")]),
    ],
)
def test_an_item_inserted_or_removed_is_one_difference(expected: Any, actual: Any, differences: Any) -> None:
    assert find(expected, actual) == differences


def test_equality_follows_the_matchers() -> None:
    assert find({"a": 1, "b": True}, {"a": 1.0, "b": 1}) == [("b", True, 1)]


@pytest.mark.parametrize(
    ("expected", "actual"),
    [(1, 2), ("a", {"a": 1}), ({"a": 1}, [1]), ({"contains": "a"}, {"b": 1}), ({"not": {"a": 1}}, {"a": 1}), ({}, {})],
)
def test_values_of_different_structure_have_no_differences(expected: Any, actual: Any) -> None:
    assert find(expected, actual) == []


def test_equals_matcher_is_compared_by_its_value() -> None:
    assert find({"equals": {"a": 1}}, {"a": 2}) == [("a", 1, 2)]


def test_further_differences_are_only_counted() -> None:
    differences = find_differences(list(range(30)), list(range(100, 130)))
    assert (len(differences.first), differences.left_out) == (MAX_DIFFERENCES, 30 - MAX_DIFFERENCES)


def test_long_texts_are_shortened_around_the_difference() -> None:
    [(_, expected, actual)] = find({"note": "x" * 500 + "Yes"}, {"note": "x" * 500 + "No"})
    assert expected == "…" + "x" * 20 + "Yes (503 characters)"
    assert actual == "…" + "x" * 20 + "No (502 characters)"
    [(_, expected, _)] = find({"note": "a" * 900}, {"note": "b" * 900})
    assert expected == "a" * MAX_VALUE_LENGTH + "… (900 characters)"


def test_comparison_depth_is_limited() -> None:
    deep: Any = 1
    other: Any = 2
    for _ in range(200):
        deep, other = [deep], [other]
    [(path, _, _)] = find(deep, other)
    assert path == "[0]" * 64


@given(JSON, JSON)
def test_differences_exist_exactly_if_values_are_not_equal(expected: Any, actual: Any) -> None:
    both = [isinstance(expected, kind) and isinstance(actual, kind) for kind in (dict, list)]
    assert bool(find({"x": expected}, {"x": actual})) is not equals(expected, actual)
    if any(both):
        assert bool(find(expected, actual)) is not equals(expected, actual)
