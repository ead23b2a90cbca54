"""Dates in a text, in the usual ways of writing them."""

import contextlib
import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from clerkship.text.spoken_words import MONTH_PATTERN, MONTHS

_MONTH = rf"(?P<name>{MONTH_PATTERN})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er)?"
_YEAR = r"'?(?P<year>\d{4}|\d{2})"
_FULL_YEAR = r"(?P<year>(?:18|19|20)\d{2})"
_PATTERNS = (
    re.compile(r"(?<!\d)(?P<year>(?:18|19|20)\d{2}) ?[-/. ] ?(?P<month>\d{1,2}) ?[-/. ] ?(?P<day>\d{1,2})(?!\d)"),
    re.compile(r"(?<!\d)(?P<year>(?:18|19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})(?!\d)"),
    re.compile(rf"(?<![\d/.-])(?P<month>\d{{1,2}}) ?[-/.] ?(?P<day>\d{{1,2}}) ?[-/.] ?{_YEAR}(?![\d/]|[-.]\d)"),
    re.compile(r"(?<!\d)(?P<month>\d{1,2}) (?P<day>\d{1,2}) (?P<year>(?:18|19|20)\d{2})(?!\d)"),
    re.compile(r"(?<!\d)(?P<month>\d{2})(?P<day>\d{2})(?P<year>(?:18|19|20)\d{2})(?!\d)"),
    re.compile(rf"(?<!\d){_DAY}[ .,-]{{0,2}}(?:(?:day )?(?:of|de) )?{_MONTH}[ .,-]{{0,3}}(?:de |del )?{_YEAR}(?!\d)"),
    re.compile(rf"(?<![a-z]){_MONTH}[ .,-]{{1,2}}(?:the )?{_DAY}(?!\d)[ ,.-]{{1,3}}(?:of )?{_YEAR}(?!\d)"),
    re.compile(rf"(?<![a-z]){_MONTH} (?:the )?{_DAY}(?!\d)[ ,]{{1,2}}in (?:the year )?{_FULL_YEAR}(?!\d)"),
    re.compile(rf"(?<![a-z]){_MONTH}[ ,]{{1,2}}(?:of )?{_FULL_YEAR}[ ,]{{1,2}}(?:on )?the {_DAY}(?!\d)"),
    re.compile(rf"(?<!\d){_FULL_YEAR}[ ,-]{{1,2}}{_MONTH}[ -]{{1,2}}{_DAY}(?!\d)"),
    re.compile(rf"(?<!\d){_FULL_YEAR}[ ,]{{1,2}}(?:on )?(?:the )?{_DAY} (?:of )?{_MONTH}(?![a-z])"),
)
"""Every repetition is bounded, because an agent's text may be built to be slow to match."""
_SPOKEN_PATTERNS = (
    re.compile(rf"(?<![\d.])(?P<month>\d{{1,2}})[ ,]{{1,2}}(?P<day>\d{{1,2}})[ ,]{{1,2}}{_FULL_YEAR}(?!\d)"),
    # It looks ahead, so that each number may be the first one: in `2 03 04 70`, 2 is not a month.
    re.compile(r"(?<![\d.])(?=(?P<month>\d{1,2})[ ,]{1,2}(?P<day>\d{1,2})[ ,]{1,2}(?P<year>\d{2})(?!\.?\d))"),
    re.compile(rf"(?<!\d)(?P<month>\d{{2}})(?P<day>\d{{2}})[ ,.]{{1,2}}{_FULL_YEAR}(?!\d)"),
    re.compile(r"(?<!\d)(?P<month>\d{2})(?P<day>\d{2})(?P<year>\d{2})(?!\d)"),
)
"""Rows of numbers that are dates when they are said or keyed: `three four seventy`."""
_NUMBER, _MONTH_NAME = re.compile(r"\d+"), re.compile(MONTH_PATTERN)
_NUMBER_OR_MONTH = re.compile(rf"\b(?:\d+|(?:{MONTH_PATTERN})\b)")
"""Where a date may start. To look there alone is faster than to search for each pattern."""
_ALL = tuple((each, each.pattern.startswith(rf"(?<![a-z]){_MONTH}")) for each in (*_PATTERNS, *_SPOKEN_PATTERNS))
"""All patterns, and whether a date of each starts with the name of its month."""
_PLAIN_PATTERNS = (
    re.compile(rf"\b{_FULL_YEAR}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})(?!\d)"),
    re.compile(r"(?<![\d/.-])(?P<month>\d{1,2})[-/.](?P<day>\d{1,2})[-/.](?P<year>\d{4}|\d{2})(?![\d/]|[-.]\d)"),
    re.compile(rf"\b{_DAY}(?: of)? {_MONTH}\b\.?(?:,? {_FULL_YEAR}\b)?"),
    re.compile(rf"\b{_MONTH}\.? {_DAY}\b(?!:)(?:,? {_FULL_YEAR}\b)?"),
)
"""Dates in which signs or the name of the month leave no doubt that it is one, also without a year."""
_LEAP_YEAR = 2000
_ISO_DATE = re.compile(r"[0-9]{4}(-?)[0-9]{2}\1[0-9]{2}")
_BIRTH_WORD = re.compile(
    r"\b(?:dob|d\.o\.b|doB|born|birth|birthdate|birthday|bday|geboren|geb|nacid[oa]|nacimiento|nee? le)\b",
    re.IGNORECASE,
)
_BIRTH_BEFORE, _BIRTH_AFTER = 40, 25
"""Characters around a date in which a word about birth counts."""


