"""Draw pages: text, lines, boxes and pictures. The canvas records each word that it draws: the true text of a page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from clerkship.formats.fax_pages.fonts import (
    FontStyle,
    choose_style,
    load_font,
    measure,
    missing_extra,
    replace_missing_letters,
    space_width,
    text_width,
)
from clerkship.formats.fax_pages.page import LETTER_HEIGHT, PAGE_WIDTH, FaxPage, PageWord, PageWords, Resolution

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

Align = Literal["left", "center", "right"]
DrawnPage = tuple[FaxPage, PageWords]
"""A page and the words that are drawn on it."""
BLACK, WHITE = 0, 255
THRESHOLD = 150
"""Gray below this value is black. Above the middle, so that thin strokes of letters stay."""
PAGE_HEIGHT = LETTER_HEIGHT["fine"]


@dataclass
class Sheet:
    """A page that is being drawn, in gray."""

    image: "Image.Image"
    draw: "ImageDraw.ImageDraw"
    words: list[PageWord] = field(default_factory=list)
    baseline: int = -1
    """Of the word that was drawn last: words on the same baseline are one line."""
    line: int = -1


class Canvas:
    """The pages of a document. All positions are dots of a `fine` page, from the left and from the top."""

    def __init__(self, resolution: Resolution = "fine", height: int = PAGE_HEIGHT) -> None:
        self.resolution: Resolution = resolution
        self.height = height
        self.sheets: list[Sheet] = []
        self.add_page()

    def add_page(self) -> None:
        """Begin a new page; what is drawn from now on is on it."""
        try:
            from PIL import Image, ImageDraw  # noqa: PLC0415  (an extra)
        except ImportError:
            raise missing_extra() from None
        image = Image.new("L", (PAGE_WIDTH, self.height), WHITE)
        self.sheets.append(Sheet(image, ImageDraw.Draw(image)))
        self.sheet = self.sheets[-1]

    def select_page(self, number: int) -> None:
        """Draw on an earlier page, by its number from 0."""
        self.sheet = self.sheets[number]

    def text(self, x: int, top: int, text: str, style: FontStyle, align: Align = "left", *, color: int = BLACK) -> int:
        """Draw one line of text and return its width. `x` is its left end, its center or its right end."""
        text = replace_missing_letters(text, style)
        width = text_width(text, style)
        x -= {"left": 0, "center": width // 2, "right": width}[align]
        baseline = top + style.dots
        for word in text.split(" "):
            if not word:  # one of several spaces
                x += space_width(style)
                continue
            font = load_font(choose_style(word, style))
            self.sheet.draw.text((x, baseline), word, fill=color, font=font, anchor="ls")
            left, above, right, below = (round(side) for side in font.getbbox(word, anchor="ls"))
            self.record(word, (x + left, baseline + above, x + right, baseline + below), baseline)
            x += measure(word, style) + space_width(style)
        return width

    def record(self, text: str, box: tuple[int, int, int, int], baseline: int) -> None:
        """Record a word that is drawn in a box (left, top, right, bottom). Boxes end at the edge of the paper."""
        sheet = self.sheet
        if baseline != sheet.baseline:
            sheet.baseline, sheet.line = baseline, sheet.line + 1
        left, top = max(0, box[0]), max(0, box[1])
        right, bottom = min(PAGE_WIDTH, max(box[2], left + 1)), min(self.height, max(box[3], top + 1))
        sheet.words.append(
            PageWord(text=text, left=left, top=top, width=right - left, height=bottom - top, line=sheet.line)
        )

    def rule(self, left: int, top: int, right: int, thickness: int = 2) -> None:
        """Draw a horizontal line."""
        self.sheet.draw.rectangle((left, top, right - 1, top + thickness - 1), fill=BLACK)

    def upright(self, x: int, top: int, bottom: int, thickness: int = 2) -> None:
        """Draw a vertical line."""
        self.sheet.draw.rectangle((x, top, x + thickness - 1, bottom - 1), fill=BLACK)

    def box(self, left: int, top: int, right: int, bottom: int, thickness: int = 2) -> None:
        """Draw the frame of a box."""
        self.sheet.draw.rectangle((left, top, right - 1, bottom - 1), outline=BLACK, width=thickness)

    def fill(self, left: int, top: int, right: int, bottom: int, color: int = BLACK) -> None:
        """Fill a box."""
        self.sheet.draw.rectangle((left, top, right - 1, bottom - 1), fill=color)

    def shade(self, left: int, top: int, right: int, bottom: int, step: int = 7) -> None:
        """Fill a box with rows of single dots, as gray looks on a fax. Draw text on it afterwards."""
        points = [
            (x, y)
            for row, y in enumerate(range(top + step // 2, bottom, step))
            for x in range(left + (step // 2 if row % 2 else 0) + 1, right, step)
        ]
        self.sheet.draw.point(points, fill=BLACK)

    def dots(self, points: Sequence[tuple[int, int]], thickness: int = 3, origin: tuple[int, int] = (0, 0)) -> None:
        """Draw points, seen from an origin, with a square pen: the strokes of a hand, or a shape."""
        right, down = origin
        if thickness == 1:
            self.sheet.draw.point([(x + right, y + down) for x, y in points], fill=BLACK)
            return
        before = thickness // 2
        for x, y in points:
            left, top = x + right - before, y + down - before
            self.sheet.draw.rectangle((left, top, left + thickness - 1, top + thickness - 1), fill=BLACK)

    def tick_box(self, x: int, top: int, label: str, style: FontStyle, *, is_ticked: bool) -> int:
        """Draw a box to tick with its label, and return the width of both. It is recorded as the word `[X]` or `[]`."""
        side = style.dots * 4 // 5
        y = top + style.dots - side + 2
        self.box(x, y, x + side, y + side, 2)
        baseline = top + style.dots
        if is_ticked:
            for step in range(3, side - 3):
                self.dots([(x + step, y + step), (x + side - 1 - step, y + step)], 4)
        self.record("[X]" if is_ticked else "[]", (x, y, x + side, y + side), baseline)
        gap = side * 3 // 5
        return side + gap + self.text(x + side + gap, top, label, style)

    def paste(self, dots: bytes, x: int, y: int, width: int, height: int) -> None:
        """Draw the black dots of a small picture; white ones stay transparent, as those of a stamp."""
        from PIL import Image  # noqa: PLC0415  (an extra)

        mask = Image.frombytes("1", (width, height), dots)
        self.sheet.image.paste(BLACK, (x, y), mask)

    def finish(self) -> list[DrawnPage]:
        """Return the pages in black and white with their words."""
        return [(self._to_page(sheet), self._to_words(sheet)) for sheet in self.sheets]

    def _to_page(self, sheet: Sheet) -> FaxPage:
        # Two lines of a `fine` page are one of a `standard` page.
        image = sheet.image if self.resolution == "fine" else sheet.image.reduce((1, 2))
        dots = image.point([255] * THRESHOLD + [0] * (256 - THRESHOLD), "1").tobytes()
        return FaxPage(resolution=self.resolution, width=image.width, height=image.height, dots=dots)

    def _to_words(self, sheet: Sheet) -> PageWords:
        if self.resolution == "fine":
            return PageWords(words=tuple(sheet.words))
        return PageWords(words=tuple(_halve(word) for word in sheet.words))


def _halve(word: PageWord) -> PageWord:
    """Return a word with its box on a page with half as many lines."""
    bottom = (word.top + word.height + 1) // 2
    return word._replace(top=word.top // 2, height=bottom - word.top // 2)
