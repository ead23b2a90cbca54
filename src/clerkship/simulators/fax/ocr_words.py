"""The words that a recipient gets of a page: those of the datasets first, then the cache on disk, then the engine."""

from clerkship.fax.ocr_cache import open_ocr_cache
from clerkship.fax.page import FaxPage
from clerkship.fax.words import PageWords
from clerkship.settings import load_settings


def read_words(page: FaxPage, shipped: PageWords | None = None) -> PageWords:
    """Return the words of a page: the ones that are shipped, or else those that the engine reads or has read.

    Raise OcrUnavailable if there are none, and OcrFailed. Both are errors of the platform: neither a pass nor a fail.
    """
    return shipped if shipped is not None else open_ocr_cache(load_settings().cache).read(page)
