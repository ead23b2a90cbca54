"""The words that an OCR engine reads on a page, cached in the folder of the settings."""

from clerkship.formats.fax_pages.header import get_header_height
from clerkship.formats.fax_pages.ocr_cache import open_ocr_cache
from clerkship.formats.fax_pages.ocr_engine import is_noisy
from clerkship.formats.fax_pages.page import FaxPage, OcrWords
from clerkship.formats.fax_pages.turning import (
    QUARTER_TURNS,
    cut_top,
    looks_upright,
    may_have_text,
    turn_back,
    turn_page,
)
from clerkship.settings import load_settings

MIN_SURE_WORDS = 5
"""Words that the engine is sure of, in a text that is upright. On a turned page it is sure of a few at most."""


def read_words(page: FaxPage) -> OcrWords:
    """Return the words of a page that no dataset has: those in the cache on disk, or else those that the engine reads.

    Raise OcrUnavailable or OcrFailed. Both are errors of the platform: neither a pass nor a fail.
    """
    return open_ocr_cache(load_settings().cache).read(page)


def read_upright(page: FaxPage) -> OcrWords:
    """Return the words of a page. One that is upside down or sideways is turned before it is read.

    The line at the top is drawn by the machine that sends, so it is always upright. A page with much noise is not
    turned: the engine reads little of it in any way, and takes long. Raises as `read_words` does.
    """
    words, top = read_words(page), get_header_height(page.resolution)
    line, body = (_select(words, top, is_below=is_below) for is_below in (False, True))
    rest = cut_top(page, top)
    if _is_upright(body) or not may_have_text(rest) or is_noisy(rest):
        return words
    for quarters in QUARTER_TURNS:
        turned = read_words(turn_page(rest, quarters))
        if _is_upright(turned):
            return _join(line, turn_back(turned, rest, quarters), top)
    return words


def _select(words: OcrWords, top: int, *, is_below: bool) -> OcrWords:
    """Return the words above or below a line of dots."""
    places = [n for n, word in enumerate(words.words) if (word.top + word.height / 2 >= top) == is_below]
    sure = set(words.sure)
    return OcrWords(
        words=tuple(words.words[place] for place in places),
        sure=tuple(number for number, place in enumerate(places) if place in sure),
    )


def _is_upright(words: OcrWords) -> bool:
    return len(words.sure) >= MIN_SURE_WORDS or looks_upright(words)


def _join(line: OcrWords, body: OcrWords, top: int) -> OcrWords:
    """Return the words of the line at the top, and below it those of the rest of the page."""
    count, lines = len(line.words), max((word.line + 1 for word in line.words), default=0)
    words = (word._replace(top=word.top + top, line=word.line + lines) for word in body.words)
    return OcrWords(words=(*line.words, *words), sure=(*line.sure, *(place + count for place in body.sure)))
