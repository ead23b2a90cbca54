"""Documents become fax pages.

Text is drawn here. PDF, TIFF, PNG and JPEG files are untrusted: a process with limits decodes them, so that a file that
takes too much memory or time, or that crashes the decoder, is refused. Only dots count: text layers are never read.
"""

import hashlib
import queue
import zlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import PurePath
from threading import Lock
from typing import Any, NamedTuple

import orjson

from clerkship.formats.fax_pages.document import MAX_DOCUMENT_BYTES, DocumentFormat, FaxDocument, UnreadableDocument
from clerkship.formats.fax_pages.file_format import decode_text, find_office_format, find_signature
from clerkship.formats.fax_pages.page import MAX_CACHED_PAGES, FaxPage, PageWords, Resolution
from clerkship.formats.fax_pages.text_pages import render_text
from clerkship.formats.fax_pages.worker import WorkerCrashed, WorkerLimitExceeded, WorkerLimits, WorkerProcess
from clerkship.kit.extras import describe_install
from clerkship.model.errors import MissingExtra

LIMITS = WorkerLimits(memory=1_000_000_000, cpu_seconds=20, wall_seconds=120)
"""What the conversion of one document may take. The wall limit is for a machine with other work to do."""
MAX_WORKERS = 2
TEXT_TYPES = ("", "text/plain", "text/csv", "text/markdown", "application/octet-stream")
TEXT_SUFFIXES = ("", ".txt", ".text", ".md", ".csv", ".log", ".asc")
_PACKAGES = ("PIL", "pypdfium2", "font_roboto")
EXPECTED = "expected: PDF, TIFF, PNG, JPEG or plain text"


