"""Pages that were put into the machine upside down or sideways, and text that is turned on an upright page."""

from collections.abc import Iterable
from typing import Literal

from clerkship.formats.fax_pages.image import fill_boxes, from_image, place_on_page, to_image
from clerkship.formats.fax_pages.page import DOTS_PER_INCH, FaxPage, OcrWords, PageWord, PageWords

QuarterTurns = Literal[1, 2, 3]
QUARTER_TURNS: tuple[QuarterTurns, ...] = (1, 2, 3)
"""To the left."""
COMMON_WORDS = frozenset((
    "and", "by", "date", "fax", "for", "from", "in", "is", "name", "no", "of", "on", "patient", "phone", "the",
    "to", "with",
))  # fmt: skip
"""Words that an English page has, and that an engine does not find by chance on a turned one."""
MIN_COMMON_WORDS = 3
MIN_TEXT_DOTS = 150
"""Black dots that a short name or number has at least, in the smallest letters that can be read on a fax."""


def turn_page(page: FaxPage, quarters: QuarterTurns) -> FaxPage:
    """Return the page after a number of quarter turns, as wide as a page, in the resolution `fine`."""
    horizontal, vertical = DOTS_PER_INCH[page.resolution]
    image = to_image(page).convert("L").rotate(90 * quarters, expand=True)
    dpi = (horizontal, vertical) if quarters == 2 else (vertical, horizontal)
    return from_image(image, "fine", dpi)


def turn_back(words: OcrWords, page: FaxPage, quarters: QuarterTurns) -> OcrWords:
    """Return the words of a turned page with their boxes on the page itself."""
    horizontal, vertical = DOTS_PER_INCH[page.resolution]
    is_sideways = quarters != 2
    size = (page.height, page.width) if is_sideways else (page.width, page.height)
    place = place_on_page(size, "fine", (vertical, horizontal) if is_sideways else (horizontal, vertical))
    boxes = []
    for word in words.words:
        start, end = ((x - place.left) / place.width for x in (word.left, word.left + word.width))
        top, bottom = (y / place.height for y in (word.top, word.top + word.height))
        left, upper, right, lower = {
            1: (1 - bottom, start, 1 - top, end),
            2: (1 - end, 1 - bottom, 1 - start, 1 - top),
            3: (top, 1 - end, bottom, 1 - start),
        }[quarters]
        box = word._replace(
            left=round(left * page.width),
            top=round(upper * page.height),
            width=max(round((right - left) * page.width), 1),
            height=max(round((lower - upper) * page.height), 1),
        )
        boxes.append(box)
    return words.model_copy(update={"words": tuple(boxes)})


def cut_top(page: FaxPage, lines: int) -> FaxPage:
    """Return the page without the lines at its top; the page itself if it has no more."""
    if page.height <= lines:
        return page
    return FaxPage(
        resolution=page.resolution,
        width=page.width,
        height=page.height - lines,
        dots=page.dots[lines * page.width // 8 :],
    )


def erase_words(page: FaxPage, words: Iterable[PageWord]) -> FaxPage:
    """Return the page without some words."""
    return fill_boxes(page, ((word.left, word.top, word.width, word.height) for word in words), black=False)


def may_have_text(page: FaxPage) -> bool:
    """Return whether a page has enough black dots for a short name or number."""
    return int.from_bytes(page.dots).bit_count() >= MIN_TEXT_DOTS


def looks_upright(words: PageWords) -> bool:
    """Return whether some of the words that an engine read are common ones."""
    texts = {word.text.casefold().strip(".,:;()") for word in words.words}
    return len(texts & COMMON_WORDS) >= MIN_COMMON_WORDS
