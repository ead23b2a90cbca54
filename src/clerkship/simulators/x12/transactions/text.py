"""Encode texts, names, dates, amounts and quantities as elements of a reply.

Text is cleaned before it is cut, because a character may become several: `ß` becomes `ss`.
"""

from datetime import date

from clerkship.formats.x12.charset import clean_value
from clerkship.formats.x12.dates import parse_date
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.writer import SetWriter

MAX_NAME = 60
MAX_GIVEN_NAME = 35
MAX_MIDDLE_NAME = 25
MAX_PLAN_NAME = 50
MAX_MESSAGE = 264
MAX_REFERENCE = 50


def render_name(name: str, max_length: int = MAX_NAME) -> str:
    """Return the name of a person, an organization or a plan in capital letters, as payers write them."""
    return " ".join(clean_value(name).split())[:max_length].upper()


def render_message(text: str) -> str:
    """Return free text for MSG01, on one line and cut to its length."""
    return " ".join(clean_value(text).split())[:MAX_MESSAGE]


def render_decimal(value: float | None) -> str:
    """Return a number as an element of type R, without zeros that say nothing: `25`, `12.5`, `.2`. None is empty."""
    if value is None:
        return ""
    digits = f"{value:.4f}".rstrip("0").rstrip(".")
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    return sign + (digits[1:] if digits.startswith("0.") else digits)


def parse_decimal(text: str) -> float | None:
    """Return the number of an element of type R; None if it is empty or not a number."""
    try:
        return float(text) if text else None
    except ValueError:
        return None


def render_date(day: date) -> str:
    """Return a day as eight digits."""
    return f"{day.year:04}{day.month:02}{day.day:02}"


def read_period(loop: Loop | None, *qualifiers: str) -> tuple[date | None, date | None]:
    """Return the first and last day of the first DTP of a loop with one of the qualifiers, tried in their order."""
    dates = {} if loop is None else {each.raw(1): each.raw(3) for each in reversed(loop.segments_with_id("DTP"))}
    for qualifier in qualifiers:
        if qualifier in dates:
            start, _, end = dates[qualifier].partition("-")
            first = parse_date(start)
            return first, parse_date(end) if end else first
    return None, None


def write_period(writer: SetWriter, qualifier: str, start: date | None, end: date | None = None) -> None:
    """Write a DTP with a period, or with one day if it has no other end; nothing if there is no day."""
    if start is None:
        return
    if end is None or end == start:
        writer.add("DTP", qualifier, "D8", render_date(start))
    else:
        writer.add("DTP", qualifier, "RD8", f"{render_date(start)}-{render_date(end)}")
