"""Dates of requests and replies: days (D8) and periods (RD8)."""

from datetime import date

from clerkship.formats.x12.dates import is_date
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.writer import SetWriter


def parse_date(text: str) -> date | None:
    """Return the day that eight digits give; None if they give none."""
    return date(int(text[:4]), int(text[4:6]), int(text[6:])) if is_date(text) else None


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
