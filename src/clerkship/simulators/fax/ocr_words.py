"""The words that an OCR engine reads on a page, cached in the folder of the settings."""

from clerkship.formats.fax_pages.ocr_cache import open_ocr_cache
from clerkship.formats.fax_pages.page import FaxPage, OcrWords
from clerkship.settings import load_settings


def read_words(page: FaxPage) -> OcrWords:
    """Return the words of a page that no dataset has: those in the cache on disk, or else those that the engine reads.

    Raise OcrUnavailable or OcrFailed. Both are errors of the platform: neither a pass nor a fail.
    """
    return open_ocr_cache(load_settings().cache).read(page)
