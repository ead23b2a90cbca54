"""Plain text as fax pages: wrapped, in one font, with the words that were drawn and where."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from clerkship.formats.fax_pages.document import MAX_PAGES, UnreadableDocument
from clerkship.formats.fax_pages.fonts import FontStyle, load_font, measure, replace_missing_letters, space_width
from clerkship.formats.fax_pages.image import from_image
from clerkship.formats.fax_pages.page import (
    DOTS_PER_INCH,
    LETTER_HEIGHT,
    MAX_CACHED_PAGES,
    PAGE_WIDTH,
    FaxPage,
    PageWord,
    PageWords,
    Resolution,
)

STYLE = FontStyle(size=11)
# Text is drawn on a fine page, which is scaled to its resolution then.
DPI = DOTS_PER_INCH["fine"]
SIDE_MARGIN, TOP_MARGIN = (dots * 3 // 4 for dots in DPI)
LINE_WIDTH = PAGE_WIDTH - 2 * SIDE_MARGIN
LINES_PER_PAGE = (LETTER_HEIGHT["fine"] - 2 * TOP_MARGIN) // STYLE.line_height
TAB_COLUMNS = 8
WHITE = 255
REPLACEMENTS = {
    "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl",
    "☐": "[ ]", "□": "[ ]", "☑": "[x]", "☒": "[x]", "✓": "x", "✔": "x", "✗": "x", "✘": "x",
    "→": "->", "←": "<-", "⇒": "=>", "↑": "^", "↓": "v", "●": "•", "▪": "•", "■": "•", "\N{NON-BREAKING HYPHEN}": "-",
}  # fmt: skip
"""Ligatures, and characters that the font lacks: what is drawn for them."""
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
    return [_draw(tuple(tuple(line.words) for line in sheet), resolution) for sheet in sheets]


def _normalize(text: str) -> str:
    """Return text with one kind of line break and without characters that are not for print."""
    lines = unicodedata.normalize("NFC", _LINE_BREAKS.sub("\n", text))
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
        left = right + space_width(STYLE) if right else 0
        if gap > 1 or (gap and not right):
            left = max(left, match.start(2) * _column_width())
        for piece in _split_word(match[2]):
            if left and left + measure(piece, STYLE) > LINE_WIDTH:
                yield line
                line, left = _Line(), 0
            line.words.append((left, piece))
            right = left = left + measure(piece, STYLE)
    yield line


def _split_word(word: str) -> Iterator[str]:
    """Yield a word as it is drawn, in pieces that fit on a line."""
    piece, width = "", 0
    for character in word:
        drawn = _drawable(character)
        advance = measure(drawn, STYLE)
        if piece and width + advance > LINE_WIDTH:
            yield piece
            piece, width = "", 0
        piece, width = piece + drawn, width + advance
    yield piece


@lru_cache(maxsize=MAX_CACHED_PAGES)
def _draw(lines: tuple[tuple[tuple[int, str], ...], ...], resolution: Resolution) -> tuple[FaxPage, PageWords]:
    """Draw one page, and return where its words are in the page's own dots.

    A line is its words with their distance from the left margin. Cached, because a text is sent to several numbers.
    """
    from PIL import Image, ImageDraw  # noqa: PLC0415  (an extra, loaded when used)

    sheet = Image.new("L", (PAGE_WIDTH, LETTER_HEIGHT["fine"]), WHITE)
    pen = ImageDraw.Draw(sheet)
    words = []
    vertical = DOTS_PER_INCH[resolution][1]
    for number, line in enumerate(lines):
        top = TOP_MARGIN + number * STYLE.line_height
        for distance, text in line:
            left = SIDE_MARGIN + distance
            pen.text((left, top), text, fill=0, font=load_font(STYLE))
            upper, lower = top * vertical // DPI[1], -(-(top + STYLE.line_height) * vertical // DPI[1])
            box = {"left": left, "top": upper, "width": measure(text, STYLE), "height": lower - upper}
            words.append(PageWord(text=text, line=number, **box))
    return from_image(sheet, resolution, DPI, paper=WHITE), PageWords(words=tuple(words))


def _column_width() -> int:
    """Return the width of a column: that of a digit, at which 80 columns fit on a line."""
    return measure("0", STYLE)


@lru_cache(maxsize=4096)
def _drawable(character: str) -> str:
    """Return what is drawn for a character."""
    return REPLACEMENTS.get(character) or replace_missing_letters(character, STYLE)
