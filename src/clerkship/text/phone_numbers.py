"""Phone numbers in the notations in which they are written."""

from clerkship.model.conversation_key import normalize_phone

_LENGTH = len("+15550100123")


def list_phone_digits(text: str) -> tuple[str, ...]:
    """Return the digits of a number as they are compared: first the whole, then without the `1` of North America."""
    number = normalize_phone(text)
    digits = "".join(filter(str.isdigit, number or text))
    return (digits, digits[1:]) if number and number.startswith("+1") and len(number) == _LENGTH else (digits,)


def list_phone_forms(text: str) -> tuple[str, ...]:
    """Return a number of North America that is written with `+1` in its usual notations; another text as it is."""
    number = normalize_phone(text) if text.startswith("+1") else None
    if number is None or len(number) != _LENGTH:
        return (text,)
    area, exchange, line = number[2:5], number[5:8], number[8:]
    forms = (number[2:], f"{area}-{exchange}-{line}", f"({area}) {exchange}-{line}", f"{area}.{exchange}.{line}")
    return text, *(f"{prefix}{form}" for form in forms for prefix in ("", "1", "1-", "1 ", "1.", "+1"))
