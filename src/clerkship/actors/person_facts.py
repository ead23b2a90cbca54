"""Facts in a text that rules can recognize: numbers, codes, dates, e-mail and web addresses, in any notation."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from clerkship.text.email_addresses import EMAIL
from clerkship.text.spoken_words import MONTH_PATTERN, MONTHS

MAX_SMALL_DIGITS = 2
"""Numbers with so many digits may be said by anyone: a count, a number of days."""
MIN_TAIL_DIGITS = 4
"""The shortest end of a known number that may stand for it: the last four digits of a card."""
MAX_SPAN = 8
"""Adjacent parts that may be written as one number."""
MAX_PIECES = 16
"""Parts of one number."""
# Every repetition is bounded or starts at a word, because an agent's text may be built to be slow to match.
_WEB = re.compile(
    r"\b(?:https?://|www\.)[^\s\"'<>)\]]{1,2000}"
    r"|(?<![\w.-])[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,4}\.(?:com|org|net|io|edu|gov|info|dev|app|co\.uk)\b"
    r"(?:/[^\s\"'<>)\]]{0,2000})?",
    re.IGNORECASE,
)
_MONTH = rf"(?P<month>{MONTH_PATTERN})"
_DAY, _YEAR = r"(?P<day>\d{1,2})", r"(?P<year>\d{4})"
_NUMERIC = re.compile(rf"(?<![\d/.-])(?P<month>\d{{1,2}})[-/.]{_DAY}[-/.](?P<year>\d{{4}}|\d{{2}})(?![\d/-])")
_DATES = (
    re.compile(rf"\b{_YEAR}[-/.](?P<month>\d{{1,2}})[-/.]{_DAY}(?!\d)"),
    _NUMERIC,
    re.compile(rf"\b{_DAY}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b\.?(?:,? {_YEAR})?", re.IGNORECASE),
    re.compile(rf"\b(?-i:(?!may\b)){_MONTH}\.? {_DAY}(?:st|nd|rd|th)?\b(?!:)(?:,? {_YEAR})?", re.IGNORECASE),
)
_TOKEN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]*\d[A-Za-z0-9]*")
_SEPARATOR = re.compile(r"[ \-./()+_#:]{1,2}|,")
_TIME = re.compile(r"\b\d{1,2}:\d{2}\b")
_DURATION = re.compile(
    r"\b\d{1,4}(?:[.,]\d{1,2})? ?(?:min(?:ute)?s?|h(?:ou)?rs?|days?|weeks?|months?|years?|times|percent|%)(?!\w)",
    re.IGNORECASE,
)
"""Durations and frequencies, which anyone may say."""
_PREFIX = re.compile(r"([A-Za-z]{2,})[-_ #]?\Z")
_ROUND_NUMBERS = frozenset({"100", "1000", "100th", "1000th"})
"""Round numbers, which are estimates."""


ValueSort = Literal["address", "date", "code"]


class Date(NamedTuple):
    """A day, with or without a year."""

    month: int
    day: int
    year: int | None

    def fits(self, other: "Date") -> bool:
        """Return whether both may be the same day."""
        return self[:2] == other[:2] and (None in (self.year, other.year) or self.year == other.year)


class Contradiction(NamedTuple):
    """A value that was said, and the correct one."""

    said: str
    given: str


class WrittenCode(NamedTuple):
    """A number or code as written, its parts, and the letters before it."""

    written: str
    pieces: tuple[str, ...]
    lead: str

    @property
    def whole(self) -> str:
        """The code without separators."""
        return "".join(self.pieces)

    @property
    def is_small(self) -> bool:
        """Whether it only counts something and identifies nothing, so that anyone may say it."""
        return all(_is_small(piece) for piece in self.pieces) and _count_digits(self.whole) < 2 * MAX_SMALL_DIGITS + 1

    @property
    def shape(self) -> str:
        """Its letters, with 0 for every digit; empty if it has no letters in front."""
        lead = self.lead if not self.whole[:1].isalpha() else ""
        shape = re.sub(r"\d", "0", f"{lead}{self.whole}")
        return shape if re.match(r"[a-z]{2,}0{3,}\Z", shape) else ""


@dataclass(frozen=True)
class Facts:
    """All the facts of a text."""

    codes: frozenset[str]
    shapes: dict[str, str]
    dates: tuple[Date, ...]
    addresses: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "Facts":
        """Find the facts in a text."""
        known: set[str] = set()
        shapes: dict[str, str] = {}
        for code in _find_codes(text):
            known |= {code.whole, *code.pieces, *map(_strip_letters, code.pieces)}
            count = len(code.pieces)
            spans = ((i, j) for i in range(count) for j in range(i + 2, min(count, i + MAX_SPAN) + 1))
            known |= {"".join(code.pieces[i:j]) for i, j in spans}
            if code.shape:
                shapes.setdefault(code.shape, code.written)
        dates = tuple(date for _, read in _find_dates(text) for date in read)
        return cls(frozenset(known), shapes, dates, frozenset(_find_addresses(text)))

    def find_unknown(self, text: str, also: "Facts") -> Iterator[str]:
        """Yield the facts in a text that neither collection contains, as written."""
        for address in _find_addresses(text):
            if not any(address in facts.addresses for facts in (self, also)):
                yield address
        text = EMAIL.sub(" ", text)
        text = _WEB.sub(" ", text)
        dated, rest = _split_dates(_DURATION.sub("\n", text))
        for written, read in dated:
            if not any(date.fits(other) for date in read for other in (*self.dates, *also.dates)):
                yield written
        for code in _find_codes(_TIME.sub("\n", rest)):
            if not (code.is_small or self._has(code) or also._has(code)):
                yield code.written

    def contradicted(self, text: str, also: "Facts") -> Contradiction | None:
        """Return a code in a text that has the form of a known one and differs from it; None if there is none."""
        for code in _find_codes(text):
            given = self.shapes.get(code.shape) if code.shape else None
            if given is not None and not (self._has(code) or also._has(code)):
                return Contradiction(f"{code.written}", given)
        return None

    def _has(self, code: WrittenCode) -> bool:
        if code.whole in self.codes or self._ends_with(code.whole):
            return True
        telling = [piece for piece in code.pieces if not _is_small(piece)]
        return bool(telling) and all({piece, _strip_letters(piece)} & self.codes for piece in telling)

    def _ends_with(self, number: str) -> bool:
        return (
            number.isdigit() and len(number) >= MIN_TAIL_DIGITS and any(known.endswith(number) for known in self.codes)
        )


def find_first_value(text: str) -> tuple[ValueSort, str] | None:
    """Return the sort and the text of the value with which a text begins; None if it begins with none."""
    email = EMAIL.match(text)
    if email is not None:
        return "address", email[0].rstrip(".")
    date = next((match for match, _ in _find_dates(text) if match.start() == 0), None)
    if date is not None:
        return "date", date[0]
    code = next(_find_codes(text), None)
    if code is None or code.is_small or not text.startswith(code.written):
        return None
    return "code", code.written


def _find_codes(text: str) -> Iterator[WrittenCode]:
    """Yield groups of parts with digits, joined by separators: `ORD-9981`, `+1 (555) 010-2233`, `1,299.00`."""
    start = -1
    end = -1
    pieces: list[str] = []
    for token in _TOKEN.finditer(text):
        if pieces and (len(pieces) == MAX_PIECES or not _SEPARATOR.fullmatch(text[end : token.start()])):
            yield _build_code(text, start, end, pieces)
            pieces = []
        if not pieces:
            start = token.start()
        pieces.append(token[0].casefold())
        end = token.end()
    if pieces:
        yield _build_code(text, start, end, pieces)


def _build_code(text: str, start: int, end: int, pieces: list[str]) -> WrittenCode:
    lead = _PREFIX.search(text, max(0, start - 12), start)
    tied = lead is not None and text[start - 1] != " "
    written = text[lead.start() if lead is not None and tied else start : end]
    return WrittenCode(written, tuple(pieces), lead[1].casefold() if lead is not None and tied else "")


def _is_small(piece: str) -> bool:
    return _count_digits(piece) <= MAX_SMALL_DIGITS or piece in _ROUND_NUMBERS


def _strip_letters(piece: str) -> str:
    return piece.lstrip("abcdefghijklmnopqrstuvwxyz")


def _count_digits(text: str) -> int:
    return sum(sign.isdigit() for sign in text)


def _find_addresses(text: str) -> Iterator[str]:
    for match in EMAIL.finditer(text):
        yield match[0].casefold().rstrip(".")
    for match in _WEB.finditer(EMAIL.sub(" ", text)):
        yield re.sub(r"^(?:https?://)?(?:www\.)?", "", match[0].casefold()).rstrip("./,;:!?")


def _find_dates(text: str) -> Iterator[tuple[re.Match[str], list[Date]]]:
    """Yield the dates in a text, each with its possible readings: in 4/5/2018 either number may be the month.

    The verb "may" is not a month.
    """
    for pattern in _DATES:
        for match in pattern.finditer(text):
            date = _build_date(match["month"], match["day"], match["year"])
            yield match, [date, Date(date.day, date.month, date.year)] if pattern is _NUMERIC else [date]


def _split_dates(text: str) -> tuple[list[tuple[str, list[Date]]], str]:
    """Return the dates in a text, and the text without them."""
    read = list(_find_dates(text))
    rest = list(text)
    for match, _ in read:
        rest[match.start() : match.end()] = "\n" * (match.end() - match.start())
    return [(match[0], dates) for match, dates in read], "".join(rest)


def _build_date(month: str, day: str, year: str | None) -> Date:
    written = int(year) if year else None
    if written is not None and written < 100:
        written += 2000 if written < 50 else 1900
    number = int(month) if month.isdigit() else MONTHS[month.casefold()]
    return Date(number, int(day), written)
