"""Whether a text says something, in whatever words or notation: the matchers `says` and `says_only`."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from clerkship.text.dates import WrittenDate, parse_iso_date
from clerkship.text.spoken_text import SpokenText, read_spoken
from clerkship.text.spoken_words import MONTH_PATTERN
from clerkship.text.times import parse_time

_MAX_REMOVED = 5
"""How often one value is removed from a text: the work must not grow with what an agent wrote."""
_DAY_OF_MONTH = re.compile(
    rf"(?P<month>\b(?:{MONTH_PATTERN})\.? )?"
    r"(?:\bthe (\d{1,2})(?:st|nd|rd|th)?|(?<![\w:/.-])(\d{1,2})(?:st|nd|rd|th))\b"
    rf"(?!(?: of)? (?:{MONTH_PATTERN})\b|[:/.-]\d)"
)
"""A day whose month is not said: `Thursday the 12th`."""


def says_all(values: Any, text: str) -> bool:
    """Return whether a text says every value: words, numbers in any notation, dates (`2026-03-06`, in the text with or
    without the year, or `the 6th`), times (`14:30`), or both (`2026-03-06T14:30`). A list in the list has wordings of
    one value.
    """
    said = _read(text)
    return all(
        any(said.has(wording) for wording in ([each] if isinstance(each, str) else each))
        for each in ([values] if isinstance(values, str) else values)
    )


def says_only(values: Any, text: str) -> bool:
    """Return whether a text says no date and no time but these. Only the sorts that are among the values count."""
    said, wanted = _read(text), [values] if isinstance(values, str) else list(values)
    days = [day for day, _ in map(_split, wanted) if day is not None]
    minutes = [minute for _, minute in map(_split, wanted) if minute is not None]
    return (not days or said.has_only_days(days)) and (not minutes or said.has_only_times(minutes))


def list_said_values(values: Any) -> Iterator[str]:
    """Yield the values as they are written in a file, the first wording of each."""
    for each in [values] if isinstance(values, str) else values:
        yield each if isinstance(each, str) else each[0]


def remove_said(values: Iterable[str], text: str) -> str:
    """Return a text without some values, such as a phone number, in whatever notation each of them is said."""
    for value in [each for each in values for _ in range(_MAX_REMOVED)]:
        spoken = read_spoken(text)
        place = spoken.find((value,))
        if place is not None:
            text = f"{spoken.plain[: place[0]]} ; {spoken.plain[place[1] :]}"
    return text


class _SaidText:
    """What a text says: its words, its dates and its times."""

    def __init__(self, text: str) -> None:
        self._spoken: SpokenText = read_spoken(text)
        self._dates = [each for each, _ in self._spoken.days]
        self._times = [each for each, _ in self._spoken.times]
        forms = (form.lower() for form in self._spoken.list_forms())
        self._days = {
            int(match[2] or match[3]) for form in forms for match in _DAY_OF_MONTH.finditer(form) if not match["month"]
        }

    def has(self, value: str) -> bool:
        day, minute = _split(value)
        if day is None and minute is None:
            return self._spoken.find((value,)) is not None
        return (day is None or self._has_day(day)) and (minute is None or self._has_time(minute))

    def _has_day(self, day: date) -> bool:
        return day.day in self._days or any(each.fits(_write(day)) for each in self._dates)

    def _has_time(self, minute: int) -> bool:
        return any(minute in each.readings for each in self._times)

    def has_only_days(self, days: list[date]) -> bool:
        wanted = [_write(day) for day in days]
        return all(any(each.fits(day) for day in wanted) for each in self._dates if each.is_certain and each.readings)

    def has_only_times(self, minutes: list[int]) -> bool:
        return all(each.readings.intersection(minutes) for each in self._times if each.is_certain)


@lru_cache(maxsize=1024)
def _read(text: str) -> _SaidText:
    return _SaidText(text)


def _split(value: str) -> tuple[date | None, int | None]:
    """Return the day and the time that a value is; None for what it is not."""
    day, minute = parse_iso_date(value), parse_time(value)
    if day is None and minute is None and "T" in value:
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None, None
        return moment.date(), moment.hour * 60 + moment.minute
    return day, minute


def _write(day: date) -> WrittenDate:
    return WrittenDate(0, 0, frozenset({day}), is_birth=False)
