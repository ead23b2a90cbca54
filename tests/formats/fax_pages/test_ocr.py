"""Tesseract reads fax pages; what it read is cached by page hash."""

import random
from functools import cache
from pathlib import Path

import pytest

from clerkship.formats.fax_pages import ocr
from clerkship.formats.fax_pages.degradation import Degradation
from clerkship.formats.fax_pages.degrade import degrade
from clerkship.formats.fax_pages.matching import find_value
from clerkship.formats.fax_pages.ocr import OcrUnavailable, find_language_data, read_page
from clerkship.formats.fax_pages.ocr_cache import FOLDER, OcrCache
from clerkship.formats.fax_pages.page import FaxPage, PageWords, Resolution
from clerkship.formats.fax_pages.text_pages import render_text
from clerkship.formats.fax_pages.worker import WorkerCrashed, WorkerProcess

VALUES = ["W271885306", "XQH-4471-0093", "1093817465", "E11.65", "07/14/1958", "Maria Lopez", "99214"]
LETTER = """\
Riverbend Family Medicine

Member ID: W271885306    Reference: XQH-4471-0093

We refer Maria Lopez, born 07/14/1958, for an opinion.
Diagnosis E11.65, visit 99214.

Signed, NPI 1093817465
"""


def letter(resolution: Resolution) -> FaxPage:
    """Return the letter as one page."""
    [(page, _)] = render_text(LETTER, resolution)
    return page


@cache
def read_letter(resolution: Resolution) -> PageWords:
    """Return the words that the engine reads in the letter."""
    return read_page(letter(resolution))


def short_note(text: str = "Call Maria Lopez") -> FaxPage:
    """Return a page with few words, which is read fast."""
    [(page, _)] = render_text(text, "standard")
    return page


@pytest.mark.parametrize("resolution", ["fine", "standard"])
def test_all_identifiers_of_a_clean_page_are_read(resolution: Resolution) -> None:
    words = read_letter(resolution)
    assert [value for value in VALUES if not find_value(value, words, tolerant=True)] == []


def test_most_identifiers_of_a_bad_line_are_read() -> None:
    page = degrade(letter("fine"), Degradation(noise=0.5, skew=0.7), "seed")
    words = read_page(page)
    assert sum(bool(find_value(value, words, tolerant=True)) for value in VALUES) >= len(VALUES) - 1


@pytest.mark.parametrize("resolution", ["fine", "standard"])
def test_boxes_are_in_the_dots_of_the_page(resolution: Resolution) -> None:
    [(_, true_words)] = render_text(LETTER, resolution)
    [found] = find_value("W271885306", read_letter(resolution), tolerant=True)
    [drawn] = find_value("W271885306", true_words)
    (left, top, width, height), (true_left, true_top, true_width, true_height) = found.boxes[0], drawn.boxes[0]
    assert abs(left - true_left) < 12
    assert abs(left + width - true_left - true_width) < 12
    assert true_top <= top + 2
    assert top + height <= true_top + true_height + 2


def test_a_page_is_read_the_same_after_another_page() -> None:
    first = read_page(short_note())
    read_page(letter("fine"))
    assert read_page(short_note()) == first


def test_an_empty_page_has_no_words() -> None:
    assert read_page(FaxPage(height=2156, dots=bytes(216 * 2156))).words == ()


def test_a_page_of_noise_is_read_in_bounded_time() -> None:
    dots = random.Random(1).randbytes(216 * 400)
    words = read_page(FaxPage(height=400, dots=dots))
    assert find_value("W271885306", words, tolerant=True) == []


def test_a_page_that_crashes_the_engine_has_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = WorkerProcess("tests.formats.fax_pages.worker_targets:crash", ocr.LIMITS)
    monkeypatch.setattr(ocr, "_open_worker", lambda: worker)
    assert read_page(letter("fine")).words == ()


def test_an_exception_of_the_engine_is_an_error_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = WorkerProcess("tests.formats.fax_pages.worker_targets:no_such_function", ocr.LIMITS)
    monkeypatch.setattr(ocr, "_open_worker", lambda: worker)
    with pytest.raises(WorkerCrashed, match="no_such_function"):
        read_page(letter("fine"))
    worker.close()


def test_without_an_engine_the_error_says_how_to_install_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "_PACKAGES", ("no_such_engine",))
    with pytest.raises(OcrUnavailable, match=r"pip install 'clerkship\[ocr\]'"):
        read_page(letter("fine"))


def test_without_language_data_there_is_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    find_language_data.cache_clear()
    monkeypatch.setattr(ocr, "LANGUAGE_DATA", "no-such.traineddata")
    with pytest.raises(OcrUnavailable):
        read_page(letter("fine"))
    find_language_data.cache_clear()


def test_a_cached_page_is_not_read_again(tmp_path: Path) -> None:
    page, other = short_note(), short_note("Another page")
    OcrCache(tmp_path).read(page)
    [entry] = (tmp_path / FOLDER).iterdir()
    entry.rename(entry.with_name(entry.name.replace(page.hash, other.hash)))
    assert OcrCache(tmp_path).read(other) == OcrCache(None).read(page)


def test_a_damaged_cache_entry_is_read_again(tmp_path: Path) -> None:
    page = short_note()
    words = OcrCache(tmp_path).read(page)
    [entry] = (tmp_path / FOLDER).iterdir()
    entry.write_bytes(entry.read_bytes()[:-40])
    assert OcrCache(tmp_path).read(page) == words


def test_a_folder_that_is_not_writable_is_no_error(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("a file, not a folder")
    assert OcrCache(tmp_path).read(short_note()).words
