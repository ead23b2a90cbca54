"""Read what a caller entered: dates, numbers and references, as phone trees and representatives store them."""

import re
from datetime import date

from clerkship.formats.phone_tree.spoken_date import parse_date
from clerkship.text.dates import parse_iso_date

_NOT_A_LETTER_OR_DIGIT = re.compile(r"[\W_]+")
MAX_DATE_LENGTH = 10


def read_date(text: str) -> date | None:
    """Return a date in ISO form, or as eight digits with the month first; None if the text is no date."""
    return parse_iso_date(parse_date(text)) if len(text.strip()) <= MAX_DATE_LENGTH else None


def normalize_reference(text: str) -> str:
    """Return a reference number as it is compared: without spaces and hyphens, in upper case."""
    return _NOT_A_LETTER_OR_DIGIT.sub("", text).upper()


def is_same_reference(asked: str, known: str | None) -> bool:
    """Return whether a caller means a number on file. The keypad has no letters, so the digits alone are enough."""
    if not known:
        return False
    entered, filed = normalize_reference(asked), normalize_reference(known)
    return bool(entered) and entered in (filed, "".join(each for each in filed if each.isdigit()))
