"""A modification time, given as a time or as an age."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from clerkship.model.duration import parse_duration, render_duration

_EXPECTED = "expected a time with its zone such as 2026-03-02T09:00:00Z, or an age such as 3d"


def parse_time_or_age(value: Any) -> datetime | timedelta:
    """Parse a time such as 2026-03-02T09:00:00Z, or an age such as 3d."""
    if isinstance(value, datetime | timedelta):
        return value
    try:
        return parse_duration(value)
    except ValueError:
        pass
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"{_EXPECTED}, not {str(value)[:40]!r}") from None
    if time.tzinfo is None:
        raise ValueError(f"{_EXPECTED}; {str(value)[:40]!r} has no zone")
    return time


def resolve_time(when: datetime | timedelta, now: datetime) -> datetime:
    """Return the time in UTC; an age counts back from now."""
    return (when if isinstance(when, datetime) else now - when).astimezone(UTC)


def _render_time_or_age(when: datetime | timedelta) -> str:
    return when.isoformat() if isinstance(when, datetime) else render_duration(when)


TimeOrAge = Annotated[
    datetime | timedelta,
    BeforeValidator(parse_time_or_age),
    PlainSerializer(_render_time_or_age, return_type=str),
    WithJsonSchema({"type": ["string", "number"], "description": "2026-03-02T09:00:00Z, or an age: 3d, 1h30m"}),
]
