"""Digits that are said where a line asks for an entry, and how one of them is misheard."""

import re
from random import Random  # noqa: TID251  (the type alone; the generator is handed in)

DIGITS = "0123456789"
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_DIGIT = re.compile(rf"\d|\b(?:{'|'.join(WORDS)}|oh)\b", re.IGNORECASE | re.ASCII)


def count_digits(text: str) -> int:
    """Return how many digits are said, as words or as figures."""
    return sum(1 for _ in _DIGIT.finditer(text))


def replace_digit(text: str, rng: Random) -> str:
    """Return the text with one of its digits replaced by another: a word by a word, and a figure by a figure."""
    digit = rng.choice(list(_DIGIT.finditer(text)))
    word = digit.group().lower()
    others = [each for each in (DIGITS if word in DIGITS else WORDS) if each != ("zero" if word == "oh" else word)]
    return f"{text[: digit.start()]}{rng.choice(others)}{text[digit.end() :]}"
