"""Dates in a text, in the usual ways of writing them, and dates that a caller says or keys."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from clerkship.text.spoken_words import (
    CORRECTIONS,
    FACTORS,
    HESITATIONS,
    MONTH_PATTERN,
    MONTHS,
    NUMBER_WORDS,
    ORDINALS,
    REPEATS,
    TENS,
    UNITS,
    read_number,
    split_words,
    to_word_set,
)

_MONTH = rf"(?P<name>{MONTH_PATTERN})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er)?"
_NO_HOUR = r"(?! ?[ap]\.? ?m\b| ?o['’ ]?clock\b|:\d| ?h ?[0-5]\d\b|,? in the (?:morning|afternoon|evening)\b)"
_YEAR = rf"'?(?P<year>\d{{4}}|\d{{2}}{_NO_HOUR})"
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
_OTHER_DAY = r"(?P<other>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_RANGE = r"(?: (?:to|through|thru|until|or) | – |[-–])(?:the )?"
_NO_TIME = r"(?![:/.]\d| ?[ap]\.?m\b)"
_PLAIN_PATTERNS = (
    re.compile(rf"\b{_FULL_YEAR}[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}})(?!\d)"),
    re.compile(r"(?<![\d/.-])(?P<month>\d{1,2})[-/.](?P<day>\d{1,2})[-/.](?P<year>\d{4}|\d{2})(?![\d/]|[-.]\d)"),
    re.compile(rf"\b(?:{_OTHER_DAY}{_RANGE})?{_DAY}(?: of)? {_MONTH}\b\.?(?:,? {_FULL_YEAR}\b)?"),
    re.compile(rf"\b{_MONTH}\.? (?:the )?{_DAY}\b(?!:)(?:{_RANGE}{_OTHER_DAY}\b{_NO_TIME})?(?:,? {_FULL_YEAR}\b)?"),
)
"""Dates in which signs or the name of the month leave no doubt that it is one, also without a year."""
_SHORT_DATE = re.compile(
    r"(?P<sign>\b(?:(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\b[.,]{0,2}|"
    r"on|by|until|till|due|from|since|or) (?:the )?)?"
    r"(?<![\d/.-])(?P<month>\d{1,2})/(?P<day>\d{1,2})(?![\d/]|\.\d)"
)
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
    is_certain: bool = True
    """Whether it can only be a date: `3/6` may be a fraction."""

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


@lru_cache(maxsize=8)
def list_dates(text: str, *, is_spoken: bool = False) -> tuple[WrittenDate, ...]:
    """Return the dates that `find_dates` yields. Those of the last texts are stored, for texts searched repeatedly."""
    return tuple(find_dates(text, is_spoken=is_spoken))


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
            days = [match["day"], other] if (other := match.groupdict().get("other")) else [match["day"]]
            dates += (
                WrittenDate(start, end, frozenset(_read(match, int(day))), is_birth=False, has_year=has_year)
                for day in days
            )
    return dates


def find_short_dates(text: str) -> Iterator[WrittenDate]:
    """Yield the dates in a text in lower case that are two numbers, as `3/23`. It is certain after `Mon` or `by`."""
    for match in _SHORT_DATE.finditer(text):
        readings = frozenset(_read(match))
        if readings:
            start, is_certain = match.start("month"), match["sign"] is not None
            yield WrittenDate(start, match.end(), readings, is_birth=False, has_year=False, is_certain=is_certain)


def _read(match: re.Match[str], day: int | None = None) -> Iterator[date]:
    """Yield the days that a match can be; with `day`, that one of its month."""
    groups = match.groupdict()
    day, year = day or int(groups["day"]), groups.get("year") or str(_LEAP_YEAR)
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


MIN_YEAR, MAX_YEAR = 1850, 2150
FIRST_SHORT_YEAR = 1930
"""A year of two digits is one of the hundred from here on."""
_MAX_PARTS = 10
"""Parts of a date at most: eight digits one by one, a month, and one more."""
_ENDINGS = ("st", "nd", "rd", "th")
_BETWEEN = HESITATIONS | to_word_set(
    "of the in day month year and dash slash hyphen dot comma monday tuesday wednesday thursday friday saturday sunday"
)
DATE_WORDS = ORDINALS.keys() | NUMBER_WORDS.keys() | FACTORS.keys() | to_word_set("and the of")
"""Words that may follow a month in a date."""


class _DatePart(NamedTuple):
    """A month by name, or digits that were said or written together."""

    digits: str
    is_month: bool = False
    is_day: bool = False
    """Whether it was said as a day: `second`, `2nd`."""


def parse_date(text: str) -> str | None:
    """Return a date as `1985-03-02`; None if there is none, or if it may be two different ones.

    What follows a correction replaces what was said before it: the whole date, or its year.
    """
    words = split_words(text)
    start = max((place + 1 for place, word in enumerate(words) if word in CORRECTIONS), default=0)
    corrected = _find_date(words[start:])
    if corrected is not None or start == 0:
        return corrected
    before, year = _find_date(words), _find_year(words[start:])
    if before is None or year is None:
        return before
    day = _build_date(year, before[5:7], before[8:])
    return None if day is None else day.isoformat()


def _find_date(words: Sequence[str]) -> str | None:
    for run in _read_runs(words):
        days = _read_named_month(run) if any(part.is_month for part in run) else _read_numbers(run)
        if len(days) == 1:
            return days.pop().isoformat()
    return None


def _find_year(words: Sequence[str]) -> str | None:
    """Return the year among some words, if there are no other numbers."""
    runs = list(_read_runs(words))
    year = _join(runs[0]) if len(runs) == 1 and not any(part.is_month for part in runs[0]) else ""
    return year if len(year) == 4 and MIN_YEAR <= int(year) <= MAX_YEAR else None


def _read_runs(words: Sequence[str]) -> Iterator[list[_DatePart]]:
    """Yield the parts of dates; a word that is not part of a date ends one."""
    run: list[_DatePart] = []
    place = 0
    while place < len(words):
        part = _read_part(words, place)
        if part is not None:
            run.append(part[0])
            place += part[1]
            continue
        if words[place] not in _BETWEEN:
            yield from _within_limit(run)
            run = []
        place += 1
    yield from _within_limit(run)


def _within_limit(run: list[_DatePart]) -> Iterator[list[_DatePart]]:
    if 0 < len(run) <= _MAX_PARTS:
        yield run


def _read_part(words: Sequence[str], place: int) -> tuple[_DatePart, int] | None:
    """Return the part that stands at a place, and how many words it takes."""
    word = words[place]
    if word in MONTHS:
        return _DatePart(f"{MONTHS[word]:02}", is_month=True), 1
    if word.isdigit():
        return _DatePart(word), 1
    if word[:-2].isdigit() and word.endswith(_ENDINGS):
        return _DatePart(word[:-2], is_day=True), 1
    if word in ORDINALS:
        return _DatePart(str(ORDINALS[word]), is_day=True), 1
    following = words[place + 1] if place + 1 < len(words) else ""
    if word in TENS and ORDINALS.get(following, 10) < 10:
        return _DatePart(str(TENS[word] + ORDINALS[following]), is_day=True), 2
    if word in REPEATS and following in UNITS:
        return _DatePart(str(UNITS[following]) * REPEATS[word]), 2
    if word == "o":
        return _DatePart("0"), 1
    number = read_number(words, place)
    return None if number is None else (_DatePart(str(number[0])), number[1])


def _read_named_month(run: Sequence[_DatePart]) -> set[date]:
    """Return the dates that a run with the name of a month can be."""
    places = [place for place, part in enumerate(run) if part.is_month]
    if len(places) != 1:
        return set()
    month, before, after = run[places[0]].digits, run[: places[0]], run[places[0] + 1 :]
    if before and len(_join(before)) == 4 and not before[-1].is_day:
        return _build_dates([(_join(before), month, _join(after))])
    if before:
        return _build_dates([(_join(after), month, _join(before))])
    splits = [
        (_join(after[split:]), month, _join(after[:split]))
        for split in range(1, len(after))
        if not any(part.is_day for part in after[split:])
    ]
    if len(after) == 1 and len(after[0].digits) in (5, 6):  # March 21985 is a day and a year without a space
        splits.append((after[0].digits[-4:], month, after[0].digits[:-4]))
    return _build_dates([split for split in splits if len(split[0]) == 4]) or _build_dates(splits)


def _read_numbers(run: Sequence[_DatePart]) -> set[date]:
    """Return the dates that numbers can be: month, day and year, or year, month and day."""
    digits = [part.digits for part in run]
    joined = "".join(digits)
    if len(digits) == 3 and len(digits[0]) == 4:
        return _build_dates([(digits[0], digits[1], digits[2])])
    if len(digits) == 3:
        return _build_dates([(digits[2], digits[0], digits[1])])
    if len(joined) == 8:
        month_first = _build_dates([(joined[4:], joined[:2], joined[2:4])])
        return month_first or _build_dates([(joined[:4], joined[4:6], joined[6:])])
    if len(digits) == 1 and len(joined) == 6:
        return _build_dates([(joined[4:], joined[:2], joined[2:4])])
    splits = [
        ("".join(digits[second:]), "".join(digits[:first]), "".join(digits[first:second]))
        for first in range(1, len(digits) - 1)
        for second in range(first + 1, len(digits))
    ]
    return _build_dates([split for split in splits if len(split[0]) == 4])


def _join(parts: Sequence[_DatePart]) -> str:
    return "".join(part.digits for part in parts)


def _build_dates(splits: Sequence[tuple[str, str, str]]) -> set[date]:
    """Return the dates among some years, months and days."""
    return {day for year, month, day_of_month in splits if (day := _build_date(year, month, day_of_month)) is not None}


def _build_date(year: str, month: str, day: str) -> date | None:
    if len(year) not in (2, 4) or not 1 <= len(month) <= 2 or not 1 <= len(day) <= 2:
        return None
    first, last = (MIN_YEAR, MAX_YEAR) if len(year) == 4 else (FIRST_SHORT_YEAR, FIRST_SHORT_YEAR + 99)
    return next((each for each in list_days(year, int(month), int(day)) if first <= each.year <= last), None)
