"""The current date in the requests of an agent, which differs in every run."""

import re
from collections.abc import Iterator, Set
from datetime import date
from functools import lru_cache


def hide_current_date(text: str, days: Set[date]) -> str:
    """Replace each day, and a weekday beside it, by a label.

    Each way of writing a date has its own label, so that a changed prompt is another request. A month's short name
    counts as its long one, and `5` as `05`, because on some days they are equal.
    """
    if not any(str(day.year) in text for day in days):
        return text
    for pattern, label in _list_patterns(frozenset(days)):
        text = pattern.sub(label, text)
    return text


@lru_cache(8)
def _list_patterns(days: frozenset[date]) -> tuple[tuple["re.Pattern[str]", str], ...]:
    dates = [
        (re.compile(rf"(?<!\d)(?:{written})(?!\d)"), label)
        for day in sorted(days)
        for written, label in _list_spellings(day)
    ]
    weekdays = [
        (re.compile(rf"{before}(?:{'|'.join(sorted({format(day, code) for day in days}))}){after}"), label)
        for code, name in (("%A", "[weekday]"), ("%a", "[short weekday]"))
        for before, after, label in (
            ("", r"(?=,? {1,2}\(?\[today)", name),
            (r"(\[today[^]]*\](?:,? | \())", "(?![a-z])", rf"\1{name}"),
        )
    ]
    return (*dates, *weekdays)


def _list_spellings(day: date) -> Iterator[tuple[str, str]]:
    """Yield the ways of writing a date, as patterns, and their labels."""
    year, number, month, long = day.year, f"0?{day.day}", f"0?{day.month}", format(day, "%B")
    name = rf"(?:{long}|{long[:4]}|{day:%b})\.?"
    yield day.isoformat(), "[today]"
    yield f"{year}/{month}/{number}", "[today with the year first]"
    yield f"(?:{month}/{number}|{number}/{month})/{year}", "[today with slashes]"
    yield rf"{number}\.{month}\.{year}", "[today with dots]"
    yield rf"{name} {{1,2}}{number}(?:st|nd|rd|th)?,? {year}", "[today with the month first]"
    yield rf"{number}(?:st|nd|rd|th)?[ -](?:of )?{name},?[ -]{year}", "[today with the day first]"
