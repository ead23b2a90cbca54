"""Lay out a letter: letterhead, date, addressee, subject, paragraphs and tables, on as many pages as it takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clerkship.formats.pdf_letter.font import TextStyle, measure_text, wrap_text
from clerkship.formats.pdf_letter.pdf_file import PAGE_HEIGHT, PAGE_WIDTH, PageContent, write_pdf

LEFT, RIGHT, TOP, BOTTOM = 72, PAGE_WIDTH - 72, PAGE_HEIGHT - 64, 76
WIDTH = RIGHT - LEFT
BODY, BOLD = TextStyle(), TextStyle(is_bold=True)
SENDER, SMALL = TextStyle(16, is_bold=True), TextStyle(8.5, grey=0.35)
SUBJECT = TextStyle(11.5, is_bold=True)
PARAGRAPH_SPACE, CELL_SPACE, COLUMN_GAP = 8.0, 3.0, 14.0


class LetterTable(NamedTuple):
    """Rows of text. Without a header, the first column has the labels."""

    rows: Sequence[Sequence[str]]
    has_header: bool = False


class Heading(NamedTuple):
    """The heading of a part; it stays on the page of what follows it."""

    text: str


LetterPart = str | Heading | LetterTable


@dataclass(frozen=True, kw_only=True)
class LetterContent:
    """What is in a letter. Parts that are empty are left out."""

    sender: str = ""
    """The name in the letterhead."""
    sender_lines: Sequence[str] = ()
    """Its address and phone number."""
    date: str = ""
    addressee: Sequence[str] = ()
    subject: str = ""
    body: Sequence[LetterPart] = ()
    """Paragraphs, headings and tables. A paragraph `\\f` starts a page."""
    page_line: str = ""
    """A line at the top of each page."""


def build_letter(letter: LetterContent) -> bytes:
    """Return a letter as PDF."""
    sheets = _Sheets()
    _add_head(sheets, letter)
    for part in letter.body:
        if isinstance(part, LetterTable):
            sheets.add_table(part)
        elif isinstance(part, Heading):
            sheets.add_heading(part)
        elif part == "\f":
            sheets.start_page()
        else:
            sheets.add_lines(part, BODY)
        sheets.skip(PARAGRAPH_SPACE)
    return write_pdf(_add_margins(sheets.pages, letter), letter.subject or letter.sender or "Document")


def build_text_pdf(text: str) -> bytes:
    """Return plain text as PDF, such as a document of a chart. Line breaks stay; a form feed starts a page."""
    sheets = _Sheets()
    for number, part in enumerate(text.removesuffix("\f").split("\f")):
        if number:
            sheets.start_page()
        sheets.add_lines(part.rstrip(), BODY)
    return write_pdf(sheets.pages, next(iter(text.strip().splitlines()), "Document")[:80])


class _Sheets:
    """The pages that are being filled, from the top."""

    def __init__(self) -> None:
        self.pages = [PageContent()]
        self.bottom: float = TOP

    @property
    def page(self) -> PageContent:
        return self.pages[-1]

    def start_page(self) -> None:
        self.pages.append(PageContent())
        self.bottom = TOP

    def skip(self, points: float) -> None:
        self.bottom -= points

    def make_room(self, height: float) -> None:
        """Start a page if so much does not fit on this one."""
        if self.bottom - height < BOTTOM and self.bottom < TOP:
            self.start_page()

    def add_lines(self, text: str, style: TextStyle) -> None:
        """Write a paragraph."""
        for line in wrap_text(text, style, WIDTH):
            self.make_room(style.line_height)
            self.skip(style.line_height)
            if line:
                self.page.add_text(LEFT, self.bottom, line, style)

    def add_heading(self, heading: Heading) -> None:
        """Write a heading, with room for three lines below it."""
        if self.bottom < TOP:
            self.skip(PARAGRAPH_SPACE)
        self.make_room(SUBJECT.line_height + PARAGRAPH_SPACE + 3 * BODY.line_height)
        self.add_lines(heading.text, SUBJECT)

    def add_table(self, table: LetterTable) -> None:
        """Write a table; a row is not divided between pages unless it is longer than one."""
        widths = _share_width(table)
        for number, row in enumerate(table.rows):
            is_header = table.has_header and number == 0
            styles = [BOLD if is_header or (not table.has_header and not place) else BODY for place in range(len(row))]
            cells = [list(wrap_text(*cell)) for cell in zip(row, styles, widths, strict=False)]
            self._add_row(cells, styles, widths)
            if is_header:
                self.page.add_rule(LEFT, self.bottom - CELL_SPACE, RIGHT)
            self.skip(CELL_SPACE * 2 if is_header else CELL_SPACE)

    def _add_row(self, cells: Sequence[Sequence[str]], styles: Sequence[TextStyle], widths: Sequence[float]) -> None:
        height = max(map(len, cells), default=0)
        self.make_room(min(height * BODY.line_height, TOP - BOTTOM))
        for line in range(height):
            self.make_room(BODY.line_height)
            self.skip(BODY.line_height)
            left: float = LEFT
            for cell, style, width in zip(cells, styles, widths, strict=False):
                if line < len(cell) and cell[line]:
                    self.page.add_text(left, self.bottom, cell[line], style)
                left += width + COLUMN_GAP


def _share_width(table: LetterTable) -> list[float]:
    """Return the widths of the columns: what their longest cell needs; wide ones share what the others leave."""
    count = max((len(row) for row in table.rows), default=0)
    needs = [max((measure_text(row[n], BOLD) for row in table.rows if n < len(row)), default=0) for n in range(count)]
    left = WIDTH - COLUMN_GAP * (count - 1)
    widths = [0.0] * count
    for place, number in enumerate(sorted(range(count), key=lambda each: needs[each])):
        widths[number] = min(needs[number], left / (count - place))
        left -= widths[number]
    return widths


def _add_head(sheets: _Sheets, letter: LetterContent) -> None:
    if letter.sender:
        sheets.add_lines(letter.sender, SENDER)
        sheets.add_lines(" · ".join(letter.sender_lines), SMALL)
        sheets.page.add_rule(LEFT, sheets.bottom - 8, RIGHT, thickness=1, grey=0.3)
        sheets.skip(30)
    for part in (letter.date, "\n".join(letter.addressee)):
        if part:
            sheets.add_lines(part, BODY)
            sheets.skip(14)
    if letter.subject:
        sheets.skip(4)
        sheets.add_lines(letter.subject, SUBJECT)
        sheets.skip(PARAGRAPH_SPACE)


def _add_margins(pages: Sequence[PageContent], letter: LetterContent) -> Sequence[PageContent]:
    """Write what is above and below the text of each page."""
    for number, page in enumerate(pages, 1):
        if letter.page_line:
            page.add_text(LEFT, TOP + 22, letter.page_line, SMALL)
            page.add_rule(LEFT, TOP + 14, RIGHT)
        text = f"Page {number} of {len(pages)}"
        page.add_rule(LEFT, 54, RIGHT)
        page.add_text(LEFT, 42, letter.sender, SMALL)
        page.add_text(RIGHT - measure_text(text, SMALL), 42, text, SMALL)
    return pages