def parse_iso_date(value: object, *, or_digits: bool = False) -> date | None:
    """Return a date that is written as 1961-03-14, or also as 19610314; None for anything else."""
    match = _ISO_DATE.fullmatch(value) if isinstance(value, str) else None
    if match is not None and (match[1] or or_digits):
        with contextlib.suppress(ValueError):
            return date.fromisoformat(match[0])
    return None


def parse_first_day(value: object) -> date | None:
    """Return the day of a FHIR date or dateTime; of a month or a year the first day."""
    return parse_iso_date(f"{value}-01-01"[:10])


class WrittenDate(NamedTuple):
    """A date in a text, with its possible readings."""

    start: int
    end: int
    readings: frozenset[date]
    is_birth: bool
    """Whether a word about birth is near it."""
    has_year: bool = True
    """Whether the year is written. Without it, the readings are days of a leap year."""

    def fits(self, other: "WrittenDate") -> bool:
        """Return whether both may be the same day."""
        if self.has_year and other.has_year:
            return not self.readings.isdisjoint(other.readings)
        return not {(day.month, day.day) for day in self.readings}.isdisjoint(
            (day.month, day.day) for day in other.readings
        )


def find_dates(text: str, *, is_spoken: bool = False) -> Iterator[WrittenDate]:
    """Yield the dates in a text in lower case without accents.

    In 4/5/1961 either number may be the month, and the century of 4/5/61 is open. What is said has no signs between the
    numbers of a date.
    """
    numbers, months = ([match.start() for match in part.finditer(text)] for part in (_NUMBER, _MONTH_NAME))
    for pattern, starts_with_month in _ALL if is_spoken else _ALL[: len(_PATTERNS)]:
        end = 0
        for start in months if starts_with_month else numbers:
            match = pattern.match(text, start) if start >= end else None
            if match is None:
                continue
            end = match.end()
            readings = frozenset(_read(match))
            if readings:
                last = match.end("year") if end == start else end
                near = text[max(0, start - _BIRTH_BEFORE) : last + _BIRTH_AFTER]
                yield WrittenDate(start, last, readings, _BIRTH_WORD.search(near) is not None)


def find_plain_dates(text: str) -> list[WrittenDate]:
    """Return the dates in a text in lower case, in order, that have signs or the name of a month, and may have no year.

    Such are `March 5`, `5 March 2018`, `3/5/2018` and `2018-03-05`. A day that does not exist has no reading.
    """
    dates: list[WrittenDate] = []
    end = 0
    for place in _NUMBER_OR_MONTH.finditer(text):
        start = place.start()
        patterns = _PLAIN_PATTERNS[:-1] if text[start].isdigit() else _PLAIN_PATTERNS[-1:]
        match = next(filter(None, (each.match(text, start) for each in patterns)), None) if start >= end else None
        if match is not None:
            end = match.end()
            has_year = match["year"] is not None
            dates.append(WrittenDate(start, end, frozenset(_read(match)), is_birth=False, has_year=has_year))
    return dates


def _read(match: re.Match[str]) -> Iterator[date]:
    groups = match.groupdict()
    day, year = int(groups["day"]), groups["year"] or str(_LEAP_YEAR)
    if groups.get("name"):
        yield from list_days(year, MONTHS[groups["name"]], day)
    else:
        month = int(groups["month"])
        for one, other in {(month, day), (day, month)}:
            yield from list_days(year, one, other)


def list_days(year: str, month: int, day: int) -> Iterator[date]:
    """Yield the days that a date can be: one, two if its year has two digits, none if there is no such day."""
    for full_year in (year,) if len(year) > 2 else (f"19{year:0>2}", f"20{year:0>2}"):
        with contextlib.suppress(ValueError):
            yield date(int(full_year), month, day)
