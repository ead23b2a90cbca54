"""What a line says: prompts with values, such as `{name}` or `{name|digits}`, and how long a text takes to say."""

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from clerkship.text.spoken_words import MONTH_NAMES, PHONETIC_ALPHABET

_PLACE = re.compile(r"\{([a-z][a-z0-9_]*)(?:\|([a-z_]+))?\}")
_BRACE = re.compile(r"[{}]")


def render_prompt(text: str, values: Mapping[str, str]) -> str:
    """Return a prompt with its values. A value that is not set yet is left out."""
    if "{" not in text:
        return text
    return _PLACE.sub(lambda place: _render_value(values.get(place[1], ""), place[2]), text)


def find_names(text: str) -> tuple[str, ...]:
    """Return the names of the values in a prompt, each once, in order."""
    return tuple(dict.fromkeys(place[1] for place in _PLACE.finditer(text)))


def check_prompt(text: str) -> None:
    """Raise ValueError if a prompt has an unknown filter, or braces that do not enclose a name."""
    for place in _PLACE.finditer(text):
        if place[2] is not None and place[2] not in FILTERS:
            expected = ", ".join(FILTERS)
            raise ValueError(f"unknown filter `{place[2]}` in `{place[0]}` (expected: {expected})")
    rest = _PLACE.sub(lambda place: " " * len(place[0]), text)
    brace = _BRACE.search(rest)
    if brace is not None:
        excerpt = text[max(brace.start() - 10, 0) : brace.start() + 20]
        raise ValueError(
            f"`{brace[0]}` at character {brace.start() + 1} is not part of a value, near `{excerpt}` "
            "(expected: `{name}` or `{name|filter}`, a name in lower case)"
        )


def _render_value(value: str, filter: str | None) -> str:
    return FILTERS[filter](value) if filter is not None and filter in FILTERS else value


def _spell_characters(value: str) -> str:
    """Return letters and digits one by one: `4, 1, 2`; of several values, with `and` between them."""
    return " and ".join(", ".join(char for char in part if char.isalnum()) for part in value.split(", "))


def _spell_letters(value: str) -> str:
    """Return letters with their code words, and digits one by one: `C as in Charlie, 4`."""
    characters = [char.upper() for char in value if char.isalnum()]
    return ", ".join(
        f"{char} as in {PHONETIC_ALPHABET[char].title()}" if char in PHONETIC_ALPHABET else char for char in characters
    )


def _write_date(value: str) -> str:
    """Return an ISO date as it is said: `March 2, 2026`; another value as it is."""
    try:
        day = date.fromisoformat(value[:10])
    except ValueError:
        return value
    return f"{MONTH_NAMES[day.month - 1]} {day.day}, {day.year}"


def _write_money(value: str) -> str:
    """Return an amount in dollars: `$1,240.50`; another value as it is."""
    try:
        amount = Decimal(value.replace(",", "").removeprefix("$"))
    except InvalidOperation:
        return value
    if not amount.is_finite() or abs(amount) >= 10**12:
        return value
    amount = amount.quantize(Decimal("0.01"))
    return f"{'-' if amount < 0 else ''}${abs(amount):,.2f}"


FILTERS: dict[str, Callable[[str], str]] = {
    "digits": _spell_characters,
    "letters": _spell_letters,
    "date": _write_date,
    "money": _write_money,
}


SECONDS_PER_WORD = 0.36
SECONDS_PER_SPELLED_CHARACTER = 0.45
"""A digit or a letter that is read on its own."""
SECONDS_PER_PAUSE = 0.3
"""At a comma, a full stop or a similar sign."""
MIN_SECONDS = 0.4
MAX_ORDINARY_WORD = 40
"""Characters of an ordinary word. Beyond that, text without spaces takes time by its length."""
SECONDS_PER_FURTHER_CHARACTER = 0.06
"""After `MAX_ORDINARY_WORD`: that of a word, divided by its usual length and the space."""
MAX_CACHED_LENGTH = 1_000
"""Characters of a text whose time is remembered: prompts are said again and again."""
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*", re.UNICODE)
_PAUSE = re.compile(r"[,.;:!?](?=\s|$)")


def measure_speech(text: str) -> float:
    """Return how many seconds a text takes to say, rounded to hundredths; 0 for an empty text."""
    return _measure_cached(text) if len(text) <= MAX_CACHED_LENGTH else _measure(text)


def _measure(text: str) -> float:
    words = _WORD.findall(text)
    if not words:
        return 0.0
    seconds = sum(_measure_word(word) for word in words) + SECONDS_PER_PAUSE * len(_PAUSE.findall(text))
    return round(max(seconds, MIN_SECONDS), 2)


_measure_cached = lru_cache(maxsize=1_000)(_measure)


def split_heard(text: str, seconds: float) -> str:
    """Return the words of a text that are said completely within some seconds, and the said part of a long one."""
    left, end = seconds, 0
    for match in _WORD.finditer(text):
        duration = _measure_word(match[0])
        if duration > left:
            characters = _count_said(match[0], left)
            return text[: match.start() + characters] if characters else text[:end].rstrip()
        left, end = left - duration, match.end()
        pause = _PAUSE.match(text, end)
        if pause is not None:
            left, end = left - SECONDS_PER_PAUSE, pause.end()
    return text


def _measure_word(word: str) -> float:
    if word.isdigit() or len(word) == 1:
        return SECONDS_PER_SPELLED_CHARACTER * len(word)
    return SECONDS_PER_WORD + SECONDS_PER_FURTHER_CHARACTER * max(0, len(word) - MAX_ORDINARY_WORD)


def _count_said(word: str, seconds: float) -> int:
    """Return how many characters of a long word are said within some seconds; 0 for other words."""
    if len(word) <= MAX_ORDINARY_WORD or seconds < SECONDS_PER_WORD:
        return 0
    if word.isdigit():
        return int(seconds / SECONDS_PER_SPELLED_CHARACTER)
    return MAX_ORDINARY_WORD + int((seconds - SECONDS_PER_WORD) / SECONDS_PER_FURTHER_CHARACTER)
