"""Redact the pages of faxes: words that hold a value are blacked out on the picture."""

from collections.abc import Sequence
from typing import Any

from clerkship.formats.fax_pages.document import UnreadableDocument
from clerkship.formats.fax_pages.files import read_tiff, write_tiff
from clerkship.formats.fax_pages.image import fill_boxes
from clerkship.formats.fax_pages.words import PageWord, PageWords
from clerkship.model.redaction import Redactor
from clerkship.model.run import PageBox
from clerkship.report.fax_pages import PAGE_STORED

MAX_VALUE_WORDS = 30
"""Words of a page that one value is searched in. Spaces and line breaks divide a value into words."""
EDGE = 6
"""Dots around a word that are blacked out with it."""
REDACTED_WORD = "[redacted]"


def find_hidden_words(words: PageWords, by: Redactor) -> list[int]:
    """Return the places of the words that hold a value, also of those that hold a part of it."""
    texts = [word.text for word in words.words]
    if not _has_value(texts, by):
        return []
    hidden: set[int] = set()
    for start in range(len(texts)):
        if start in hidden:
            continue
        for end in range(start + 1, min(start + MAX_VALUE_WORDS, len(texts)) + 1):
            if _has_value(texts[start:end], by):
                first = next(place for place in reversed(range(start, end)) if _has_value(texts[place:end], by))
                hidden.update(range(first, end))
                break
    return sorted(hidden)


def _has_value(texts: Sequence[str], by: Redactor) -> bool:
    """Return whether a value is in words, which may be divided by spaces or, as across lines, by nothing."""
    return any(by.text(joined) != joined for joined in (" ".join(texts), "".join(texts)))


def replace_words(words: PageWords, places: Sequence[int]) -> PageWords:
    """Return the words, without the text of some."""
    hidden = set(places)
    replaced = (
        word._replace(text=REDACTED_WORD) if place in hidden else word for place, word in enumerate(words.words)
    )
    return PageWords(words=tuple(replaced))


def redact_page_words(event: dict[str, Any], by: Redactor) -> dict[str, Any]:
    """Return an event without words of a page that hold a value; other events as they are."""
    stored = event["payload"].get("true_words") if event["kind"] == PAGE_STORED else None
    if stored is None:
        return event
    words = PageWords.model_validate(stored)
    replaced = replace_words(words, find_hidden_words(words, by)).model_dump(mode="json")
    return event | {"payload": event["payload"] | {"true_words": replaced}}


def black_out(tiff: bytes, words: Sequence[PageWord]) -> bytes:
    """Return the file of a page on which words are black; empty if the page cannot be drawn."""
    try:
        [page] = read_tiff(tiff)
        return write_tiff([fill_boxes(page, [_widen(word) for word in words], black=True)])
    except (ImportError, UnreadableDocument):
        return b""


def _widen(word: PageWord) -> PageBox:
    return word.left - EDGE, word.top - EDGE, word.width + 2 * EDGE, word.height + 2 * EDGE
