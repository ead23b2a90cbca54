"""Durations in files, options and settings: `30m`, `+10m`, `1h30m`, `250ms`, or a number of seconds."""

import re
from datetime import timedelta
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from clerkship.model.frozen import Number, Whole

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_UNIT_NAMES = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_WHOLE = re.compile(rf"\+?(?:{_PART.pattern})+")
_SECONDS = re.compile(r"\+?\d+(?:\.\d+)?")
_MAX_SECONDS = 100 * 365 * 86400


def parse_duration(value: Any) -> timedelta:
    """Parse a duration. Raise ValueError, with examples, if the value is not one."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool):
        raise ValueError("expected a duration such as 30m, 1h30m or a number of seconds")
    if isinstance(value, int | float):
        return _to_timedelta(value)
    text = value.replace(" ", "") if isinstance(value, str) else ""
    if _SECONDS.fullmatch(text):
        return _to_timedelta(float(text))
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"expected a duration such as 30m, 1h30m or a number of seconds, not {str(value)[:40]!r}")
    parts = [(float(number), unit) for number, unit in _PART.findall(text)]
    _to_timedelta(sum(number * _UNITS[unit] for number, unit in parts))
    return sum((timedelta(**{_UNIT_NAMES[unit]: number}) for number, unit in parts), timedelta())


def parse_seconds(text: str) -> float:
    """Parse a duration and return its seconds. Raise ValueError, with examples, if the text is not one."""
    return parse_duration(text).total_seconds()


def _read_seconds(value: Any) -> Any:
    """Return the seconds of a text; anything else unchanged, so that its type is checked."""
    return parse_seconds(value) if isinstance(value, str) else value


def _to_timedelta(seconds: float) -> timedelta:
    if not 0 <= seconds <= _MAX_SECONDS:
        raise ValueError("expected a duration between 0 and 100 years")
    return timedelta(seconds=seconds)


def describe_duration(value: timedelta | float) -> str:
    """Return a duration for people: `350 ms`, `4.2 s`, `2 min 5 s`, `1 h`. A number is one of seconds.

    Two units at most. The pages have the same rule in `viewer/src/parts/words.ts`.
    """
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if 0 < seconds < 0.9995:
        return f"{max(round(seconds * 1000), 1)} ms"
    if seconds < 9.95 and round(seconds, 1) % 1:
        return f"{seconds:.1f} s"
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    for (name, size), (lesser, step) in pairwise(units):
        count, rest = divmod(int(seconds / step + 0.5), size // step)
        if count:
            return f"{count:,} {name} {rest} {lesser}" if rest else f"{count:,} {name}"
    return f"{int(seconds + 0.5)} s"


def render_duration(value: timedelta) -> str:
    """Return a duration as it is written in files, in the largest units that represent it exactly."""
    parts: list[str] = []
    for unit in ("d", "h", "m", "s"):
        count, value = divmod(value, timedelta(seconds=_UNITS[unit]))
        if count:
            parts.append(f"{count}{unit}")
    if value:
        parts.append(f"{value / timedelta(milliseconds=1):g}ms")
    return "".join(parts) or "0s"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(render_duration, return_type=str),
    WithJsonSchema({"type": ["string", "number"], "description": "30m, 1h30m, 250ms, or seconds"}),
]
Seconds = Annotated[
    Number, BeforeValidator(_read_seconds), WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]})
]
"""Wall time: a number of seconds, or a duration as text."""
UtcOffset = Annotated[
    Whole | None,
    Field(
        ge=-840,
        le=840,
        description="UTC offset of the times it writes, in minutes; by default that of the environment's now",
    ),
]
