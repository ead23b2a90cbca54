"""Dates and times as X12 writes them."""

import re
from datetime import date

from clerkship.text.dates import parse_iso_date

_TIME = re.compile(r"([01][0-9]|2[0-3])[0-5][0-9]([0-5][0-9]([0-9]{1,2})?)?")


def parse_date(text: str) -> date | None:
    """Return the day that eight digits give; None if they give none."""
    return parse_iso_date(text, or_digits=True) if len(text) == len("CCYYMMDD") else None


def is_date(text: str) -> bool:
    """Return whether a text is a date in the form CCYYMMDD (D8)."""
    return parse_date(text) is not None


def is_time(text: str) -> bool:
    """Return whether a text is a time in the form HHMM, HHMMSS, HHMMSSD or HHMMSSDD (TM)."""
    return _TIME.fullmatch(text) is not None
