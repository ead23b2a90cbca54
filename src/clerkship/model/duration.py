"""Spans of simulated time as people write them: `30m`, `+10m`, `1h30m`, `250ms`, or a number of seconds."""

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_WHOLE = re.compile(rf"\+?(?:{_PART.pattern})+")
_LONGEST = 100 * 365 * 86400


def parse_duration(value: Any) -> timedelta:
    """Read a duration; the error says what one looks like."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool):
        raise ValueError("expected a duration such as 30m, 1h30m or a number of seconds")
    if isinstance(value, int | float):
        return _bounded(float(value))
    text = str(value).replace(" ", "")
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"expected a duration such as 30m, 1h30m or a number of seconds, not {str(value)[:40]!r}")
    return _bounded(sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text)))


def _bounded(seconds: float) -> timedelta:
    if not 0 <= seconds <= _LONGEST:
        raise ValueError("expected a duration between 0 and 100 years")
    return timedelta(seconds=seconds)


def render_duration(value: timedelta) -> str:
    """Write a duration with the largest units that fit it exactly."""
    milliseconds = round(value.total_seconds() * 1000)
    parts: list[str] = []
    for unit in ("d", "h", "m", "s", "ms"):
        size = round(_UNITS[unit] * 1000)
        count, milliseconds = divmod(milliseconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(render_duration, return_type=str),
    WithJsonSchema({"type": ["string", "number"], "description": "30m, 1h30m, 250ms, or seconds"}),
]
