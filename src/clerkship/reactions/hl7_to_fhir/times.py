"""Convert HL7's times to FHIR's with the same precision; a time without a zone is in that of the server."""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

from clerkship.reactions.hl7_to_fhir.parts import Part
from clerkship.simulators.fhir.outcome import refusal

_TIME = re.compile(
    r"(?P<year>\d{4})(?:(?P<month>\d\d)(?:(?P<day>\d\d)(?:(?P<hour>\d\d)(?:(?P<minute>\d\d)"
    r"(?:(?P<second>\d\d)(?P<fraction>\.\d{1,6})?)?)?)?)?)?(?P<zone>[+-]\d{4})?",
    re.ASCII,
)
_CLOCK = re.compile(r"(\d\d)(\d\d)(?:(\d\d)(\.\d{1,6})?)?(?:[+-]\d{4})?", re.ASCII)
WRITTEN_SO = "a time is written YYYYMMDD[HHMM[SS[.S]]][+/-ZZZZ]"


class Time(NamedTuple):
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


def read_time(part: Part | None, zone: int, component: int = 1) -> Time | None:
    """Read a DTM, TS or DT; None for an empty field, refused if it is not a time."""
    text = part.text(component, 1) if part is not None else ""
    if part is None or not text:
        return None
    found = _TIME.fullmatch(text)
    made = _made(found, zone) if found is not None else None
    if made is None:
        raise refusal(422, "value", f"{part.where}: `{text[:60]}` is no time; {WRITTEN_SO}")
    return made


def _made(found: "re.Match[str]", zone: int) -> Time | None:
    year, month, day, hour, minute, second = (
        int(found[name] or 0) for name in ("year", "month", "day", "hour", "minute", "second")
    )
    offset = _offset(found["zone"], zone)
    if offset is None or year < 1:
        return None
    try:
        at = datetime(year, month or 1, day or 1, hour, minute, second, tzinfo=timezone(offset))
        at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    if not found["hour"]:
        return Time("-".join(filter(None, (found["year"], found["month"], found["day"]))), at, False)
    fraction = found["fraction"] or ""
    text = at.isoformat()
    return Time(f"{text[:19]}{fraction}{text[19:]}", at, True)


def _offset(said: str | None, zone: int) -> timedelta | None:
    """R4: a zone is at most fourteen hours from UTC."""
    if said is None:
        return timedelta(minutes=zone)
    hours, minutes = int(said[1:3]), int(said[3:5])
    if hours > 14 or minutes > 59 or (hours == 14 and minutes):
        return None
    sign = -1 if said[0] == "-" else 1
    return sign * timedelta(hours=hours, minutes=minutes)


def read_clock(part: Part) -> str:
    """Convert a TM to a FHIR time, which has no zone."""
    text = part.text()
    found = _CLOCK.fullmatch(text)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59 or int(found[3] or 0) > 59:
        raise refusal(422, "value", f"{part.where}: `{text[:60]}` is no time of day; it is written HHMM[SS[.S]]")
    return f"{found[1]}:{found[2]}:{found[3] or '00'}{found[4] or ''}"


def moment(instant: str) -> datetime:
    """Parse a FHIR instant; a leap second is read as the second before it."""
    return datetime.fromisoformat(instant.replace(":60", ":59"))
