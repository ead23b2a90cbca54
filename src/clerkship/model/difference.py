"""Find the paths at which two nested values differ."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import orjson

from clerkship.model.frozen import Frozen
from clerkship.model.matcher import equals, is_matcher
from clerkship.model.path import MISSING

MAX_DIFFERENCES = 20
"""Differences that are listed; further ones are counted."""
MAX_COUNTED = 1000
MAX_VALUE_LENGTH = 200
"""Characters shown of each value."""
MAX_LEVELS = 64
"""Levels of lists and maps that are compared; deeper values are compared as a whole."""
MAX_CONTEXT_LENGTH = 20
"""Characters shown before the point where two long texts begin to differ."""


class ValueDifference(Frozen):
    """A path at which two values differ, such as `orders[2].dose`. Nested values are shown as JSON text."""

    path: str
    expected: Any
    actual: Any


class Differences(NamedTuple):
    """The first differences of a comparison, and the number of further ones."""

    first: tuple[ValueDifference, ...] = ()
    left_out: int = 0


def find_differences(expected: Any, actual: Any) -> Differences:
    """Compare two maps, or two lists, at every level.

    Return no differences for anything else: values that are not nested, matchers other than `equals`, a map and a
    list.
    """
    if is_matcher(expected) and expected.keys() == {"equals"}:
        expected = expected["equals"]
    if is_matcher(expected) or not (_are_maps(expected, actual) or _are_lists(expected, actual)):
        return Differences()
    differences = list(islice(_walk_differences("", expected, actual, MAX_LEVELS), MAX_COUNTED))
    first = tuple(_shorten(*difference) for difference in differences[:MAX_DIFFERENCES])
    return Differences(first, len(differences) - len(first))


def _walk_differences(path: str, expected: Any, actual: Any, depth: int) -> Iterator[tuple[str, Any, Any]]:
    if equals(expected, actual):
        return
    if depth and _are_maps(expected, actual):
        for key in dict.fromkeys((*expected, *actual)):
            inner_path = f"{path}.{key}" if path else str(key)
            yield from _walk_differences(inner_path, expected.get(key, MISSING), actual.get(key, MISSING), depth - 1)
    elif depth and _are_lists(expected, actual):
        yield from _compare_lists(path, expected, actual, depth)
    else:
        yield path, expected, actual


def _compare_lists(
    path: str, expected: Sequence[Any], actual: Sequence[Any], depth: int
) -> Iterator[tuple[str, Any, Any]]:
    """Compare lists item by item, without equal items at both ends, so that one inserted item is one difference."""
    shorter, start, end = min(len(expected), len(actual)), 0, 0
    while start < shorter and equals(expected[start], actual[start]):
        start += 1
    while end < shorter - start and equals(expected[-1 - end], actual[-1 - end]):
        end += 1
    for number in range(start, max(len(expected), len(actual)) - end):
        yield from _walk_differences(
            f"{path}[{number}]",
            expected[number] if number < len(expected) - end else MISSING,
            actual[number] if number < len(actual) - end else MISSING,
            depth - 1,
        )


def _shorten(path: str, expected: Any, actual: Any) -> ValueDifference:
    first, second = _to_plain(expected), _to_plain(actual)
    start = 0
    if isinstance(first, str) and isinstance(second, str) and max(len(first), len(second)) > MAX_VALUE_LENGTH:
        shared = next((n for n, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]), 0)
        start = max(shared - MAX_CONTEXT_LENGTH, 0)
    return ValueDifference(path=path, expected=_cut(first, start), actual=_cut(second, start))


def _to_plain(value: Any) -> Any:
    if isinstance(value, bool | int | float | str | None):
        return value
    try:
        return orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, RecursionError):
        return repr(value)


def _cut(value: Any, start: int) -> Any:
    if not isinstance(value, str) or len(value) <= MAX_VALUE_LENGTH:
        return value
    end = start + MAX_VALUE_LENGTH
    return f"{'…' if start else ''}{value[start:end]}{'…' if end < len(value) else ''} ({len(value):,} characters)"


def _are_maps(expected: Any, actual: Any) -> bool:
    return isinstance(expected, Mapping) and isinstance(actual, Mapping)


def _are_lists(expected: Any, actual: Any) -> bool:
    return isinstance(expected, list | tuple) and isinstance(actual, list | tuple)
