"""Regular expressions with a time limit for each search, so that no pattern can hang a run."""

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator

from clerkship.by_name import load
from clerkship.model.slow_pattern import PROBE_LENGTH, PROBE_LIMIT, is_slow

if TYPE_CHECKING:
    import regex

TIME_LIMIT = 1.0
MAX_ATTEMPTS = 2
"""The limit counts the processor time of all threads, so a search can reach it while another thread runs."""


class PatternTooSlow(Exception):
    """A search took longer than its limit: the pattern backtracks too much on this text."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> "regex.Pattern[str]":
    """Compile a pattern, once per process. Raise ValueError, with the position, if it is invalid."""
    engine = load("regex")  # when the first pattern is compiled: most commands have none
    try:
        compiled: regex.Pattern[str] = engine.compile(pattern)
    except (engine.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return compiled


def has_match(pattern: str, text: str) -> bool:
    """Return whether the pattern matches anywhere in the text. Raise PatternTooSlow when the time limit is exceeded."""
    if pattern.isalnum():
        return pattern in text
    compiled = compile_pattern(pattern)
    for _ in range(MAX_ATTEMPTS):
        with suppress(TimeoutError):
            return compiled.search(text, timeout=TIME_LIMIT) is not None
    raise PatternTooSlow(f"the pattern {pattern!r} took over {TIME_LIMIT:g} s on {len(text)} characters")


def has_match_in_time(pattern: str, text: str) -> bool:
    """Return whether the pattern matches anywhere in the text within the time limit.

    A text that makes the pattern too slow counts as no match: otherwise an agent could break a simulated person, and
    with it the run.
    """
    try:
        return has_match(pattern, text)
    except PatternTooSlow:
        return False


@lru_cache(maxsize=1024)
def check_pattern(pattern: str) -> str:
    """Return the pattern. Raise ValueError if it is invalid, or too slow even on a short text."""
    if is_slow(compile_pattern(pattern)):
        raise ValueError(
            f"the pattern is too slow: it can take over {PROBE_LIMIT:g} s on a text of {PROBE_LENGTH} characters."
            " A repeated part can match the same text in several ways: make the alternatives distinct, or"
            " remove the outer repeat"
        )
    return pattern


Regex = Annotated[str, AfterValidator(check_pattern)]
"""A regular expression in a file."""
