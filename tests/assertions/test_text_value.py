"""Matching of text values in CSV and HL7."""

from typing import Any

import pytest

from clerkship.assertions.field_rows import matches_texts


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (4711, "4711"),
        (4711, " 4711 "),
        (-5, "-5"),
        (7, "7.0"),
        (4.2, "4.20"),
        (4.0, "4"),
        ("0004711", "0004711"),
        ({"in": [1, 4711]}, "4711"),
        ({"not": 4711}, "0004711"),
        ({"gte": 4711, "lte": 4711}, "0004711"),
        ({"approx": 4711}, "0004711"),
    ],
)
def test_value_matches(expected: Any, value: str) -> None:
    assert matches_texts(expected, [value])


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        (4711, "0004711"),
        (4711, "+4711"),
        ({"equals": 4711}, "0004711"),
        ({"in": [4711]}, "0004711"),
        (47110000000000000001, "47110000000000000002"),
        ("4711", "0004711"),
        (True, "1"),
        (7, "7.1"),
        (7, "7.x"),
    ],
)
def test_value_does_not_match(expected: Any, value: str) -> None:
    assert not matches_texts(expected, [value])
