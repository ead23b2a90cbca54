"""The clinic's clock: US Eastern time by its rules since 1987, so that no machine's table of zones is asked."""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache

STANDARD_TIME, DAYLIGHT_TIME = timezone(timedelta(hours=-5)), timezone(timedelta(hours=-4))
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
"""No locale has a say."""
DAY = timedelta(days=1)
THURSDAY, FRIDAY = 3, 4


@lru_cache(maxsize=512)
def _get_daylight_period(year: int) -> tuple[datetime, datetime]:
    """From the second Sunday of March to the first of November, each at two in the morning; before 2007, from the first
    Sunday of April to the last of October."""
    first, last = (date(year, 3, 8), date(year, 11, 1)) if year >= 2007 else (date(year, 4, 1), date(year, 10, 25))
    begins = first + timedelta(days=6 - first.weekday())
    ends = last + timedelta(days=6 - last.weekday())
    return datetime(begins.year, begins.month, begins.day, 7, tzinfo=UTC), datetime(
        ends.year, ends.month, ends.day, 6, tzinfo=UTC
    )


def to_local(moment: datetime) -> datetime:
    """What the clock on the clinic's wall shows."""
    begins, ends = _get_daylight_period(moment.year)
    return moment.astimezone(DAYLIGHT_TIME if begins <= moment < ends else STANDARD_TIME)


def clinic_time(day: date, hour: int, minute: int = 0) -> datetime:
    """The moment at which that clock shows this; it is put forward on Sunday nights, when nobody is there."""
    begins, ends = _get_daylight_period(day.year)
    zone = DAYLIGHT_TIME if begins.date() <= day < ends.date() else STANDARD_TIME
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone)


@lru_cache(maxsize=256)
def format_datetime(moment: datetime) -> str:
    """A dateTime as the clinic writes it."""
    return to_local(moment).isoformat(timespec="seconds")


@lru_cache(maxsize=256)
def format_instant(moment: datetime) -> str:
    """When a server kept something."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")[:19] + "Z"


def format_long_date(day: date) -> str:
    """`March 2, 2026`."""
    return f"{MONTHS[day.month - 1]} {day.day}, {day.year}"


def format_time(moment: datetime) -> str:
    """`9:30 AM`."""
    here = to_local(moment)
    return f"{(here.hour - 1) % 12 + 1}:{here.minute:02} {'AM' if here.hour < 12 else 'PM'}"


@lru_cache(maxsize=512)
def list_holidays(year: int) -> frozenset[date]:
    """When nobody is there: New Year's, Memorial, Independence and Labor Day, Thanksgiving, Christmas."""
    memorial = date(year, 5, 31) - timedelta(days=date(year, 5, 31).weekday())
    labor = date(year, 9, 1) + timedelta(days=-date(year, 9, 1).weekday() % 7)
    thanks = date(year, 11, 22) + timedelta(days=(THURSDAY - date(year, 11, 22).weekday()) % 7)
    return frozenset({date(year, 1, 1), memorial, date(year, 7, 4), labor, thanks, date(year, 12, 25)})


def is_open(day: date) -> bool:
    """Whether the clinic is open."""
    return day.weekday() <= FRIDAY and day not in list_holidays(day.year)


def latest_open_day(day: date) -> date:
    """That day, or the last before it on which the clinic is open."""
    while not is_open(day):
        day -= DAY
    return day


def age_in_years(born: date, day: date) -> int:
    """How old somebody is, as people count."""
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def age_in_months(born: date, day: date) -> int:
    """The same in months, for the small."""
    return (day.year - born.year) * 12 + day.month - born.month - (day.day < born.day)


def add_months(born: date, count: int) -> date:
    """The day on which somebody has so many months."""
    year, month = divmod(born.year * 12 + born.month - 1 + count, 12)
    return date(year, month + 1, min(born.day, monthrange(year, month + 1)[1]))
