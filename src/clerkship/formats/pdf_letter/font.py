"""The letters of Helvetica in PDF: how wide they are, how text is encoded, and where lines are broken."""

import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import orjson

ENCODING = "cp1252"
"""What PDF calls WinAnsiEncoding (ISO 32000-1, annex D.2)."""
FIRST_CODE = 32
_SPACES = {" ": " ", "\t": "    ", "\u2011": "-", "\u2192": "->", "\u2264": "<=", "\u2265": ">="}


class TextStyle(NamedTuple):
    """A font and its size in points."""

    size: float = 10.5
    is_bold: bool = False
    grey: float = 0.0
    """0 is black."""

    @property
    def line_height(self) -> float:
        """Points from one line to the next."""
        return round(self.size * 1.35, 2)


@cache
def _load_widths(is_bold: bool) -> tuple[int, ...]:
    """Return the widths of the characters from 32 to 255, in thousandths of the size (Adobe's metrics of the font)."""
    table: dict[str, list[int]] = orjson.loads((Path(__file__).parent / "widths.json").read_bytes())
    return tuple(table["Helvetica-Bold" if is_bold else "Helvetica"])


def encode_text(text: str) -> bytes:
    """Return text in the encoding of the font. Accents that it lacks are left out, other characters become `?`."""
    return b"".join(map(_encode_character, unicodedata.normalize("NFC", text)))


@cache
def _encode_character(character: str) -> bytes:
    written = _SPACES.get(character, character)
    if unicodedata.category(character) in ("Cc", "Cf", "Mn") and character not in _SPACES:
        return b""
    try:
        return written.encode(ENCODING)
    except UnicodeEncodeError:
        base = unicodedata.normalize("NFKD", written)
        return base.encode(ENCODING, "ignore") or b"?"


def measure_text(text: str, style: TextStyle) -> float:
    """Return the width of text in points."""
    return _count_units(text, style.is_bold) * style.size / 1000


@lru_cache(maxsize=10_000)
def _count_units(text: str, is_bold: bool) -> int:
    """Return the width of text in thousandths of its size. Words return often, so their widths are stored."""
    widths = _load_widths(is_bold)
    return sum(widths[code - FIRST_CODE] for code in encode_text(text))


def wrap_text(text: str, style: TextStyle, width: float) -> Iterator[str]:
    """Yield the lines of a text that is at most so wide. A line break stays; a word that is too long is cut."""
    space = _count_units(" ", style.is_bold)
    for paragraph in text.splitlines() or [""]:
        line, units = "", 0
        for word in paragraph.rstrip().split(" "):
            own = _count_units(word, style.is_bold)
            longer, units = (f"{line} {word}", units + space + own) if line else (word, own)
            if line and units * style.size / 1000 > width:
                yield line.rstrip()
                longer, units = word, own
            while units * style.size / 1000 > width and len(longer) > 1:
                fitting = _count_fitting(longer, style, width)
                yield longer[:fitting]
                longer = longer[fitting:]
                units = _count_units(longer, style.is_bold)
            line = longer
        yield line


def _count_fitting(word: str, style: TextStyle, width: float) -> int:
    """Return how many characters fit into a width, at least one."""
    total = 0.0
    for number, character in enumerate(word):
        total += measure_text(character, style)
        if total > width:
            return max(1, number)
    return len(word)
