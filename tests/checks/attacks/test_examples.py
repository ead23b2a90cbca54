"""Examples that satisfy expectations."""

import re

import pytest

from clerkship.checks.attacks.examples import example_text, example_value
from clerkship.model.matcher import matches_expected

PATTERNS = [
    "storm",
    "(?i)saturday.*closed|closed.*saturday",
    r"\d{3}-\d{2}",
    r"^(yes|no)\b, [a-f]+[^x]?$",
    r"(?:euros?|dollars) \w+\s\S",
    r"a{2,4}b*?c+",
    r"\(?716\)?[ .-]?555",
]
MATCHERS = [{"in": [3, 4]}, {"gte": 5}, {"gt": 5}, {"lt": 5}, {"approx": 3.1}, {"contains": "x"}, {"equals": 1}]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_is_found_in_its_example(pattern: str) -> None:
    assert re.search(pattern, example_text(pattern))


@pytest.mark.parametrize("matcher", MATCHERS, ids=str)
def test_example_satisfies_its_matcher(matcher: dict[str, object]) -> None:
    assert matches_expected(matcher, example_value(matcher))


def test_a_literal_is_its_own_example() -> None:
    assert example_value({"a": 1}) == {"a": 1}
