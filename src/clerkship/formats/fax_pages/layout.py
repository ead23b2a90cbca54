"""Lay out text on a canvas from the top to the bottom, with a new page where one is full."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from clerkship.formats.fax_pages.canvas import PAGE_HEIGHT, Canvas
from clerkship.formats.fax_pages.fonts import FontStyle, text_width, wrap
from clerkship.formats.fax_pages.page import PAGE_WIDTH, Resolution

FOOTER_HEIGHT = 110
"""Dots at the bottom of each page that are left for the footer."""
TableLook = Literal["grid", "rules", "plain"]


TableRow = Sequence[str] | str
"""The cells of a row, or the heading of the rows below it."""


@dataclass(frozen=True)
class Column:
    """A column of a table. Widths are shares of the width of the text."""

    title: str
    share: int
    bold: bool = False


class PageFlow:
    """A position on a canvas that moves down as text is added. `on_new_page` draws the top of each further page."""

    def __init__(self, style: FontStyle, resolution: Resolution = "fine", margin: int = 150, top: int = 84) -> None:
        self.canvas = Canvas(resolution)
        self.style = style
        self.left, self.right, self.top = margin, PAGE_WIDTH - margin, top
        self.bottom = PAGE_HEIGHT - FOOTER_HEIGHT
        self.y = top
        self.on_new_page: Callable[[PageFlow], None] = lambda flow: None

    @property
    def width(self) -> int:
        """Dots between the margins."""
        return self.right - self.left

    def ensure_space(self, height: int) -> bool:
        """Begin a new page if the height does not fit on this one; return whether it did."""
        if self.y + height <= self.bottom or self.y <= self.top:
            return False
        self.new_page()
        return True

    def new_page(self) -> None:
        """Begin a new page."""
        self.canvas.add_page()
        self.y = self.top
        self.on_new_page(self)

    def skip(self, height: int) -> None:
        """Leave an empty space."""
        self.y += height

    def paragraph(self, text: str, style: FontStyle | None = None, indent: int = 0, after: int = 14) -> None:
        """Add text over the whole width, on as many pages as it needs."""
        style = style or self.style
        for line in wrap(text, style, self.width - indent):
            self.ensure_space(style.line_height)
            self.canvas.text(self.left + indent, self.y, line, style)
            self.y += style.line_height
        self.y += after

    def heading(self, text: str, style: FontStyle, look: str = "plain") -> None:
        """Add a heading: plain, underlined, on a shaded bar or white on black. Two more lines fit below it."""
        lines = wrap(text, style, self.width - 24)
        height = len(lines) * style.line_height + 12
        self.ensure_space(height + 2 * self.style.line_height)
        if look == "shaded":
            self.canvas.shade(self.left, self.y, self.right, self.y + height)
            self.canvas.box(self.left, self.y, self.right, self.y + height)
        elif look == "black":
            self.canvas.fill(self.left, self.y, self.right, self.y + height)
        indent = 12 if look in ("shaded", "black") else 0
        color = 255 if look == "black" else 0
        for number, line in enumerate(lines):
            self.canvas.text(self.left + indent, self.y + 4 + number * style.line_height, line, style, color=color)
        if look == "underlined":
            self.canvas.rule(self.left, self.y + height - 5, self.right, 2)
        self.y += height + 6

    def pairs(self, pairs: Sequence[tuple[str, str]], label_width: int, after: int = 14) -> None:
        """Add labels in bold with their values beside them. Pairs without a value are left out."""
        for label, value in pairs:
            if not value:
                continue
            lines = wrap(value, self.style, self.width - label_width)
            for number, line in enumerate(lines):
                self.ensure_space(self.style.line_height)
                if number == 0:
                    self.canvas.text(self.left, self.y, label, self.style.bolder())
                self.canvas.text(self.left + label_width, self.y, line, self.style)
                self.y += self.style.line_height
        self.y += after

    def bullets(self, items: Sequence[str], after: int = 14) -> None:
        """Add a list, in two columns where all items are short."""
        is_short = all(text_width(item, self.style) <= self.width // 2 - 70 and "\n" not in item for item in items)
        columns = 2 if is_short and len(items) > 2 else 1
        for start in range(0, len(items), columns):
            self._bullet_row(items[start : start + columns], self.width // columns)
        self.y += after

    def _bullet_row(self, items: Sequence[str], width: int) -> None:
        for place, item in enumerate(items):
            x = self.left + place * width
            for number, line in enumerate(wrap(item, self.style, width - 60)):
                if place == 0:
                    self.ensure_space(self.style.line_height)
                if number == 0:
                    self.canvas.text(x + 24, self.y, "-", self.style)
                self.canvas.text(x + 60, self.y, line, self.style)
                if place == len(items) - 1:
                    self.y += self.style.line_height

    def table(
        self,
        columns: Sequence[Column],
        rows: Sequence[TableRow],
        look: TableLook = "grid",
        after: int = 20,
    ) -> None:
        """Add a table. A row stays on one page; the titles are repeated on each page."""
        table = _Table(self, columns, look)
        table.draw_titles()
        for row in rows:
            if isinstance(row, str):
                table.draw_section(row)
            else:
                table.draw_row(row)
        self.y += after

    def form_rows(self, rows: Sequence[Sequence[tuple[str, str, int]]], after: int = 20) -> None:
        """Add the boxes of a form: each has a small label above its value, and a share of the row."""
        for row in rows:
            self._form_row(row)
        self.y += after

    def _form_row(self, row: Sequence[tuple[str, str, int]]) -> None:
        small = self.style.sized(6.5)
        edges = column_edges(self.left, self.right, [share for _, _, share in row])
        cells = [
            wrap(value, self.style, right - left - 24)
            for (_, value, _), left, right in zip(row, edges, edges[1:], strict=False)
        ]
        height = small.line_height + max(len(lines) for lines in cells) * self.style.line_height + 12
        self.ensure_space(height)
        for (label, _, _), lines, left, right in zip(row, cells, edges, edges[1:], strict=False):
            self.canvas.box(left, self.y, right + 2, self.y + height + 2)
            self.canvas.text(left + 10, self.y + 4, label, small)
            for number, line in enumerate(lines):
                top = self.y + small.line_height + 4 + number * self.style.line_height
                self.canvas.text(left + 12, top, line, self.style)
        self.y += height


def column_edges(left: int, right: int, shares: Sequence[int]) -> list[int]:
    """Return where columns begin, and where the last one ends."""
    total = sum(shares)
    return [left + (right - left) * sum(shares[:number]) // total for number in range(len(shares) + 1)]


class _Table:
    """A table that is being drawn."""

    def __init__(self, flow: PageFlow, columns: Sequence[Column], look: TableLook) -> None:
        self.flow, self.columns, self.look = flow, columns, look
        self.edges = column_edges(flow.left, flow.right, [column.share for column in columns])
        self.padding = 8 if look == "grid" else 4

    def draw_titles(self) -> None:
        """Draw the titles; at least one row fits below them."""
        style = self.flow.style.bolder()
        cells = [wrap(column.title, style, self._inner(number)) for number, column in enumerate(self.columns)]
        self.flow.ensure_space(self._height(cells, style) + 3 * style.line_height)
        top, height = self.flow.y, self._height(cells, style)
        if self.look == "grid":
            self.flow.canvas.shade(self.flow.left, top, self.flow.right, top + height)
        self._draw_cells(cells, [style] * len(cells))
        if self.look != "grid":
            self.flow.canvas.rule(self.flow.left, self.flow.y, self.flow.right, 3)
            self.flow.y += 6

    def draw_row(self, row: Sequence[str]) -> None:
        """Draw a row, on a new page below the titles if this one is full."""
        styles = [self.flow.style.bolder() if column.bold else self.flow.style for column in self.columns]
        cells = [wrap(text, styles[number], self._inner(number)) for number, text in enumerate(row)]
        if self.flow.ensure_space(self._height(cells, self.flow.style)):
            self.draw_titles()
        self._draw_cells(cells, styles)
        if self.look == "rules":
            self.flow.canvas.rule(self.flow.left, self.flow.y, self.flow.right, 1)
            self.flow.y += 2

    def draw_section(self, heading: str) -> None:
        """Draw a heading over the whole width; at least one row fits below it."""
        style = self.flow.style.bolder()
        lines = wrap(heading, style, self.flow.width - 2 * self.padding)
        height = len(lines) * style.line_height + 2 * self.padding
        if self.flow.ensure_space(height + 2 * style.line_height):
            self.draw_titles()
        for number, line in enumerate(lines):
            top = self.flow.y + self.padding + number * style.line_height
            self.flow.canvas.text(self.flow.left + self.padding, top, line, style)
        if self.look == "grid":
            self.flow.canvas.box(self.flow.left, self.flow.y, self.flow.right + 2, self.flow.y + height + 2)
        self.flow.y += height

    def _inner(self, number: int) -> int:
        return self.edges[number + 1] - self.edges[number] - 2 * self.padding

    def _height(self, cells: Sequence[Sequence[str]], style: FontStyle) -> int:
        return max(len(lines) for lines in cells) * style.line_height + 2 * self.padding

    def _draw_cells(self, cells: Sequence[Sequence[str]], styles: Sequence[FontStyle]) -> None:
        height = self._height(cells, self.flow.style)
        canvas, top = self.flow.canvas, self.flow.y
        for number, (lines, style) in enumerate(zip(cells, styles, strict=True)):
            for place, line in enumerate(lines):
                y = top + self.padding - 2 + place * style.line_height
                canvas.text(self.edges[number] + self.padding, y, line, style)
            if self.look == "grid":
                canvas.box(self.edges[number], top, self.edges[number + 1] + 2, top + height + 2)
        self.flow.y += height
