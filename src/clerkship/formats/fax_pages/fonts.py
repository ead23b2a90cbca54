"""The fonts of rendered pages, and the width of text in them."""

import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Literal

from clerkship.kit.extras import describe_install
from clerkship.model.errors import InputError

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

Family = Literal["sans", "serif"]
FILES: dict[Family, tuple[str, str]] = {"sans": ("font_roboto", "Roboto"), "serif": ("font_caladea", "Caladea")}
VARIANTS = {(False, False): "Regular", (True, False): "Bold", (False, True): "Italic", (True, True): "BoldItalic"}
LINES_PER_INCH = 196
"""Text is drawn at the `fine` resolution; pages of the `standard` one are scaled down."""
NEVER_DRAWN = "\U0010ffff"
"""A code point that no font has: it is drawn as the sign for a missing letter."""


@dataclass(frozen=True)
class FontStyle:
    """A font in a size."""

    family: Family = "sans"
    size: float = 10
    """In points."""
    bold: bool = False
    italic: bool = False

    @property
    def dots(self) -> int:
        """The size in dots of a `fine` page."""
        return round(self.size * LINES_PER_INCH / 72)

    @property
    def line_height(self) -> int:
        """Dots from one line of text to the next."""
        return self.dots * 5 // 4

    def bolder(self) -> "FontStyle":
        """Return the bold font of the same size."""
        return replace(self, bold=True)

    def italics(self) -> "FontStyle":
        """Return the italic font of the same size."""
        return replace(self, italic=True)

    def sized(self, size: float) -> "FontStyle":
        """Return the same font in another size."""
        return replace(self, size=size)


@lru_cache(maxsize=256)
def load_font(style: FontStyle) -> "FreeTypeFont":
    """Return the font for Pillow; raise InputError if the extra is not installed."""
    package, name = FILES[style.family]
    try:
        from PIL import ImageFont  # noqa: PLC0415  (an extra)

        file = resources.files(package) / "files" / f"{name}-{VARIANTS[style.bold, style.italic]}.ttf"
    except ImportError:
        raise missing_extra() from None
    # The basic layout: the other one depends on libraries of the system, and would draw other dots elsewhere.
    return ImageFont.truetype(str(file), style.dots, layout_engine=ImageFont.Layout.BASIC)


def missing_extra() -> InputError:
    """Return the error for pages that cannot be drawn because a package is not installed."""
    return InputError.of(
        "fax pages cannot be drawn: Pillow and the fonts are not installed",
        hint=f"install them with {describe_install('fax')}",
    )


@lru_cache(maxsize=65_536)
def measure(text: str, style: FontStyle) -> int:
    """Return the width of text in dots."""
    return round(load_font(choose_style(text, style)).getlength(text))


def choose_style(word: str, style: FontStyle) -> FontStyle:
    """Return the style, or that of the sans font for a word with letters that only this one has."""
    if word.isascii() or all(_has_letter(letter, style.family) for letter in word if not letter.isspace()):
        return style
    return replace(style, family="sans")


def space_width(style: FontStyle) -> int:
    """Return the width of a space in dots."""
    return max(1, measure(" ", style))


def text_width(text: str, style: FontStyle) -> int:
    """Return the width of a line as the canvas draws it: word by word, with its spaces."""
    return sum(measure(word, style) for word in text.split(" ")) + space_width(style) * text.count(" ")


def replace_missing_letters(text: str, style: FontStyle) -> str:
    """Return the text in letters that the fonts have: others without their accents, or as `?`. Tabs become spaces."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_drawable(letter, style.family) for letter in unicodedata.normalize("NFC", text))


@lru_cache(maxsize=4096)
def _drawable(letter: str, family: Family) -> str:
    if letter.isspace():
        return " "
    if _has_letter(letter, family) or _has_letter(letter, "sans"):
        return letter
    # Which parts of a letter are drawn depends on the font, so `text.folding` does not know it.
    parts = unicodedata.normalize("NFKD", letter)
    return "".join(part for part in parts if _has_letter(part, family) and not unicodedata.combining(part)) or "?"


@lru_cache(maxsize=4096)
def _has_letter(letter: str, family: Family) -> bool:
    """Return whether a font has a letter: it is not drawn as the sign for missing letters."""
    if letter.isascii():
        return letter.isprintable()
    font = load_font(FontStyle(family, 20))
    mask, missing = font.getmask(letter), font.getmask(NEVER_DRAWN)
    return mask.getbbox() is not None and (mask.size, bytes(mask)) != (missing.size, bytes(missing))


def wrap(text: str, style: FontStyle, width: int) -> list[str]:
    """Break text into lines that fit a width. Line breaks of the text stay; a word that is too long is broken.

    Several spaces in a row stay in a text that fits as it is.
    """
    paragraphs = (replace_missing_letters(paragraph, style).rstrip() for paragraph in text.splitlines() or [""])
    return [
        line
        for paragraph in paragraphs
        for line in ([paragraph] if text_width(paragraph, style) <= width else _wrap_paragraph(paragraph, style, width))
    ]


def _wrap_paragraph(text: str, style: FontStyle, width: int) -> list[str]:
    lines: list[str] = []
    line, used = "", 0
    space = space_width(style)
    for word in (part for whole in text.split() for part in _break_word(whole, style, width)):
        needed = measure(word, style)
        if line and used + space + needed > width:
            lines.append(line)
            line, used = "", 0
        line, used = (f"{line} {word}", used + space + needed) if line else (word, needed)
    return [*lines, line]


def _break_word(word: str, style: FontStyle, width: int) -> list[str]:
    """Return a word, or its parts if it is wider than a line."""
    parts: list[str] = []
    while len(word) > 1 and measure(word, style) > width:
        end = len(word) - 1
        while end > 1 and measure(word[:end], style) > width:
            end -= 1
        parts.append(word[:end])
        word = word[end:]
    return [*parts, word]
