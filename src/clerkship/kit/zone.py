"""Time zones: by offset from UTC, or by a name that the system knows."""

from datetime import datetime, timedelta, timezone
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Strict


def _check_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"unknown time zone {name[:60]!r} (expected: a name of the system's time zone database, "
            "such as America/New_York)"
        ) from None
    return name


ZoneName = Annotated[str, Strict(), AfterValidator(_check_zone)]
"""The name of a zone that the system knows."""


def format_short(at: datetime, minutes: int) -> str:
    """Return a time in a zone, with its offset: `2026-03-02 09:00:00-05:00`; `Z` stands for UTC."""
    return f"{_format_local(at, minutes)}{_format_offset(minutes) or 'Z'}"


def format_named(at: datetime, minutes: int) -> str:
    """Return a time in a zone, with its name: `2026-03-02 09:00:00 UTC-05:00`."""
    return f"{_format_local(at, minutes)} {name_zone(minutes)}"


def name_zone(minutes: int) -> str:
    """Return the name of a zone: `UTC`, or `UTC-05:00`."""
    return f"UTC{_format_offset(minutes)}"


def _format_local(at: datetime, minutes: int) -> str:
    return f"{at.astimezone(timezone(timedelta(minutes=minutes))):%Y-%m-%d %H:%M:%S}"


def _format_offset(minutes: int) -> str:
    """Return the offset; empty for UTC."""
    if not minutes:
        return ""
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"
