"""Read what a caller entered: dates, numbers and references, as phone trees and representatives store them."""

import re
from datetime import date, datetime

_NOT_A_LETTER_OR_DIGIT = re.compile(r"[\W_]+")
_DATE_FORMS = ("%Y-%m-%d", "%m%d%Y", "%m/%d/%Y", "%Y%m%d")
MAX_DATE_LENGTH = 10


def read_date(text: str) -> date | None:
    """Return a date in ISO form, or as eight digits with the month first; None if the text is no date."""
    text = text.strip()
    if len(text) > MAX_DATE_LENGTH or not text.isascii():
        return None
    for form in _DATE_FORMS:
        try:
            return datetime.strptime(text, form).date()
        except ValueError:
            continue
    return None


def normalize_reference(text: str) -> str:
    """Return a reference number as it is compared: without spaces and hyphens, in upper case."""
    return _NOT_A_LETTER_OR_DIGIT.sub("", text).upper()


def is_same_reference(asked: str, known: str | None) -> bool:
    """Return whether a caller means a number on file. The keypad has no letters, so the digits alone are enough."""
    if not known:
        return False
    entered, filed = normalize_reference(asked), normalize_reference(known)
    return bool(entered) and entered in (filed, "".join(each for each in filed if each.isdigit()))
