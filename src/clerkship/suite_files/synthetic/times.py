"""The time zone of the clinic: US Eastern time since 1987, computed here to be independent of the system."""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache

from clerkship.text.spoken_words import MONTH_NAMES

STANDARD_TIME, DAYLIGHT_TIME = timezone(timedelta(hours=-5)), timezone(timedelta(hours=-4))
DAY = timedelta(days=1)
THURSDAY, FRIDAY = 3, 4


@lru_cache(maxsize=512)
def _get_daylight_period(year: int) -> tuple[datetime, datetime]:
    """Return when daylight saving time begins and ends: second Sunday of March to first of November, at two in the
    morning; before 2007, first Sunday of April to last of October.
    """
    first, last = (date(year, 3, 8), date(year, 11, 1)) if year >= 2007 else (date(year, 4, 1), date(year, 10, 25))
    begins = first + timedelta(days=6 - first.weekday())
    ends = last + timedelta(days=6 - last.weekday())
    return datetime(begins.year, begins.month, begins.day, 7, tzinfo=UTC), datetime(
        ends.year, ends.month, ends.day, 6, tzinfo=UTC
    )


def to_local(moment: datetime) -> datetime:
    """Convert to the local time of the clinic."""
    begins, ends = _get_daylight_period(moment.year)
    return moment.astimezone(DAYLIGHT_TIME if begins <= moment < ends else STANDARD_TIME)


def clinic_time(day: date, hour: int, minute: int = 0) -> datetime:
    """Return the moment of a local time at the clinic."""
    begins, ends = _get_daylight_period(day.year)
    zone = DAYLIGHT_TIME if begins.date() <= day < ends.date() else STANDARD_TIME
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)


@lru_cache(maxsize=256)
def format_datetime(moment: datetime) -> str:
    """Format a dateTime in the time zone of the clinic."""
    return to_local(moment).isoformat(timespec="seconds")


@lru_cache(maxsize=256)
def format_instant(moment: datetime) -> str:
    """Format an instant in UTC."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"


def format_long_date(day: date) -> str:
    """Return a date such as `March 2, 2026`."""
    return f"{MONTH_NAMES[day.month - 1]} {day.day}, {day.year}"


def format_time(moment: datetime) -> str:
    """Return a time such as `9:30 AM`."""
    here = to_local(moment)
    return f"{(here.hour - 1) % 12 + 1}:{here.minute:02} {'AM' if here.hour < 12 else 'PM'}"


@lru_cache(maxsize=512)
def list_holidays(year: int) -> frozenset[date]:
    """Return the days on which the clinic is closed: New Year's, Memorial, Independence and Labor Day, Thanksgiving,
    Christmas.
    """
    memorial = date(year, 5, 31) - timedelta(days=date(year, 5, 31).weekday())
    labor = date(year, 9, 1) + timedelta(days=-date(year, 9, 1).weekday() % 7)
    thanks = date(year, 11, 22) + timedelta(days=(THURSDAY - date(year, 11, 22).weekday()) % 7)
    return frozenset({date(year, 1, 1), memorial, date(year, 7, 4), labor, thanks, date(year, 12, 25)})


def is_open(day: date) -> bool:
    """Return whether the clinic is open on a day."""
    return day.weekday() <= FRIDAY and day not in list_holidays(day.year)


def latest_open_day(day: date) -> date:
    """Return this day, or the last one before it on which the clinic is open."""
    while not is_open(day):
        day -= DAY
    return day


def age_in_years(born: date, day: date) -> int:
    """Return the age on a day, in completed years."""
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def age_in_months(born: date, day: date) -> int:
    """Return the age on a day, in completed months."""
    return (day.year - born.year) * 12 + day.month - born.month - (day.day < born.day)


def add_months(born: date, count: int) -> date:
    """Return the day on which a patient is this many months old."""
    year, month = divmod(born.year * 12 + born.month - 1 + count, 12)
    return date(year, month + 1, min(born.day, monthrange(year, month + 1)[1]))
