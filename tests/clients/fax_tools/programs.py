"""The programs of libtiff and of poppler."""

import subprocess
from pathlib import Path

from PIL import Image

from clerkship.formats.fax_pages.page import DOTS_PER_INCH, FaxPage, Resolution
from clerkship.formats.fax_pages.text_pages import render_text
from tests.clients.sftp_programs import require_program
from tests.formats.fax_pages.pages import random_page

LETTER = "Riverbend Family Medicine\nReferral of José Muñoz, MRN 00123456, born 1961-02-03\nICD-10 E11.9"


def run(*command: object) -> str:
    """Run a program and return what it prints; skip the test if it is not installed."""
    words = [str(word) for word in command]
    require_program(words[0])
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr.lower(), done.stderr
    assert "error" not in done.stderr.lower(), done.stderr
    return done.stdout


def sample_pages() -> list[FaxPage]:
    """Return pages of text and of noise in both resolutions, and one that is not a letter."""
    resolutions: tuple[Resolution, ...] = ("fine", "standard")
    texts = [page for resolution in resolutions for page, _ in render_text(LETTER, resolution)]
    return [*texts, random_page(1), random_page(2, "standard"), random_page(3, "fine", 2291)]


def bitmap(path: Path) -> tuple[tuple[int, int], bytes]:
    """Return the size and the dots of a PBM file, with 1 for black."""
    with Image.open(path) as image:
        return image.size, image.convert("1").tobytes("raw", "1;I")


def expected_bitmap(page: FaxPage) -> tuple[tuple[int, int], bytes]:
    return (page.width, page.height), page.dots


def resolution_of(page: FaxPage) -> tuple[int, int]:
    return DOTS_PER_INCH[page.resolution]
