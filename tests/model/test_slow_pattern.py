"""Patterns with excessive backtracking are rejected when files are loaded."""

import pytest
import regex

from clerkship.model.matcher import check_expected
from clerkship.model.pattern import MAX_PROBES, _build_probes, check_pattern, is_slow
from tests.choices import mark_slow_after

SLOW = [
    r"(a+)+$",
    r"(x+x+)+y",
    r"^(a|a)*b$",
    r"(a|ab|b)*c",
    r"(\w+\s*)+:$",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
]
FAST = [
    r"\s+$",
    r"order.*delayed",
    r".*foo.*bar",
    r"(?i)i don't know",
    r"\b\d{3}-\d{4}\b",
    r"[\w.+-]+@[\w-]+\.[\w.]+",
    r"^\s*(.*?)\s*$",
    r"(?s).*total.*\d+.*USD",
    r"(?:sorry|apolog\w+).{0,80}delay",
    r"\d+(\.\d+)? ?(mg|mL)",
    r"^(?>a+)b",
    r"\p{L}+ \p{N}+",
    r"(?<!not )delayed",
    r"[^\W\d_]{2,}",
    r"",
]


@pytest.mark.parametrize("part", ["ba*", "a*", "x(y|z)"])
def test_probes_of_a_long_pattern_are_built_in_proportion_to_its_length(part: str) -> None:
    """A length in square takes minutes, more than the limit of a test."""
    assert 0 < len(list(_build_probes(part * 20_000 + "a*"))) <= MAX_PROBES


@pytest.mark.parametrize("pattern", mark_slow_after(2, SLOW))
def test_backtracking_pattern_is_slow(pattern: str) -> None:
    assert is_slow(regex.compile(pattern))


@pytest.mark.parametrize("pattern", FAST)
def test_ordinary_pattern_is_not_slow(pattern: str) -> None:
    assert not is_slow(regex.compile(pattern))


def test_slow_pattern_is_rejected_as_an_expectation() -> None:
    with pytest.raises(ValueError, match="the pattern is too slow"):
        check_expected({"not": {"matches": "(a+)+$"}})


def test_error_for_a_slow_pattern_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="remove the outer repeat"):
        check_pattern("(a+)+$")
