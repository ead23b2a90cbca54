"""Dates and times as X12 writes them."""

import re
from datetime import date

_DATE = re.compile(r"[0-9]{8}")
_TIME = re.compile(r"([01][0-9]|2[0-3])[0-5][0-9]([0-5][0-9]([0-9]{1,2})?)?")


def is_date(text: str) -> bool:
    """Return whether a text is a date in the form CCYYMMDD (D8)."""
    if not _DATE.fullmatch(text):
        return False
    try:
        date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return False
    return True


def is_time(text: str) -> bool:
    """Return whether a text is a time in the form HHMM, HHMMSS, HHMMSSD or HHMMSSDD (TM)."""
    return _TIME.fullmatch(text) is not None
