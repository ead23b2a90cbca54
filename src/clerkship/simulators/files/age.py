"""When something was last modified, as people say it: at a time, or so long ago."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from clerkship.model.duration import parse_duration, render_duration

_FORM = "expected a time with its zone such as 2026-03-02T09:00:00Z, or an age such as 3d"


def parse_when(value: Any) -> datetime | timedelta:
    """A time, or an age."""
    if isinstance(value, datetime | timedelta):
        return value
    try:
        return parse_duration(value)
    except ValueError:
        pass
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"{_FORM}, not {str(value)[:40]!r}") from None
    if time.tzinfo is None:
        raise ValueError(f"{_FORM}; {str(value)[:40]!r} has no zone")
    return time


def reckon(when: datetime | timedelta, now: datetime) -> datetime:
    """Which time that is."""
    return (when if isinstance(when, datetime) else now - when).astimezone(UTC)


def _written(when: datetime | timedelta) -> str:
    return when.isoformat() if isinstance(when, datetime) else render_duration(when)


When = Annotated[
    datetime | timedelta,
    BeforeValidator(parse_when),
    PlainSerializer(_written, return_type=str),
    WithJsonSchema({"type": ["string", "number"], "description": "2026-03-02T09:00:00Z, or an age: 3d, 1h30m"}),
]
