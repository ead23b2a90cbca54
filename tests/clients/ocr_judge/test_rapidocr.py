"""RapidOCR, another engine than ours, reads the pages that we draw."""

import json
import subprocess
from pathlib import Path

import pytest

from clerkship.formats.fax_pages.files import write_png
from clerkship.formats.fax_pages.matching import find_value
from clerkship.formats.fax_pages.page import PageWord, PageWords
from clerkship.simulators.fax.templates.registry import TEMPLATES
from tests.clients.installs import CannotInstall, python_environment
from tests.simulators.fax.test_templates import FULL

pytestmark = pytest.mark.slow

PROGRAMS = Path(__file__).parent / "programs"
MAX_SECONDS = 240
IDENTIFIERS = ["CHP4471902", "RFM-204417", "04/09/1961", "1093817465", "Marisol Quintana"]


def read_with_rapidocr(picture: Path) -> PageWords:
    """Return the lines that RapidOCR reads; skip the test if it cannot be installed."""
    try:
        python = python_environment("rapidocr", PROGRAMS / "rapidocr.txt")
    except CannotInstall as problem:
        pytest.skip(str(problem))
    command = [str(python), str(PROGRAMS / "read_page.py"), str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    if "ImportError" in done.stderr:
        pytest.skip(f"RapidOCR cannot be imported: {done.stderr.strip()[-300:]}")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout.splitlines()[-1])
    return PageWords(
        words=tuple(
            PageWord(text=row["text"], left=row["box"][0][0], top=row["box"][0][1], width=9, height=30, line=line)
            for line, row in enumerate(rows)
        )
    )


def test_another_engine_reads_the_identifiers_of_a_referral_letter(tmp_path: Path) -> None:
    page, words = TEMPLATES["referral_letter"].draw_values(FULL["referral_letter"], "seed")[0]
    drawn = [value for value in IDENTIFIERS if find_value(value, words)]
    assert len(drawn) >= 4
    picture = tmp_path / "page.png"
    picture.write_bytes(write_png(page))
    read = read_with_rapidocr(picture)
    assert [value for value in drawn if not find_value(value, read, tolerant=True)] == []
