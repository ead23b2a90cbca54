"""Dates and numbers as ranges: `2013-01` is a month, `5.4` is 5.35 to 5.45 (R4 §3.1.1.4.6 to §3.1.1.4.8)."""

import re
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nextafter
from typing import NamedTuple

SECOND = 1_000_000
DAY = 86_400 * SECOND
FOREVER = 1 << 62
"""The end of an open period in microseconds; negated, the start of one without a start."""
MAX_NUMBER = sys.float_info.max
"""The same for numbers; unlike infinity it can be written in a cursor."""
_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,12}))?)?(Z|[+-]\d\d:\d\d)?)?)?)?", re.ASCII
)
_COMMON_LENGTHS = {20: "Z", 25: "+-"}
_FIRST = datetime(1, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"[+-]?(\d{1,30})(?:\.(\d{1,30}))?(?:[eE]([+-]?\d{1,2}))?", re.ASCII)


class TimeRange(NamedTuple):
    """From the first moment in it to the first after it, in microseconds since the year 1, UTC."""

    low: int
    high: int


class RoundedNumber(NamedTuple):
    """A number, and the range that rounds to it."""

    value: float
    low: float
    high: float


def parse_date_range(text: str, zone: int = 0) -> TimeRange:
    """Return the range of a date by its precision. A date without a zone is in one `zone` minutes ahead of UTC."""
    if len(text) in _COMMON_LENGTHS and text[19] in _COMMON_LENGTHS[len(text)] and text[7] == "-" and text[10] == "T":
        return _parse_second(text)
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a date: write YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDThh:mm:ss+zz:zz")
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    if hour is None:
        low, days = _parse_days(text, int(year), month, day)
        start = low * DAY - zone * 60 * SECOND
        return TimeRange(start, start + days * DAY)
    low, _ = _parse_days(text, int(year), month, day)
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 60:
        raise ValueError(f"{text!r} is not a time of day")
    ahead = zone if offset is None else _parse_offset(text, offset)
    seconds = int(hour) * 3600 + (int(minute) - ahead) * 60 + int(second or 0)
    start = low * DAY + seconds * SECOND
    if second is None:
        return TimeRange(start, start + 60 * SECOND)
    if fraction is None:
        return TimeRange(start, start + SECOND)
    start += int(fraction[:6].ljust(6, "0"))
    return TimeRange(start, start + 10 ** max(0, 6 - len(fraction)))


def _parse_second(text: str) -> TimeRange:
    """Parse a time to the second with a zone, the most common form, on a fast path."""
    try:
        since = datetime.fromisoformat(text) - _FIRST
    except ValueError:
        raise ValueError(f"{text!r} is not a moment of the calendar") from None
    start = (since.days + 1) * DAY + since.seconds * SECOND
    return TimeRange(start, start + SECOND)


def to_microseconds(when: datetime) -> int:
    """Return a moment in microseconds since the year 1, UTC."""
    since = when - _FIRST
    return (since.days + 1) * DAY + since.seconds * SECOND + since.microseconds


def _parse_days(text: str, year: int, month: str | None, day: str | None) -> tuple[int, int]:
    try:
        first = date(year, int(month or 1), int(day or 1)).toordinal()
    except ValueError:
        raise ValueError(f"{text!r} is not a day of the calendar") from None
    if day is not None:
        return first, 1
    last_month = int(month or 12)
    after = date(year, 12, 31).toordinal() + 1 if last_month == 12 else date(year, last_month + 1, 1).toordinal()
    return first, after - first


def _parse_offset(text: str, offset: str) -> int:
    if offset == "Z":
        return 0
    hours, minutes = int(offset[1:3]), int(offset[4:])
    if hours > 14 or minutes > 59:
        raise ValueError(f"{text!r} has an invalid zone")
    return (hours * 60 + minutes) * (-1 if offset[0] == "-" else 1)


def parse_number(text: str) -> RoundedNumber:
    """Parse a number, with half of its last digit on either side as its range."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a number")
    whole, fraction, power = match[1], match[2] or "", int(match[3] or 0)
    value = Decimal(text)
    digits = len(fraction)
    if match[3] is not None and len(whole) == 1 and not fraction:
        digits = 1  # the specification's own example: 1e2 is [95, 105)
    half = Decimal(5).scaleb(power - digits - 1)
    number = float(value)
    return RoundedNumber(number, float(value - half), max(float(value + half), nextafter(number, inf)))
