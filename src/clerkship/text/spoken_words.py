"""Numbers, months and letters as they are said, and the words of a caller: `tables/spoken_words.json`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from clerkship.text.folding import fold

_TABLE: Mapping[str, Any] = orjson.loads((Path(__file__).parent / "tables" / "spoken_words.json").read_bytes())


def _read_row(name: str, first: int, step: int = 1) -> dict[str, int]:
    return {word: first + step * place for place, word in enumerate(_TABLE[name].split())}


UNITS = _read_row("units", 0) | {"oh": 0, "nought": 0}
TEENS = _read_row("teens", 10)
TENS = _read_row("tens", 20, 10) | {"fourty": 40}
ORDINALS = _read_row("ordinals", 1) | {"thirtieth": 30}
NUMBER_WORDS = UNITS | TEENS | TENS
FACTORS = {"hundred": 100, "thousand": 1_000}
REPEATS: Mapping[str, int] = _TABLE["repeats"]
"""Words before a digit that is said once for several: `double two`."""
MONTHS = {name: number for number, names in enumerate(_TABLE["months"], 1) for name in names.split()}
"""Months in English, Spanish, German and French, and their short forms, without accents."""
MONTH_PATTERN = "|".join(sorted(MONTHS, key=len, reverse=True))
MONTH_NAMES = tuple(names.partition(" ")[0].title() for names in _TABLE["months"])
"""English names, independent of the locale."""
PHONETIC_ALPHABET = {word[0].upper(): word for word in _TABLE["alphabet"].split()}
"""The NATO code words of letters."""
CODE_WORDS: Mapping[str, str] = {
    **{word: letter for letter, word in PHONETIC_ALPHABET.items()},
    **_TABLE["alphabet_spellings"],
}
"""Code word -> letter, with other spellings."""
LETTER_NAMES: Mapping[str, str] = _TABLE["letter_names"]
"""Name of a letter -> letter: `aitch`."""
SHORT_LETTER_NAMES: Mapping[str, str] = _TABLE["short_letter_names"]
"""Words that sound as a letter, and are one only within a code: `see`."""
HESITATIONS = frozenset(_TABLE["hesitations"].split())
CORRECTIONS = frozenset(_TABLE["corrections"].split())
"""Words after which a caller says again what they got wrong."""
_TOKEN = re.compile(r"[a-z0-9]+")


def to_word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


def fold_speech(text: str) -> str:
    """Return a text in lower case, without accents and apostrophes."""
    return fold(text).replace("'", "").casefold()


def split_words(text: str) -> list[str]:
    """Return the words and numbers of a text, folded."""
    return _TOKEN.findall(fold_speech(text))


def list_ordinals(number: int) -> tuple[str, str]:
    """Return a number below a hundred as `24th` and `twenty-fourth`."""
    ending = "th" if 10 < number < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    words = {value: word for word, value in ORDINALS.items()}
    tens = {value: word for word, value in TENS.items()}.get(number - number % 10, "")
    return f"{number}{ending}", words.get(number) or f"{tens}-{words[number % 10]}"


def read_number_below_hundred(
    words: Sequence[str], start: int, *, with_ordinals: bool = False
) -> tuple[int, int] | None:
    """Return a number from 0 to 99 that is said in words, and how many words it takes; None if there is none."""
    word, following = (*words[start : start + 2], "", "")[:2]
    ordinals = ORDINALS if with_ordinals else {}
    if word in TENS:
        unit = UNITS.get(following, 0) or ordinals.get(following, 0)
        return (TENS[word] + unit, 2) if 0 < unit < 10 else (TENS[word], 1)
    value = NUMBER_WORDS.get(word, ordinals.get(word))
    return None if value is None else (value, 1)


def read_number(words: Sequence[str], start: int, *, with_ordinals: bool = False) -> tuple[int, int] | None:
    """Return a number that is said in words, such as `twelve hundred forty`, and how many words it takes."""
    number = read_number_below_hundred(words, start, with_ordinals=with_ordinals)
    factor = FACTORS.get(_get_word(words, start + number[1])) if number is not None and number[0] else None
    if number is None or factor is None:
        return number
    value, count = number[0] * factor, number[1] + 1
    place = start + count + (_get_word(words, start + count) == "and")
    rest = read_number_below_hundred(words, place, with_ordinals=with_ordinals)
    if rest is not None and factor == 1_000 and _get_word(words, place + rest[1]) == "hundred":
        rest = read_number(words, place, with_ordinals=with_ordinals)
    return (value, count) if rest is None else (value + rest[0], place + rest[1] - start)


def _get_word(words: Sequence[str], place: int) -> str:
    return words[place] if place < len(words) else ""
