"""Pages that were put into the machine upside down or sideways, and text that is turned on an upright page."""

from collections.abc import Iterable
from typing import Literal

from clerkship.formats.fax_pages.image import fill_boxes, from_image, to_image
from clerkship.formats.fax_pages.page import DOTS_PER_INCH, FaxPage, PageWord, PageWords

QuarterTurns = Literal[1, 2, 3]
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
