"""The line that a sending fax machine prints above each page."""

import re
from datetime import datetime

from clerkship.formats.fax_pages.canvas import Canvas
from clerkship.formats.fax_pages.fonts import FontStyle, replace_missing_letters, text_width
from clerkship.formats.fax_pages.page import FaxPage, PageWords, Resolution

STYLE = FontStyle("sans", 9, bold=True)
SMALLEST = 5.0
"""Points of the smallest letters; a longer line is cut."""
MARGIN = 48
HEIGHT = 44
"""Lines that the header adds above a `fine` page; half as many above a `standard` one."""
MAX_NAME = 40
"""Letters of the sender's name that machines print."""


def format_header(at: datetime, name: str, number: str, page: int, pages: int) -> str:
    """Return the text of the line: time, sender, number and page, with two or more spaces between them."""
    sender = " ".join(name.split())[:MAX_NAME]
    return f"{at:%Y-%m-%d %H:%M}  FROM: {sender}  {format_number(number)}  PAGE {page}/{pages}"


def format_number(number: str) -> str:
    """Return a number in E.164 with spaces: `+1 555 010 0200`. Only numbers of North America are split."""
    match = re.fullmatch(r"\+1(\d{3})(\d{3})(\d{4})", number)
    return f"+1 {match[1]} {match[2]} {match[3]}" if match else number


def get_header_height(resolution: Resolution) -> int:
    """Return how many lines the line at the top of a sent page takes."""
    return HEIGHT if resolution == "fine" else HEIGHT // 2


def add_header(page: FaxPage, words: PageWords, line: str) -> tuple[FaxPage, PageWords]:
    """Return the page with the line above it, and its words with those of the line first.

    The page becomes longer, as on machines that print the line outside the original: none of its dots is lost, and a
    page that is faxed on has one line for each machine.
    """
    canvas = Canvas(page.resolution, HEIGHT)
    _draw(canvas, line)
    [(header, drawn)] = canvas.finish()
    # The words of the page are moved below the line, and keep their order.
    moved = (
        word._replace(top=word.top + header.height, line=word.line + (1 if drawn.words else 0)) for word in words.words
    )
    dots = _fit_width(header, page.width) + page.dots
    return (
        page.model_copy(update={"height": page.height + header.height, "dots": dots}),
        PageWords(words=(*drawn.words, *moved)),
    )


def _draw(canvas: Canvas, line: str) -> None:
    """Draw the parts of the line over the whole width, in smaller letters if it is long."""
    style = STYLE
    parts = [part for part in re.split(r"\s{2,}", replace_missing_letters(line, style).strip()) if part]
    gap = 30
    width = canvas.sheet.image.width - 2 * MARGIN
    while sum(text_width(part, style) for part in parts) + gap * (len(parts) - 1) > width:
        if style.size > SMALLEST:
            style = style.sized(style.size - 0.5)
        else:
            longest = max(range(len(parts)), key=lambda number: len(parts[number]))
            parts[longest] = parts[longest][:-1].rstrip()
    widths = [text_width(part, style) for part in parts]
    spare = (width - sum(widths)) // max(1, len(parts) - 1)
    x = MARGIN
    for part, needed in zip(parts, widths, strict=True):
        canvas.text(x, 6, part, style)
        x += needed + spare


def _fit_width(header: FaxPage, width: int) -> bytes:
    """Return the dots of the header in the width of the page."""
    row, wanted = header.width // 8, width // 8
    lines = (header.dots[line * row : line * row + min(row, wanted)] for line in range(header.height))
    return b"".join(line.ljust(wanted, b"\0") for line in lines)
