"""Find values in what was said: numbers and dates in any spoken form, and words without regard to case."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from clerkship.text.dates import WrittenDate, find_dates, find_plain_dates, find_short_dates, parse_iso_date
from clerkship.text.folding import fold, read_signs_as_letters, remove_hesitations
from clerkship.text.respelled_text import RespelledText, SpokenToken
from clerkship.text.spoken_reading import SpokenReading, ValueForm
from clerkship.text.spoken_words import CODE_WORDS, NUMBER_WORDS, REPEATS, read_number
from clerkship.text.times import WrittenTime, find_times, parse_time

MAX_VALUES = 100
MAX_VALUE = 500
"""Characters of one value."""
MAX_EXCERPT = 160
Alternatives = tuple[str, ...]
"""Wordings of one value; one of them is enough."""
_TOKEN = re.compile(r"\d{1,6}\.\d{1,3}(?!\.?\d)|\d+(?=(?:st|nd|rd|th)\b)|\d+|[^\W\d_]+(?:['’][^\W\d_]+)*")
_ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
_MAX_NUMBER_WORDS = 10
"""Words of one number: `twenty-one thousand two hundred and twenty-one`."""
_FIRST_OF_MOMENT = frozenset("-0123456789")
_DAY_WITHOUT_YEAR = re.compile(r"--\d\d-\d\d")
_LEAP_YEAR = "2000"
_SIGN_WORDS = frozenset({"dash", "hyphen", "slash", "dot"})


class SpokenText:
    """What was said, as it is searched: numbers in digits, words in lower case."""

    def __init__(self, text: str) -> None:
        self.plain = fold(text)
        self._readings = _list_readings(self.plain)
        fluent = remove_hesitations(self.plain)
        if fluent != self.plain:
            self._readings += _list_readings(fluent)

    def find(self, value: Alternatives, *, loose: bool = False, start: int = 0) -> tuple[int, int] | None:
        """Return where the first wording of a value is, from a place on; None if it was not said.

        A value is whole words, spelled or in parts too, and a number is not a part of a longer one. With `loose`, for
        what must not be said, the last word may go on (`diabet` is in `diabetes`), digits may be part of a longer row
        of single digits, and digits and signs in words may stand for letters (`d1abetes`). Dates (`2026-03-18`, or
        `--03-18` if the year need not be said) and times (`13:00`) are found in any notation.
        """
        places = [place for each in value for place in self._find_wording(each, loose=loose, start=start)]
        return min(places, default=None)

    def _find_wording(self, value: str, *, loose: bool, start: int) -> Iterator[tuple[int, int]]:
        if value[:1] in _FIRST_OF_MOMENT:
            yield from (place for place in self._find_moment(value, loose=loose) if place[0] >= start)
        for form in _list_forms(value):
            for reading in (*self._readings, *self._disguised) if loose else self._readings:
                place = reading.find(form, loose=loose, start=start)
                if place is not None:
                    yield place

    def _find_moment(self, value: str, *, loose: bool) -> Iterator[tuple[int, int]]:
        """Yield where a date or a time is said."""
        day, minute = parse_iso_date(value), parse_time(value)
        if day is not None:
            yield from self._places_of_dates.get(day, ())
        elif minute is not None:
            for time, place in self.times:
                if minute in time.readings and (time.is_certain or not loose):
                    yield place
        elif _DAY_WITHOUT_YEAR.fullmatch(value) and (day := parse_iso_date(_LEAP_YEAR + value[1:])) is not None:
            wanted = WrittenDate(0, 0, frozenset({day}), is_birth=False, has_year=False)
            yield from (place for written, place in self.days if written.fits(wanted))

    @cached_property
    def days(self) -> list[tuple[WrittenDate, tuple[int, int]]]:
        """The dates that it may mean, with or without a year, and where each is said."""
        return [
            (written, form.locate(written.start, written.end))
            for form in self._forms
            for text in [form.text.lower()]
            for written in (*find_dates(text, is_spoken=True), *find_plain_dates(text), *find_short_dates(text))
        ]

    @cached_property
    def times(self) -> list[tuple[WrittenTime, tuple[int, int]]]:
        """The times of day that it may mean, and where each is said."""
        return [
            (written, form.locate(written.start, written.end))
            for form in self._forms
            for written in find_times(form.text.lower())
        ]

    @cached_property
    def _disguised(self) -> list[SpokenReading]:
        """Further readings, with letters for the digits and signs in words."""
        texts = read_signs_as_letters(remove_hesitations(self.plain))
        return [reading for text in texts for reading in _list_readings(text)]

    @cached_property
    def _places_of_dates(self) -> Mapping[date, list[tuple[int, int]]]:
        """The dates with a year that it may mean, and where each is said."""
        places: dict[date, list[tuple[int, int]]] = {}
        for form in self._forms:
            for written in find_dates(form.text.lower(), is_spoken=True):
                place = form.locate(written.start, written.end)
                for day in written.readings:
                    places.setdefault(day, []).append(place)
        return places

    @property
    def respelled(self) -> str:
        """The text with numbers in digits: `March 14, 1961` for `March fourteenth, nineteen sixty-one`."""
        return self._forms[0].text

    def list_forms(self) -> list[str]:
        """Return the text with numbers in digits; also with letters for code words, and without hesitations."""
        return list(dict.fromkeys(form.text for form in self._forms))

    @cached_property
    def _forms(self) -> list[RespelledText]:
        return [reading.respell() for reading in self._readings]

    def excerpt(self, place: tuple[int, int], around: int = 30) -> str:
        """Return the words at a place, with some before and after it."""
        start, end = max(0, place[0] - around), min(len(self.plain), place[1] + around)
        words = " ".join(self.plain[start:end].split())[:MAX_EXCERPT]
        return f"{'…' if start else ''}{words}{'…' if end < len(self.plain) else ''}"


def _split(plain: str) -> list[SpokenToken]:
    tokens: list[SpokenToken] = []
    for match in _TOKEN.finditer(plain):
        word = match[0].lower().replace("'", "").replace("’", "")
        is_ending = word in _ORDINAL_ENDINGS and tokens and tokens[-1].end == match.start() and tokens[-1].is_number
        if not is_ending:
            tokens.append(SpokenToken(word, match.start(), match.end()))
    return tokens


def _read_numbers(plain: str, words: Sequence[SpokenToken]) -> list[SpokenToken]:
    """Return the tokens with numbers that are said in words as digits."""
    tokens: list[SpokenToken] = []
    place = 0
    while place < len(words):
        text, count = _read_number(plain, words, place)
        if words[place].text in ("oh", "o") and _is_zero(plain, words, place):
            text, count = "0", 1
        token = SpokenToken(text, words[place].start, words[place + count - 1].end)
        is_fraction = len(tokens) > 1 and tokens[-1].text == "point" and tokens[-2].is_number and token.is_number
        if is_fraction and "." not in tokens[-2].text:
            tokens[-2:] = [SpokenToken(f"{tokens[-2].text}.{text}", tokens[-2].start, token.end)]
        else:
            tokens.append(token)
        place += count
    return tokens


def _read_number(plain: str, words: Sequence[SpokenToken], place: int) -> tuple[str, int]:
    """Return the number that begins at a word, in digits, and how many words it takes; or the word itself."""
    word = words[place].text
    if word in REPEATS and place + 1 < len(words) and words[place + 1].text not in REPEATS:
        is_zero = words[place + 1].text == "oh"
        repeated, count = ("0", 1) if is_zero else _read_number(plain, words, place + 1)
        if len(repeated) == 1 and repeated.isalnum():
            return repeated * REPEATS[word], count + 1
    row = [word]
    while len(row) < _MAX_NUMBER_WORDS and (following := _next_word(plain, words, place + len(row) - 1)):
        row.append(following)
    number = read_number(row, 0, with_ordinals=True) if word != "oh" else None
    return (word, 1) if number is None else (str(number[0]), number[1])


def _next_word(plain: str, words: Sequence[SpokenToken], place: int) -> str:
    """Return the word after another one if only a space or a hyphen is between them."""
    if place + 1 >= len(words) or plain[words[place].end : words[place + 1].start].strip(" -"):
        return ""
    return words[place + 1].text


def _is_zero(plain: str, words: Sequence[SpokenToken], place: int) -> bool:
    """Return whether `oh` is next to a digit: in `Oh, four` it is an exclamation."""
    following = _next_word(plain, words, place)
    before = words[place - 1].text if place and _next_word(plain, words, place - 1) else ""
    return any(word[:1].isdigit() or word in NUMBER_WORDS for word in (before, following))


def _read_letters(words: Sequence[SpokenToken]) -> list[SpokenToken]:
    """Return the words with code words as letters: `Mike Bravo`, `M as in Mike`; and without `dash`."""
    tokens: list[SpokenToken] = []
    place = 0
    while place < len(words):
        token = words[place]
        following = [each.text for each in words[place + 1 : place + 4]]
        count = _count_spelling(token.text, following) if len(token.text) == 1 else 0
        if token.text in CODE_WORDS:
            tokens.append(token._replace(text=CODE_WORDS[token.text].lower()))
        elif token.text not in _SIGN_WORDS:
            tokens.append(token._replace(end=words[place + count].end))
        elif tokens:
            tokens[-1] = tokens[-1]._replace(end=token.end)
        place += count + 1
    return tokens


def _count_spelling(letter: str, following: Sequence[str]) -> int:
    """Return how many words after a letter only spell it: three for `M as in Mike`."""
    if following[:2] == ["as", "in"] and len(following) == 3 and following[2].startswith(letter):
        return 3
    is_spelled = following[:1] == ["for"] and len(following) > 1 and CODE_WORDS.get(following[1]) == letter.upper()
    return 2 if is_spelled else 0


def _list_readings(plain: str) -> list[SpokenReading]:
    """Return a text with its numbers in digits; and, if there are code words, with letters for them."""
    words = _split(plain)
    readings = [SpokenReading(plain, _read_numbers(plain, words))]
    texts = [word.text for word in words]
    if any(text in CODE_WORDS or text in _SIGN_WORDS for text in texts) or ("as", "in") in pairwise(texts):
        readings.append(SpokenReading(plain, _read_numbers(plain, _read_letters(words))))
    return readings


@lru_cache(maxsize=4096)
def _list_forms(value: str) -> tuple[ValueForm, ...]:
    """Return a value as it is compared; a phone number also without its country code, and a count after its noun."""
    plain = fold(value)
    form = ValueForm(tuple(token.text for token in _read_numbers(plain, _split(plain))))
    if form.text.isdigit() and len(form.text) == 11 and form.text.startswith("1") and plain.strip().startswith("+"):
        return form, ValueForm((form.text[1:],))
    if form.text.isdigit() and len(form.text) == 10:
        return form, ValueForm((f"1{form.text}",))
    if len(form.words) == 2 and form.words[0].isdigit() and form.words[1].isalpha():
        return form, ValueForm((form.words[1], "times", form.words[0]))  # `refills times two`
    return (form,)


def _list_values(written: Any) -> Any:
    if isinstance(written, str):
        return [[written]]
    if isinstance(written, list | tuple):
        return [[each] if isinstance(each, str) else each for each in written]
    return written


def _check_values(values: tuple[Alternatives, ...]) -> tuple[Alternatives, ...]:
    for value in values:
        if not value or not all(any(letter.isalnum() for letter in wording) for wording in value):
            raise ValueError("expected text with a letter or a digit: a blank value is in everything that is said")
        if any(len(wording) > MAX_VALUE for wording in value):
            raise ValueError(f"a value has more than {MAX_VALUE} characters: list shorter ones")
    return values


SpokenValues = Annotated[
    tuple[Alternatives, ...], BeforeValidator(_list_values), AfterValidator(_check_values), Field(max_length=MAX_VALUES)
]
"""A value, or a list of values; a list in the list has wordings of one value."""


@lru_cache(maxsize=2048)
def read_spoken(text: str) -> SpokenText:
    """Return a text as it is searched; the same text is read once for several criteria."""
    return SpokenText(text)
