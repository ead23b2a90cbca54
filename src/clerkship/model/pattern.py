"""Regular expressions with a time limit for each search, so that no pattern can hang a run."""

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator

from clerkship.by_name import load

if TYPE_CHECKING:
    import regex
import re
import re._constants as sre  # type: ignore[import-not-found]  # it has no stubs
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import regex

PROBE_LENGTH = 500
"""Characters of a probe. Longer texts can slow down ordinary patterns too."""
PROBE_LIMIT = 0.25
"""Seconds for one probe. A fast pattern takes about a thousandth of that."""
MAX_PROBES = 32
_MAX_VARIANTS = 6
_MIN_PROBED_REPEATS = 16
"""Repeats that allow at least this many repetitions are probed."""
_ALPHABET = "a0 _-.,!Az9"
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_SAMPLES = {
    sre.CATEGORY_DIGIT: "0",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_NOT_WORD: " ",
}

Node = tuple[Any, Any]
TIME_LIMIT = 1.0
MAX_ATTEMPTS = 2
"""The limit counts the processor time of all threads, so a search can reach it while another thread runs."""


def is_slow(compiled: "regex.Pattern[str]") -> bool:
    """Return whether the pattern exceeds its time limit, twice in a row, on one of the probes."""
    return any(_times_out(compiled, text) and _times_out(compiled, text) for text in _build_probes(compiled.pattern))


def _times_out(compiled: "regex.Pattern[str]", text: str) -> bool:
    try:
        compiled.search(text, timeout=PROBE_LIMIT)
    except TimeoutError:
        return True
    return False


def _build_probes(pattern: str) -> Iterator[str]:
    if not any(sign in pattern for sign in "*+{"):
        return
    try:
        nodes = list(parser.parse(pattern))
    except (re.error, OverflowError, RecursionError):  # syntax that only the `regex` module supports
        yield from (char * PROBE_LENGTH + "\0" for char in _ALPHABET)
        return
    repeats = islice(_find_repeats(nodes, "", str), MAX_PROBES**2)  # a text of a megabyte can be a pattern too
    texts = (
        prefix + pump * (PROBE_LENGTH // len(pump)) + suffix
        for prefix, pump, tail in dict.fromkeys(repeats)
        for suffix in dict.fromkeys(("\0", "\n", f"{tail}\0", f"\0{tail}"))
    )
    yield from islice(texts, MAX_PROBES)


def _find_repeats(nodes: Sequence[Node], prefix: str, build_tail: Callable[[], str]) -> Iterator[tuple[str, str, str]]:
    """Yield each unbounded repeat as a triple: text before it, text to repeat, text after it."""
    after = [next(iter(_build_variants(node)), "") for node in nodes]
    for index, (kind, value) in enumerate(nodes):
        build_rest = partial(_join_rest, after, index + 1, build_tail)
        if kind in _REPEATS:
            _, high, body = value
            if high == sre.MAXREPEAT or high >= _MIN_PROBED_REPEATS:
                yield from ((prefix, pump, build_rest()) for pump in _build_samples(body) if pump)
            yield from _find_repeats(list(body), prefix, build_rest)
        elif kind is sre.SUBPATTERN:
            yield from _find_repeats(list(value[-1]), prefix, build_rest)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from _find_repeats(list(branch), prefix, build_rest)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _find_repeats(list(value[1]), prefix, build_rest)
        prefix += after[index]


def _join_rest(after: Sequence[str], start: int, build_tail: Callable[[], str]) -> str:
    return "".join(after[start:]) + build_tail()


def _build_samples(nodes: Iterable[Node]) -> list[str]:
    """Return a few different texts that a part of a pattern matches."""
    choices = [_build_variants(node) for node in nodes]
    return list(dict.fromkeys("".join(parts) for parts in islice(product(*choices), _MAX_VARIANTS)))


def _build_variants(node: Node) -> list[str]:
    kind, value = node
    if kind is sre.LITERAL:
        return [chr(value)]
    if kind is sre.NOT_LITERAL:
        return [next(char for char in _ALPHABET if ord(char) != value)]
    if kind is sre.ANY:
        return ["a"]
    if kind is sre.IN:
        return [_sample_class(value)]
    if kind in _REPEATS:
        low, _, body = value
        once = [sample * max(low, 1) for sample in _build_samples(body)]
        return ["", *once] if low == 0 else once
    if kind in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
        return _build_samples(value[-1] if kind is sre.SUBPATTERN else value)
    if kind is sre.BRANCH:
        return [sample for branch in value[1] for sample in _build_samples(branch)][:_MAX_VARIANTS]
    return [""]  # an anchor, an assertion or a reference matches no text of its own


def _sample_class(items: list[Node]) -> str:
    """Return one character of a character class."""
    kind, value = items[0]
    if kind is sre.NEGATE:
        return next((char for char in _ALPHABET if not any(_matches_char(item, char) for item in items[1:])), "a")
    if kind is sre.CATEGORY:
        return _SAMPLES.get(value, "a")
    return chr(value if kind is sre.LITERAL else value[0])


def _matches_char(item: Node, char: str) -> bool:
    kind, value = item
    if kind is sre.LITERAL:
        return bool(ord(char) == value)
    if kind is sre.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    matches = {
        sre.CATEGORY_DIGIT: char.isdigit(),
        sre.CATEGORY_SPACE: char.isspace(),
        sre.CATEGORY_WORD: char.isalnum() or char == "_",
    }
    return matches.get(value, False)


class PatternTooSlow(Exception):
    """A search took longer than its limit: the pattern backtracks too much on this text."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> "regex.Pattern[str]":
    """Compile a pattern, once per process. Raise ValueError, with the position, if it is invalid."""
    engine = load("regex")  # when the first pattern is compiled: most commands have none
    try:  # not into the engine's own cache, which uses the global random generator when it is full
        compiled: regex.Pattern[str] = engine.compile(pattern, cache_pattern=False)
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
