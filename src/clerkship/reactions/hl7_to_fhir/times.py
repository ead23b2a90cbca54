"""Convert HL7's times to FHIR's with the same precision; a time without a zone is in that of the server."""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

from clerkship.reactions.hl7_to_fhir.fields import Repetition
from clerkship.simulators.fhir.outcome import refusal

_TIME = re.compile(
    r"(?P<year>\d{4})(?:(?P<month>\d\d)(?:(?P<day>\d\d)(?:(?P<hour>\d\d)(?:(?P<minute>\d\d)"
    r"(?:(?P<second>\d\d)(?P<fraction>\.\d{1,6})?)?)?)?)?)?(?P<zone>[+-]\d{4})?",
    re.ASCII,
)
_CLOCK = re.compile(r"(\d\d)(\d\d)(?:(\d\d)(\.\d{1,6})?)?(?:[+-]\d{4})?", re.ASCII)
TIME_FORMAT = "YYYYMMDD[HHMM[SS[.S]]][+/-ZZZZ]"


class MessageTime(NamedTuple):
    """A time of a message."""

    text: str
    """The time as a FHIR dateTime."""
    at: datetime
    """The first moment of the time."""
    is_exact: bool
    """Whether the time has hours and minutes."""

    @property
    def date(self) -> str:
        """Return the date, perhaps partial."""
        return self.text[:10]


def read_time(repetition: Repetition | None, zone: int, component: int = 1) -> MessageTime | None:
    """Read a DTM, TS or DT; None for an empty field, refused if it is not a time."""
    text = repetition.text(component, 1) if repetition is not None else ""
    if repetition is None or not text:
        return None
    match = _TIME.fullmatch(text)
    time = _build_time(match, zone) if match is not None else None
    if time is None:
        raise refusal(422, "value", f"{repetition.where}: `{text[:60]}` is not a time (expected: {TIME_FORMAT})")
    return time


def _build_time(match: "re.Match[str]", zone: int) -> MessageTime | None:
    year, month, day, hour, minute, second = (
        int(match[name] or 0) for name in ("year", "month", "day", "hour", "minute", "second")
    )
    offset = _parse_offset(match["zone"], zone)
    if offset is None or year < 1:
        return None
    try:
        at = datetime(year, month or 1, day or 1, hour, minute, second, tzinfo=timezone(offset))
        at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    if not match["hour"]:
        return MessageTime("-".join(filter(None, (match["year"], match["month"], match["day"]))), at, False)
    fraction = match["fraction"] or ""
    text = at.isoformat()
    return MessageTime(f"{text[:19]}{fraction}{text[19:]}", at, True)


def _parse_offset(text: str | None, zone: int) -> timedelta | None:
    """R4: a zone is at most fourteen hours from UTC."""
    if text is None:
        return timedelta(minutes=zone)
    hours, minutes = int(text[1:3]), int(text[3:5])
    if hours > 14 or minutes > 59 or (hours == 14 and minutes):
        return None
    sign = -1 if text[0] == "-" else 1
    return sign * timedelta(hours=hours, minutes=minutes)


def parse_clock(repetition: Repetition) -> str:
    """Convert a TM to a FHIR time, which has no zone."""
    text = repetition.text()
    match = _CLOCK.fullmatch(text)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3] or 0) > 59:
        raise refusal(422, "value", f"{repetition.where}: `{text[:60]}` is not a time of day (expected: HHMM[SS[.S]])")
    return f"{match[1]}:{match[2]}:{match[3] or '00'}{match[4] or ''}"


def parse_instant(instant: str) -> datetime:
    """Parse a FHIR instant; a leap second is read as the second before it."""
    return datetime.fromisoformat(instant.replace(":60", ":59"))
