"""How long a text takes to say."""

import re

SECONDS_PER_WORD = 0.36
SECONDS_PER_SPELLED_CHARACTER = 0.45
"""A digit or a letter that is read on its own."""
SECONDS_PER_PAUSE = 0.3
"""At a comma, a full stop or a similar sign."""
MIN_SECONDS = 0.4
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*", re.UNICODE)
_PAUSE = re.compile(r"[,.;:!?](?=\s|$)")


def measure_speech(text: str) -> float:
    """Return how many seconds a text takes to say, rounded to hundredths; 0 for an empty text."""
    words = _WORD.findall(text)
    if not words:
        return 0.0
    seconds = sum(_measure_word(word) for word in words) + SECONDS_PER_PAUSE * len(_PAUSE.findall(text))
    return round(max(seconds, MIN_SECONDS), 2)


def split_heard(text: str, seconds: float) -> str:
    """Return the words of a text that are said completely within some seconds."""
    left, end = seconds, 0
    for match in _WORD.finditer(text):
        left -= _measure_word(match[0])
        if left < 0:
            return text[:end].rstrip()
        end = match.end()
        pause = _PAUSE.match(text, end)
        if pause is not None:
            left, end = left - SECONDS_PER_PAUSE, pause.end()
    return text


def _measure_word(word: str) -> float:
    if word.isdigit() or len(word) == 1:
        return SECONDS_PER_SPELLED_CHARACTER * len(word)
    return SECONDS_PER_WORD
