"""Encode texts, names, amounts and quantities as elements of a reply.

Text is cleaned before it is cut, because a character may become several: `ß` becomes `ss`.
"""

from clerkship.formats.x12.charset import clean_value

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
