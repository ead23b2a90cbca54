"""Dates that a caller says or types."""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from clerkship.text.dates import list_days
from clerkship.text.spoken_words import (
    CORRECTIONS,
    FACTORS,
    HESITATIONS,
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
