"""Parse quantities in text: numbers with units, normalized so that `400 mg` equals `four hundred milligrams`."""

import math
import re
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import orjson

from clerkship.text.dates import find_plain_dates, find_short_dates
from clerkship.text.folding import fold
from clerkship.text.spoken_words import FACTORS, MONTH_PATTERN, NUMBER_WORDS

UNIT_WORDS = Path(__file__).parent / "unit_words.json"
"""Units, and synonyms of each."""
_UNITS = {word: unit for unit, words in orjson.loads(UNIT_WORDS.read_bytes()).items() for word in (unit, *words)}
_SCALES = {"dozen": 12, **FACTORS}
_SPELLED = "|".join(word for word in (*NUMBER_WORDS, *_SCALES) if word not in ("oh", "nought"))
_SPELLED_NUMBER = re.compile(rf"\b(?:{_SPELLED})(?:[\s-]+(?:and[\s-]+)?(?:{_SPELLED}))*\b")
_MAX_SPELLED_NUMBER = 10**9
_MAX_PROSE_NUMBER = 12
"""`two records` is ordinary prose; `two tablets` and `fifty` are quantities."""
_FREQUENCIES = (
    (re.compile(r"\btwice\b|\bb\.?i\.?d\b\.?"), "2 times"),
    (re.compile(r"\bthrice\b|\bt\.?i\.?d\b\.?"), "3 times"),
    (re.compile(r"\bq\.?i\.?d\b\.?"), "4 times"),
    (re.compile(r"\bq\.?\s?(\d+)\.?\s?h(?:rs?|ours?)?\b"), r"\1 hours"),
)
_YEAR = r"(?:19|20)\d\d"
_TIMESTAMPS = re.compile(
    rf"\b{_YEAR}-\d\d(?:-\d\d)?(?:[t ]\d\d:\d\d[\d:.]*)?(?:z|[+-]\d\d:?\d\d)?\b"
    rf"|\b{_YEAR}[01]\d[0-3]\d(?:\d{{4,6}}(?:[+-]\d{{4}})?)?\b"
    r"|\b\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\b\.?)?"
    r"|\b\d{1,2}\s?[ap]\.?m\b\.?"
    r"|\b(?:[01]?\d|2[0-4])h[0-5]\d\b"
)
"""Times, also those of FHIR and HL7 with their dates, and months in digits."""
_NUMBER = re.compile(
    r"(?<![a-z_\d.])(?<![a-wyz]-)"
    r"(?:\d{1,3}(?:[, ]\d{3})+(?!(?: \d{3}){0,2}[ -]\d{4}\b)(?:\.\d+)?|\d+(?:\.\d+)?(?:e\d{1,2}\b)?|\.\d+)(?![\d])"
)
"""The groups of a phone number (`1 555 010 0142`) are numbers of their own, not thousands."""
_TIMES_SIGN = re.compile(r"\bx ?-?(?=\d)|×")
_YEAR_CONTEXT = re.compile(
    r"\b(?:in|since|of|from|until|till|by|year|during|before|after|and|to|or)\s$|[(/;–-]\s?$"
    rf"|\b(?:{MONTH_PATTERN})[.,]?\s$"
)
"""Text before a year. `take 2000 at once` is a quantity."""
_SEPARATORS = re.compile(r"[|^~&]")
_WORD = re.compile(r" ?-? ?([a-zµ%{\[][a-zµ%/\[\]{}^]*)")
_MAX_ADJECTIVES = 2
"""The most words between a number and its unit, as in `400 oral tablets`."""
_STOP_WORD_TEXT = """
a an and as at before below above by for from in into is on or over than the to until was with
"""
_STOP_WORDS = frozenset(_STOP_WORD_TEXT.split())
"""Words after which no unit of the number before them can follow."""
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_IDENTIFIER = re.compile(r"\d{8,9}")
"""An identifier if no unit follows: no dose has so many digits, and a phone number has seven, ten or eleven."""


class ParsedQuantity(NamedTuple):
    """A number and its unit. The unit is empty if no known unit follows the number."""

    number: float
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.number:g} {self.unit}".strip()


def normalize_unit(text: str) -> str:
    """Return the common spelling of a unit (`mg/dL` -> `mg/dl`, `Tablets` -> `tablet`).

    Return an empty text if it is not a known unit.
    """
    parts = [part.strip(" .,{}") for part in text.casefold().split("/")]
    known = [_UNITS.get(part) or _UNITS.get(part.strip("[]")) for part in parts]
    if not known[0]:
        return ""
    return "/".join(unit or part for unit, part in zip(known, parts, strict=True))


def find_quantities(text: str) -> Iterator[ParsedQuantity]:
    """Yield every number in a text that is not part of a date, a time or a code, and not an ordinal or identifier.

    Takes time linear in the length of the text, since an agent may have written it.
    """
    text = " ".join(_SEPARATORS.sub(" ", text.casefold()).split())
    text = _TIMES_SIGN.sub(" ", fold(text))
    text = _TIMESTAMPS.sub(" ; ", text).replace(" per ", "/").replace("mm hg", "mmhg")
    for pattern, digits in _FREQUENCIES:
        text = pattern.sub(digits, text)
    text = _remove_dates(_SPELLED_NUMBER.sub(_to_digits, text))
    for match in _NUMBER.finditer(text):
        unit = _find_unit(text, match.end())
        if unit or not (_ORDINAL.match(text, match.end()) or _is_year(match) or _IDENTIFIER.fullmatch(match[0])):
            yield ParsedQuantity(to_float(match[0].replace(",", "").replace(" ", "")), unit)


def _is_year(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 12) : match.start()]
    return bool(re.fullmatch(_YEAR, match[0]) and (not before.strip() or _YEAR_CONTEXT.search(before)))


def to_float(number: float | str) -> float:
    """Return a number as a float; infinity if it is too large."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _remove_dates(text: str) -> str:
    """Remove the dates, except where a unit follows: `may 40 tablets` is not a date."""
    parts: list[str] = []
    end = 0
    dates = [*find_plain_dates(text), *(date for date in find_short_dates(text) if date.is_certain)]
    for date in sorted(dates, key=attrgetter("start")):
        if date.start >= end and not _find_unit(text, date.end):
            parts += (text[end : date.start], " ; ")
            end = date.end
    return "".join((*parts, text[end:]))


def _find_unit(text: str, place: int) -> str:
    """Return the unit of a number that ends at a position, with up to two adjectives between (`400 oral tablets`)."""
    for _ in range(_MAX_ADJECTIVES + 1):
        match = _WORD.match(text, place)
        if match is None or match[1] in _STOP_WORDS:
            return ""
        if unit := normalize_unit(match[1]):
            return unit
        place = match.end()
    return ""


def _to_digits(match: re.Match[str]) -> str:
    total = part = 0
    for word in re.findall(rf"\b(?:{_SPELLED})\b", match[0]):
        if word == "thousand":
            total, part = total + (part or 1) * 1000, 0
        elif word in _SCALES:
            part = min((part or 1) * _SCALES[word], _MAX_SPELLED_NUMBER)
        else:
            part += NUMBER_WORDS[word]
    value = total + part
    return str(value) if value > _MAX_PROSE_NUMBER or _find_unit(match.string, match.end()) else match[0]
