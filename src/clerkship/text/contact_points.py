"""E-mail addresses in a text, written or spelled, and phone numbers in the notations in which they are written."""

import re
from collections.abc import Iterator

from clerkship.model.conversation_key import normalize_address, normalize_phone
from clerkship.text.folding import fold

EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
"""Every repetition is bounded, because an agent's text may be built to be slow to match."""
_SPELLED = re.compile(
    r"(?<![\w.+-])([\w.+-]{1,64}) ?(?:\(at\)|\[at\]| at ) ?([\w-]{1,63}) ?(?:\(dot\)|\[dot\]| dot |\.) ?([a-z]{2,10})\b"
)


def normalize_email(address: str) -> str:
    """Return an address as it is compared: folded, by the rule for the keys of conversations."""
    return normalize_address("email", fold(address).rstrip("."))


def find_emails(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the addresses in a text in lower case, each with its start and end: also `ana (at) example dot org`."""
    if "@" in text:
        yield from ((normalize_email(match[0]), *match.span()) for match in EMAIL.finditer(text))
    if " at " in text or "at)" in text or "at]" in text:
        for match in _SPELLED.finditer(text):
            yield normalize_email(f"{match[1]}@{match[2]}.{match[3]}"), *match.span()


_LENGTH = len("+15550100123")
_NATIONAL = re.compile(r"0\d{6,}")
"""A number with the `0` that is dialed within its country, instead of the code of the country."""


def list_phone_digits(text: str) -> tuple[str, ...]:
    """Return the digits of a number as they are compared: first the whole, then without the `1` of North America."""
    number = normalize_phone(text)
    digits = "".join(filter(str.isdigit, number or text))
    return (digits, digits[1:]) if number and number.startswith("+1") and len(number) == _LENGTH else (digits,)


def is_same_phone(one: str, other: str) -> bool:
    """Return whether two texts are the same number; one may be written as in its country: 020 7946 0958."""
    short, long = sorted((list_phone_digits(text)[0].removeprefix("00") for text in (one, other)), key=len)
    if short == long:
        return bool(short)
    return _NATIONAL.fullmatch(short) is not None and re.fullmatch(rf"[1-9]\d{{0,2}}{short[1:]}", long) is not None


def list_phone_forms(text: str) -> tuple[str, ...]:
    """Return a number of North America that is written with `+1` in its usual notations; another text as it is."""
    number = normalize_phone(text) if text.startswith("+1") else None
    if number is None or len(number) != _LENGTH:
        return (text,)
    area, exchange, line = number[2:5], number[5:8], number[8:]
    forms = (number[2:], f"{area}-{exchange}-{line}", f"({area}) {exchange}-{line}", f"{area}.{exchange}.{line}")
    return text, *(f"{prefix}{form}" for form in forms for prefix in ("", "1", "1-", "1 ", "1.", "+1"))
