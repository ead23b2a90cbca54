"""Dates as they are typed in a form."""

import re
from datetime import date

from clerkship.simulators.portal.config import DateFormat
from clerkship.text.dates import find_plain_dates, parse_date, parse_iso_date

MAX_DATE_LENGTH = 30
DATE_WORDS: dict[DateFormat, str] = {"any": "such as 03/06/2026", "MM/DD/YYYY": "as MM/DD/YYYY, such as 03/06/2026"}
"""How a date is to be written, in words."""
_STRICT = re.compile(r"[0-9]{2}/[0-9]{2}/[0-9]{4}")


def read_typed_date(text: str, date_format: DateFormat = "any") -> date | None:
    """Return a typed date with its year, the month before the day; None if it is none, or not in the format.

    With `any` it is written with signs or the name of the month: 3/6/2026, 2026-03-06 or March 6, 2026.
    """
    text = text.strip().lower()
    if len(text) > MAX_DATE_LENGTH or (date_format != "any" and not _STRICT.fullmatch(text)):
        return None
    is_whole = [(each.start, each.end, each.has_year) for each in find_plain_dates(text)] == [(0, len(text), True)]
    return parse_iso_date(parse_date(text)) if is_whole else None