class ConversionUnavailable(MissingExtra):
    """The packages that convert documents are not installed. It says nothing about the document or the agent."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"documents cannot be converted to fax pages: not installed: {', '.join(missing)}; "
            f"install what is missing with {describe_install('fax')}"
        )


class ConvertedPage(NamedTuple):
    """A page of a document."""

    page: FaxPage
    words: PageWords | None
    """The words that were drawn; None if only the picture is known."""


def detect_format(name: str, declared_type: str, data: bytes) -> DocumentFormat:
    """Return the format of a file by its content; raise UnreadableDocument if it is none that can be faxed.

    Plain text has no signature: what looks like text is text unless its name or its media type says otherwise.
    """
    _check_size(name, data)
    format = find_signature(data)
    if format is not None:
        return format
    office = find_office_format(name, data)
    if office:
        reason = f"{name!r} is a file of the format {office}, which is not converted; save it as PDF and send that"
        raise UnreadableDocument("unknown_format", f"{reason} ({EXPECTED})")
    media_type = declared_type.partition(";")[0].strip().lower()
    suffix = PurePath(name).suffix.lower()
    if decode_text(data) is None:
        raise UnreadableDocument("unknown_format", f"{name!r} has an unknown format ({EXPECTED})")
    if media_type not in TEXT_TYPES or suffix not in TEXT_SUFFIXES:
        claim = f"of type {media_type}" if media_type not in TEXT_TYPES else f"named {suffix}"
        raise UnreadableDocument("unknown_format", f"{name!r} is {claim}, but its content is not ({EXPECTED})")
    return "text"


def convert(document: FaxDocument, resolution: Resolution) -> list[ConvertedPage]:
    """Return the pages of a document. Raise UnreadableDocument if it cannot be converted, and ConversionUnavailable if
    an extra is missing.

    A page that is a fax page already, because it comes from a file that this package wrote, stays as it is: it has the
    same dots, the same resolution and the same hash.
    """
    return CONVERTER.convert(document, resolution)


def _check_size(name: str, data: bytes) -> None:
    if not data:
        raise UnreadableDocument("no_pages", f"{name!r} is empty")
    if len(data) > MAX_DOCUMENT_BYTES:
        size = f"{len(data):,} bytes (at most {MAX_DOCUMENT_BYTES:,})"
        raise UnreadableDocument("too_large", f"{name!r} has {size}")


def _check_libraries(format: DocumentFormat) -> None:
    needed = _PACKAGES if format == "text" else _PACKAGES[:2]  # a font is for text only
    missing = [package for package in needed if find_spec(package) is None]
    if missing:
        raise ConversionUnavailable(missing)


class _PageCache:
    """The pages of the files that were converted last, by the content of the file. Threads can share it."""

    def __init__(self, max_pages: int) -> None:
        self._max_pages = max_pages
        self._files: dict[str, list[FaxPage]] = {}
        self._lock = Lock()

    def get(self, key: str) -> list[FaxPage] | None:
        """Return the pages of a file; None if they are not cached."""
        with self._lock:
            pages = self._files.pop(key, None)
            if pages is not None:
                self._files[key] = pages  # used last: removed last
            return pages

    def put(self, key: str, pages: list[FaxPage]) -> None:
        """Add the pages of a file, and remove those of the files that were used longest ago."""
        with self._lock:
            self._files.pop(key, None)
            self._files[key] = pages
            while sum(map(len, self._files.values())) > self._max_pages:
                self._files.pop(next(iter(self._files)))


class Converter:
    """Converts documents, files in processes of its own; the same file once. Threads can share it."""

    def __init__(self, limits: WorkerLimits = LIMITS) -> None:
        self._cache = _PageCache(MAX_CACHED_PAGES)
        # The process that was used last is used next, so that one alone is started where one is enough.
        self._workers: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
        for _ in range(MAX_WORKERS):
            self._workers.put(WorkerProcess("clerkship.formats.fax_pages.conversion_worker:convert_request", limits))

    def convert(self, document: FaxDocument, resolution: Resolution) -> list[ConvertedPage]:
        """Return the pages of a document. Raise UnreadableDocument if it cannot be converted."""
        _check_size(document.name, document.data)
        _check_libraries(document.format)
        if document.format != "text":
            return [ConvertedPage(page, None) for page in self._convert_file(document, resolution)]
        text = decode_text(document.data)
        if text is None:
            raise UnreadableDocument("corrupt", f"{document.name!r} is not text (expected: UTF-8)")
        return [ConvertedPage(page, words) for page, words in render_text(text, resolution)]

    def inspect(self, document: FaxDocument, *, with_text: bool = False) -> list[str]:
        """Return the text layer of each page of a file that is not plain text: empty without one, and without
        `with_text`. Raise UnreadableDocument if it cannot be opened.
        """
        _check_size(document.name, document.data)
        _check_libraries(document.format)
        head = orjson.dumps({"format": document.format, "with_text": with_text})
        texts: list[str] = _parse_head(document.name, self._call(document, head))["texts"]
        return texts

    def close(self) -> None:
        """End the processes. The next conversion starts another."""
        for worker in list(self._workers.queue):
            worker.close()

    def _convert_file(self, document: FaxDocument, resolution: Resolution) -> list[FaxPage]:
        """Return the pages of a file: those that are cached, or else those that a process decodes."""
        head = orjson.dumps({"format": document.format, "resolution": resolution})
        key = hashlib.sha256(head + b"\n" + document.data).hexdigest()
        pages = self._cache.get(key)
        if pages is None:
            pages = _parse_pages(document.name, self._call(document, head))
            self._cache.put(key, pages)
        return pages

    def _call(self, document: FaxDocument, head: bytes) -> bytes:
        """Return what a process replies about a file."""
        worker = self._workers.get()
        try:
            return worker.call(head + b"\n" + document.data)
        except WorkerLimitExceeded as error:
            code = "too_large" if error.limit == "memory" else "too_slow"
            raise UnreadableDocument(code, f"{document.name!r} cannot be converted: {error}") from error
        except WorkerCrashed as error:
            # Without memory PDFium ends by SIGABRT, SIGTRAP or, on its stack, SIGSEGV: no signal tells the cause.
            message = f"{document.name!r} takes too much memory to decode, or crashes the decoder"
            raise UnreadableDocument("too_large", message) from error
        finally:
            self._workers.put(worker)


CONVERTER = Converter()
"""The one that all faxes of this process share. Its processes are started on first use."""


def _parse_head(name: str, reply: bytes) -> dict[str, Any]:
    result: dict[str, Any] = orjson.loads(reply.partition(b"\n")[0])
    if "code" in result:
        raise UnreadableDocument(result["code"], f"{name!r}: {result['reason']}")
    return result


def _parse_pages(name: str, reply: bytes) -> list[FaxPage]:
    pages, start = [], 0
    dots = reply.partition(b"\n")[2]
    for page in _parse_head(name, reply)["pages"]:
        end = start + page.pop("bytes")
        pages.append(FaxPage(dots=zlib.decompress(dots[start:end]), **page))
        start = end
    return pages
