"""Facts in a text that rules can recognize: numbers, codes, dates, e-mail and web addresses, in any notation."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from clerkship.text.contact_points import EMAIL, normalize_email
from clerkship.text.dates import WrittenDate, find_plain_dates

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
    dates: tuple[WrittenDate, ...]
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
        return cls(frozenset(known), shapes, tuple(_find_dates(text)), frozenset(_find_addresses(text)))

    def find_unknown(self, text: str, also: "Facts") -> Iterator[str]:
        """Yield the facts in a text that neither collection contains, as written."""
        for address in _find_addresses(text):
            if not any(address in facts.addresses for facts in (self, also)):
                yield address
        text = _DURATION.sub("\n", _WEB.sub(" ", EMAIL.sub(" ", text)))
        rest, end = "", 0
        for date in _find_dates(text):
            if not any(date.fits(other) for other in (*self.dates, *also.dates)):
                yield text[date.start : date.end]
            rest, end = f"{rest}{text[end : date.start]}\n", date.end
        for code in _find_codes(_TIME.sub("\n", rest + text[end:])):
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
    date = next(iter(_find_dates(text)), None)
    if date is not None and date.start == 0:
        return "date", text[: date.end]
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
        yield normalize_email(match[0])
    for match in _WEB.finditer(EMAIL.sub(" ", text)):
        yield re.sub(r"^(?:https?://)?(?:www\.)?", "", match[0].casefold()).rstrip("./,;:!?")


def _find_dates(text: str) -> list[WrittenDate]:
    """Return the dates in a text. The verb "may" is not a month."""
    lower = text.replace("İ", "I").lower()  # the one letter that would become two
    return [date for date in find_plain_dates(lower) if not text.startswith("may", date.start)]
