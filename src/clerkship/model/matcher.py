"""Matchers: `expected` is a literal, or a map of matchers that must all hold. The rules are the same everywhere."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

import orjson

from clerkship.by_name import load
from clerkship.model import pattern
from clerkship.model.duration import parse_duration
from clerkship.model.names import did_you_mean, find_similar_name
from clerkship.model.path import MISSING

_TIME = re.compile(r"[0-2]?[0-9]:[0-5][0-9]")
_PARTIAL_DATE = re.compile(r"[0-9]{4}(-[0-9]{2})?")


def equals(expected: Any, actual: Any) -> bool:
    """Return whether two values are equal as JSON: 1 equals 1.0, but not true, and not "1"."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return expected.keys() == actual.keys() and all(equals(expected[k], actual[k]) for k in expected)
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return len(expected) == len(actual) and all(map(equals, expected, actual))
    return bool(expected == actual)


def _contains(expected: Any, actual: Any) -> bool:
    if isinstance(actual, str | Mapping):
        return isinstance(expected, str) and expected in actual
    return isinstance(actual, list | tuple) and any(equals(expected, item) for item in actual)


def _matches(expected: Any, actual: Any) -> bool:
    return isinstance(actual, str) and pattern.has_match(expected, actual)


def _compare(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(expected: Any, actual: Any) -> bool:
        pair = _to_comparable(expected, actual)
        return pair is not None and holds(pair[1], pair[0])

    return compare


def _to_comparable(expected: Any, actual: Any) -> tuple[Any, Any] | None:
    if is_number(expected) and is_number(actual):
        return expected, actual
    first, second = to_datetime(expected), to_datetime(actual)
    return (first, second) if first is not None and second is not None else None


def is_number(value: Any) -> bool:
    """Return whether a value is a JSON number. Booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def to_datetime(value: Any) -> datetime | None:
    """Parse a date, or a date and time; return None if the value is neither.

    A time without a zone is in UTC. A day, a month (`1986-03`) or a year stands for its first moment; records have
    these where no more is known.
    """
    if isinstance(value, str):
        value = f"{value}-01-01"[:10] if _PARTIAL_DATE.fullmatch(value) else value
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime(value.year, value.month, value.day, tzinfo=UTC) if isinstance(value, date) else None


def render_date(value: date) -> str:
    """Return a date, or a date and time, as the JSON of an event has it: UTC is written as Z."""
    text = value.isoformat()
    return f"{text.removesuffix('+00:00')}Z" if text.endswith("+00:00") else text


def _approx(expected: Any, actual: Any) -> bool:
    if isinstance(expected, Mapping):
        value, tolerance = expected["value"], expected["tolerance"]
    else:
        value, tolerance = expected, max(1e-9, abs(expected) * 1e-6)
    try:
        return is_number(actual) and bool(abs(actual - value) <= tolerance)
    except OverflowError:  # a whole number too large to be converted to a float
        return False


def _within(expected: Any, actual: Any) -> bool:
    centre, instant = to_datetime(expected["of"]), to_datetime(actual)
    return centre is not None and instant is not None and abs(instant - centre) <= parse_duration(expected["by"])


def _says(expected: Any, actual: Any) -> bool:
    return isinstance(actual, str) and bool(load("clerkship.text.said_values:says_all")(expected, actual))


def _says_only(expected: Any, actual: Any) -> bool:
    return isinstance(actual, str) and bool(load("clerkship.text.said_values:says_only")(expected, actual))


def _only_asks_to_call(expected: Any, actual: Any) -> bool:
    return isinstance(actual, str) and bool(load("clerkship.text.call_requests:only_asks_to_call")(expected, actual))


MATCHERS: dict[str, Callable[[Any, Any], bool]] = {
    "equals": equals,
    "in": lambda expected, actual: any(equals(item, actual) for item in expected),
    "matches": _matches,
    "contains": _contains,
    "gt": _compare(lambda actual, limit: actual > limit),
    "gte": _compare(lambda actual, limit: actual >= limit),
    "lt": _compare(lambda actual, limit: actual < limit),
    "lte": _compare(lambda actual, limit: actual <= limit),
    "exists": lambda expected, actual: (actual is not MISSING) == expected,
    "not": lambda expected, actual: not matches_expected(expected, actual),
    "approx": _approx,
    "within": _within,
    "says": _says,
    "says_only": _says_only,
    "only_asks_to_call": _only_asks_to_call,
}


def is_matcher(expected: Any) -> bool:
    """Return whether a value is a map of matchers: all its keys are names of matchers. Any other map is a literal."""
    if not isinstance(expected, dict) or not expected:
        return False
    for name in expected:  # noqa: SIM110  (as in events.query.matches)
        if name not in MATCHERS:
            return False
    return True


def matches_expected(expected: Any, actual: Any) -> bool:
    """Return whether a value is as expected. Bytes, dates and times are compared as the text that JSON has for them."""
    kind = type(actual)
    if kind is bytes:
        actual = actual.decode(errors="replace")
    elif kind is not str and isinstance(actual, date):
        actual = render_date(actual)
    if not is_matcher(expected):
        return actual is not MISSING and equals(expected, actual)
    for name, argument in expected.items():  # noqa: SIM110  (as in events.query.matches)
        if not MATCHERS[name](argument, actual):
            return False
    return True


_MATCHER_WORDS = {
    "gt": "more than",
    "gte": "at least",
    "lt": "less than",
    "lte": "at most",
    "in": "one of",
    "equals": "",
}


def describe_expected(expected: Any) -> str:
    """Return an expectation in words, to be part of a sentence."""
    if not is_matcher(expected):
        return _to_json(expected)
    return " and ".join(
        f"{_MATCHER_WORDS.get(name, name)} {describe_expected(argument)}".strip() for name, argument in expected.items()
    )


def _to_json(value: Any) -> str:
    if isinstance(value, str):
        return repr(value)
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return repr(value)


def check_expected(expected: Any) -> Any:
    """Check an expectation when a file is loaded. Raise ValueError for what could never match, such as an invalid
    regex.
    """
    if isinstance(expected, Mapping) and (len(expected) == 1 or not MATCHERS.keys().isdisjoint(expected)):
        for name in expected:
            _reject_misspelled_matcher(name)
    if is_matcher(expected):
        for name, argument in expected.items():
            _CHECKS.get(name, lambda _: None)(argument)
    return expected


def _reject_misspelled_matcher(name: Any) -> None:
    """Reject `{matchs: x}`: by the rules it is a literal, but it is almost certainly a misspelled matcher."""
    # A word that only means the same as a matcher is more likely a key of the map.
    if name not in MATCHERS and find_similar_name(str(name), MATCHERS) is not None:
        raise ValueError(
            f"unknown matcher `{name}`; {did_you_mean(str(name), MATCHERS)} "
            f"(write {{equals: {{{name}: …}}}} to compare with the map itself)"
        )


def _check_bound(argument: Any) -> None:
    if not is_number(argument) and to_datetime(argument) is None:
        raise ValueError(f"expected a number or a date to compare with, not {argument!r}")


def _check_pattern(argument: Any) -> None:
    if not isinstance(argument, str):
        raise ValueError(f"expected a regular expression, not {argument!r}")
    pattern.check_pattern(argument)


def _check_list(argument: Any) -> None:
    if not isinstance(argument, list | tuple):
        raise ValueError("expected a list of allowed values")


def _check_flag(argument: Any) -> None:
    if not isinstance(argument, bool):
        raise ValueError("expected true or false")


def _check_approx(argument: Any) -> None:
    parts = tuple(argument.values()) if isinstance(argument, Mapping) else (argument,)
    named = not isinstance(argument, Mapping) or argument.keys() == {"value", "tolerance"}
    if not named or not all(map(is_number, parts)):
        raise ValueError("expected a number, or {value, tolerance}")


def _check_within(argument: Any) -> None:
    if not isinstance(argument, Mapping) or argument.keys() != {"of", "by"} or to_datetime(argument["of"]) is None:
        raise ValueError("expected {of: a date, by: a duration}")
    parse_duration(argument["by"])


def _check_values(argument: Any) -> None:
    values = argument if isinstance(argument, list | tuple) else [argument]
    wordings = [each if isinstance(each, list | tuple) else [each] for each in values]
    if not wordings or not all(each and all(map(_is_sayable, each)) for each in wordings):
        raise ValueError("expected text with a letter or a digit, or a list of such texts; quote numbers and times")


def _is_sayable(value: Any) -> bool:
    return isinstance(value, str) and any(map(str.isalnum, value))


def _check_only(argument: Any) -> None:
    _check_values(argument)
    for value in [argument] if isinstance(argument, str) else argument:
        if not isinstance(value, str) or not (_TIME.fullmatch(value) or to_datetime(value)):
            raise ValueError(f"expected a date such as 2026-03-06 or a time such as 14:30, not {value!r}")


_CHECKS: dict[str, Callable[[Any], object]] = {
    "in": _check_list,
    "matches": _check_pattern,
    "gt": _check_bound,
    "gte": _check_bound,
    "lt": _check_bound,
    "lte": _check_bound,
    "exists": _check_flag,
    "not": check_expected,
    "approx": _check_approx,
    "within": _check_within,
    "says": _check_values,
    "says_only": _check_only,
    "only_asks_to_call": _check_values,
}
