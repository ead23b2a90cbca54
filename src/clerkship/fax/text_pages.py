"""Plain text as fax pages: wrapped, in one font, with the words that were drawn and where."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from clerkship.fax.document import MAX_PAGES, UnreadableDocument
from clerkship.fax.image import from_image
from clerkship.fax.page import DOTS_PER_INCH, PAGE_WIDTH, FaxPage, Resolution
from clerkship.fax.words import PageWord, PageWords

if TYPE_CHECKING:
    from PIL import ImageFont

# Text is drawn with square dots, and the page is scaled to its resolution then.
DPI = DOTS_PER_INCH["fine"][0]
SHEET_HEIGHT = 11 * DPI
MARGIN = DPI * 3 // 4
FONT_SIZE = DPI * 11 // 72
"""11 points."""
LINE_HEIGHT = FONT_SIZE * 5 // 4
LINES_PER_PAGE = (SHEET_HEIGHT - 2 * MARGIN) // LINE_HEIGHT
TAB_COLUMNS = 8
REPLACEMENTS = {
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl",
    "☐": "[ ]", "□": "[ ]", "☑": "[x]", "☒": "[x]", "✓": "x", "✔": "x", "✗": "x", "✘": "x",
    "→": "->", "←": "<-", "⇒": "=>", "↑": "^", "↓": "v", "●": "•", "▪": "•", "■": "•", "\N{NON-BREAKING HYPHEN}": "-",
}  # fmt: skip
"""Ligatures, and characters that the font lacks: what is drawn for them."""
MISSING = "\N{REPLACEMENT CHARACTER}"
"""What is drawn, and recorded as the true text, for any other character that the font lacks."""
MAX_CHARACTERS = 2_000_000
"""Characters of a text. Twice as many as fit on MAX_PAGES."""
_WORDS = re.compile(r"(\s*)(\S+)")
_LINE_BREAKS = re.compile("\r\n|[\r\v\x85\u2028\u2029]")
_NOT_PRINTED = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Categories of Unicode: control and format characters, surrogates, private ones."""


@dataclass
class _Line:
    """Words with their distance from the left margin."""

    words: list[tuple[int, str]] = field(default_factory=list)


def render_text(text: str, resolution: Resolution) -> list[tuple[FaxPage, PageWords]]:
    """Draw text on letter pages. A form feed starts a page; other control characters are not drawn.

    Words after a tab or after several spaces start at the column where they would be in a font of fixed width, so that
    tables stay in line. Raise UnreadableDocument if there is no text or too much.
    """
    too_long = UnreadableDocument("too_many_pages", f"the text has more than {MAX_PAGES} pages")
    if len(text) > MAX_CHARACTERS:
        raise too_long
    sheets: list[list[_Line]] = []
    for sheet in _paginate(_normalize(text)):
        if len(sheets) == MAX_PAGES:
            raise too_long
        sheets.append(sheet)
    if not any(line.words for sheet in sheets for line in sheet):
        raise UnreadableDocument("no_pages", "the text is empty")
    return [_draw(sheet, resolution) for sheet in sheets]


def _normalize(text: str) -> str:
    """Return text with one kind of line break and without characters that are not for print."""
    lines = _LINE_BREAKS.sub("\n", text)
    removed = {ord(each): None for each in set(lines) - set("\n\f\t") if unicodedata.category(each) in _NOT_PRINTED}
    return lines.translate(removed)


def _paginate(text: str) -> Iterator[list[_Line]]:
    """Yield the lines of each page."""
    for part in text.removesuffix("\f").split("\f"):
        sheet: list[_Line] = []
        for paragraph in part.removesuffix("\n").split("\n"):
            for line in _wrap(paragraph):
                if len(sheet) == LINES_PER_PAGE:
                    yield sheet
                    sheet = []
                sheet.append(line)
        yield sheet


def _wrap(paragraph: str) -> Iterator[_Line]:
    """Yield the lines of a paragraph."""
    paragraph = paragraph.expandtabs(TAB_COLUMNS)
    line, right = _Line(), 0
    for match in _WORDS.finditer(paragraph):
        gap = len(match[1])
        left = right + _width(" ") if right else 0
        if gap > 1 or (gap and not right):
            left = max(left, match.start(2) * _column_width())
        for piece in _split_word(match[2]):
            if left and left + _width(piece) > _line_width():
                yield line
                line, left = _Line(), 0
            line.words.append((left, piece))
            right = left = left + _width(piece)
    yield line


def _split_word(word: str) -> Iterator[str]:
    """Yield a word as it is drawn, in pieces that fit on a line."""
    piece, width = "", 0
    for character in word:
        drawn = _drawable(character)
        advance = _width(drawn)
        if piece and width + advance > _line_width():
            yield piece
            piece, width = "", 0
        piece, width = piece + drawn, width + advance
    yield piece


def _draw(lines: list[_Line], resolution: Resolution) -> tuple[FaxPage, PageWords]:
    """Draw one page, and return where its words are in the page's own dots."""
    from PIL import Image, ImageDraw  # noqa: PLC0415  (an extra, loaded when used)

    sheet = Image.new("L", (PAGE_WIDTH, SHEET_HEIGHT), 255)
    pen = ImageDraw.Draw(sheet)
    words = []
    vertical = DOTS_PER_INCH[resolution][1]
    for number, line in enumerate(lines):
        top = MARGIN + number * LINE_HEIGHT
        for distance, text in line.words:
            left = MARGIN + distance
            pen.text((left, top), text, fill=0, font=_font())
            upper, lower = top * vertical // DPI, -(-(top + LINE_HEIGHT) * vertical // DPI)
            box = {"left": left, "top": upper, "width": _width(text), "height": lower - upper}
            words.append(PageWord(text=text, line=number, **box))
    return from_image(sheet, resolution), PageWords(words=tuple(words))


def _line_width() -> int:
    return PAGE_WIDTH - 2 * MARGIN


@cache
def _column_width() -> int:
    """Return the width of a column: that of a digit, at which 80 columns fit on a line."""
    return _width("0")


def _width(text: str) -> int:
    """Return the width of drawn text."""
    return _character_width(text) if len(text) == 1 else -int(-_font().getlength(text) // 1)


@cache
def _character_width(character: str) -> int:
    return -int(-_font().getlength(character) // 1)


@cache
def _drawable(character: str) -> str:
    """Return what is drawn for a character."""
    compatible = unicodedata.normalize("NFKC", character)
    for candidate in (REPLACEMENTS.get(character), character, compatible):
        if candidate and all(_has_glyph(each) for each in candidate):
            return candidate
    return MISSING


@cache
def _has_glyph(character: str) -> bool:
    """Whether the font has a character. One that it lacks looks like U+FFFF, which no font has."""
    missing, glyph = (_font().getmask(text) for text in ("\uffff", character))
    return glyph.size != missing.size or bytes(glyph) != bytes(missing)


@cache
def _font() -> "ImageFont.FreeTypeFont":
    """Return Roboto. The basic layout engine is in each build of Pillow, so that pages are the same on each machine."""
    from font_roboto import Roboto  # noqa: PLC0415
    from PIL import ImageFont  # noqa: PLC0415

    return ImageFont.truetype(Roboto, FONT_SIZE, layout_engine=ImageFont.Layout.BASIC)
