"""The words of pages that an OCR engine has read, in a folder by page hash, so that each page is read once.

An entry is written to a temporary file and renamed, so processes can write at the same time. A damaged entry is read
again. If the folder is not writable, nothing is cached.
"""

import hashlib
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from clerkship.formats.fax_pages.ocr import OcrUnavailable, describe_engine, read_page
from clerkship.formats.fax_pages.ocr_text import InvalidPageText, dump_ocr_words, parse_ocr_words
from clerkship.formats.fax_pages.page import FaxPage, OcrWords
from clerkship.kit.atomic_write import write_atomically

FOLDER = "fax-text"
MAX_ENTRIES = 5_000
PRUNE_EVERY = 100
"""How many entries are written before the oldest ones are removed."""


class OcrCache:
    """A folder with the words of pages. Without a folder they are kept in memory alone."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / FOLDER if folder is not None else None
        self._recent: dict[str, OcrWords] = {}
        self._written = 0

    def read(self, page: FaxPage) -> OcrWords:
        """Return the words of a page: those that are cached, or else those that the engine reads.

        Raise OcrUnavailable if they are not cached and there is no engine, and OcrFailed.
        """
        words = self._recent.get(page.hash)
        if words is None:
            words = self._recent[page.hash] = self._load(page) or self._read(page)
            while len(self._recent) > PRUNE_EVERY:
                self._recent.pop(next(iter(self._recent)), None)
        return words

    def _read(self, page: FaxPage) -> OcrWords:
        words = read_page(page)
        if self._folder is None:
            return words
        body = dump_ocr_words(words)
        with suppress(OSError):
            write_atomically(self._find_file(page), (_checksum(body), b"\n", body))
            self._written += 1
            if self._written % PRUNE_EVERY == 1:
                self._prune(self._folder)
        return words

    def _load(self, page: FaxPage) -> OcrWords | None:
        """Return the words of an entry; None if it is missing or damaged."""
        with suppress(OSError, InvalidPageText, OcrUnavailable):
            checksum, _, body = self._find_file(page).read_bytes().partition(b"\n")
            if checksum == _checksum(body):
                return parse_ocr_words(body)
        return None

    def _find_file(self, page: FaxPage) -> Path:
        """Return the file of a page. Another version of the engine may read other words."""
        if self._folder is None:
            raise FileNotFoundError("there is no cache folder")
        engine = hashlib.sha256(describe_engine().encode()).hexdigest()[:16]
        return self._folder / f"{page.hash}-{engine}"

    def _prune(self, folder: Path) -> None:
        entries = [path for path in folder.iterdir() if not path.name.startswith(".")]
        if len(entries) > MAX_ENTRIES:
            for path in sorted(entries, key=lambda path: path.stat().st_mtime)[:-MAX_ENTRIES]:
                path.unlink(missing_ok=True)


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


@lru_cache(maxsize=8)
def open_ocr_cache(folder: Path | None) -> OcrCache:
    """Return the cache in a folder; the same one each time."""
    return OcrCache(folder)
