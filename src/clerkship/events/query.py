"""Find events by kind (with `*`), sandbox, actor and payload."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from fnmatch import translate
from functools import lru_cache
from typing import Any

import orjson

from clerkship.events.event import Event
from clerkship.model.matcher import describe_expected, matches_expected, render_date
from clerkship.model.path import lookup
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch


@lru_cache(maxsize=512)
def _kind_pattern(kind: str) -> "re.Pattern[str]":
    return re.compile(translate(kind))


def matches_kind(kind: str, wanted: str) -> bool:
    """Return whether a kind matches a pattern such as `files.*`."""
    return kind == wanted or ("*" in wanted and _kind_pattern(wanted).match(kind) is not None)


def matches(event: Event, match: EventMatch) -> bool:
    """Return whether an event matches. This is the innermost step of every check, and is written for speed."""
    wanted = match.__dict__  # pydantic makes each look at an attribute of a model slow
    if event.kind != wanted["event"] and not matches_kind(event.kind, wanted["event"]):
        return False
    if wanted["actor"] is not None and wanted["actor"] != event.actor:
        return False
    if wanted["sandbox"] is not None and wanted["sandbox"] != event.source:
        return False
    if wanted["where"]:
        fields = event.payload.__dict__
        for path, expected in wanted["where"].items():
            if not matches_expected(expected, fields[path] if path in fields else lookup(fields, path)):
                return False
    return True


def select(events: Iterable[Event], match: EventMatch) -> Iterator[Event]:
    """Yield the events that match, in the given order."""
    return (event for event in events if matches(event, match))


def find_first(events: Iterable[Event], match: EventMatch | None) -> Event | None:
    """Return the first event that matches; None if there is none, or nothing to match."""
    return next(select(events, match), None) if match is not None else None


def compare_fields(event: Event, match: EventMatch) -> tuple[FieldCheck, ...]:
    """Return each expected value beside the actual value in the event."""
    return tuple(
        field_check(path, expected, actual, passed=matches_expected(expected, actual), seq=event.seq)
        for path, expected in match.where.items()
        for actual in (lookup(event.payload, path),)
    )


def field_check(path: str, expected: Any, actual: Any, *, passed: bool, seq: int | None = None) -> FieldCheck:
    """Build the comparison of an expected and an actual value, with the differences of nested values."""
    row = FieldCheck(path=path, expected=expected, actual=to_evidence_value(actual), passed=passed, seq=seq)
    return row if passed else row.with_differences(expected, actual)


def find_nearest(events: Iterable[Event], match: EventMatch) -> Event | None:
    """Return the event of the right kind that fulfils most expectations, to be shown for a failure."""
    without_fields = match.model_copy(update={"where": {}})
    candidates = [event for event in events if matches(event, without_fields)]
    return max(candidates, key=lambda event: sum(check.passed for check in compare_fields(event, match)), default=None)


def to_evidence_value(value: object, limit: int = 2000) -> object:
    """Return a value as evidence stores it: long text cut, bytes decoded, dates and times as text."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, date):
        value = render_date(value)
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]}… ({len(value)} characters)"
    if isinstance(value, bool | int | float | None):
        return value
    if isinstance(value, list | tuple | dict):
        return _to_evidence_container(list(value) if isinstance(value, tuple) else value, limit)
    return repr(value)


def _to_evidence_container(value: object, limit: int) -> object:
    """Return a list or map unchanged, or the beginning of its text if it is long or cannot be JSON."""
    try:
        text = orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        text = repr(value)
    else:
        if len(text) <= limit:
            return value
    return to_evidence_value(text, limit)


def describe_match(match: EventMatch) -> str:
    """Describe the events that a match selects."""
    words = [f"`{match.event}`"]
    if match.sandbox:
        words.append(f"on {match.sandbox}")
    if match.actor:
        words.append(f"by {match.actor}")
    if match.where:
        words.append(f"where {describe_fields(match.where)}")
    return " ".join(words)


def describe_fields(fields: Mapping[str, object]) -> str:
    """Describe the expected fields of a payload."""
    return ", ".join(f"{path} {_describe_expected(expected)}" for path, expected in fields.items())


def _describe_expected(expected: object) -> str:
    text = describe_expected(expected)
    return text if isinstance(expected, dict) else f"is {text}"
