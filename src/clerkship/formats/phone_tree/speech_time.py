"""How long a text takes to say."""

import re
from functools import lru_cache

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
