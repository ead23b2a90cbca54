"""The words of a page as compact JSON, as they are kept on disk and passed between processes."""

from typing import Any

import orjson

from clerkship.formats.fax_pages.page import OcrWords, PageWord, PageWords

WordRow = tuple[str, int, int, int, int, int]
"""Text, left, top, width, height and line of a word."""
MAX_WORDS = 20_000
"""Words of one page."""


class InvalidPageText(ValueError):
    """JSON that is not a list of words."""


def dump_words(words: PageWords) -> bytes:
    """Return the words as one line of JSON."""
    return orjson.dumps([tuple(word) for word in words.words])


def parse_words(data: bytes) -> PageWords:
    """Return the words of one line of JSON. Raise InvalidPageText."""
    try:
        rows = orjson.loads(data)
    except orjson.JSONDecodeError as invalid:
        raise InvalidPageText(f"not JSON: {invalid}") from None
    return build_words(rows)


def dump_ocr_words(words: OcrWords) -> bytes:
    """Return the words of an engine as one line of JSON, with the places of those that it is sure of."""
    return orjson.dumps([[tuple(word) for word in words.words], words.sure])


def parse_ocr_words(data: bytes) -> OcrWords:
    """Return the words of an engine. Raise InvalidPageText."""
    try:
        rows, sure = orjson.loads(data)
    except (ValueError, TypeError) as invalid:  # not JSON, or not two parts
        raise InvalidPageText(f"not the words of an engine: {invalid}") from None
    words = build_words(rows).words
    if not isinstance(sure, list) or not all(type(place) is int and 0 <= place < len(words) for place in sure):
        raise InvalidPageText("expected the places of words that are there")
    return OcrWords(words=words, sure=tuple(sure))


def build_words(rows: Any) -> PageWords:
    """Return the words of a list of rows. Raise InvalidPageText."""
    if not isinstance(rows, list) or len(rows) > MAX_WORDS:
        raise InvalidPageText(f"expected a list of at most {MAX_WORDS:,} words")
    for number, row in enumerate(rows):
        if not _is_row(row):
            raise InvalidPageText(f"word {number}: expected [text, left, top, width, height, line], not {row!r:.80}")
    return PageWords(words=tuple(PageWord(*row) for row in rows))


def _is_row(row: object) -> bool:
    if not isinstance(row, list) or len(row) != 6:
        return False
    return isinstance(row[0], str) and all(type(number) is int for number in row[1:])
