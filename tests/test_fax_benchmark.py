"""The fax benchmark does the work that it measures, with small sizes."""

import pytest

from benchmarks import fax
from benchmarks.fax import CASES, QUICK_SIZES, compare, measure

pytestmark = pytest.mark.slow

LINES = 3
"""Lines of the letter: OCR takes as long as the letter is."""


@pytest.mark.parametrize("case", CASES)
def test_case_returns_figures(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fax, "LETTER", "\n".join(fax.LETTER.splitlines()[:LINES]))
    assert CASES[case](QUICK_SIZES[case])


def test_case_is_measured_in_a_process_of_its_own() -> None:
    figures = measure("idle", 1)
    assert figures.keys() == {"kilobytes", "microseconds"}
    assert all(figure >= 0 for figure in figures.values())


def test_table_compares_with_the_libraries_alone() -> None:
    conversion = {"ours": 5.0, "plain": 10.0}
    ocr = {"clean": 1.0, "clean_plain": 0.5, "bad": 2.0, "bad_plain": 2.0}
    assert "| PDF of 3 pages to fax pages | 5.00/s | 10.00/s (pypdfium2) | 0.50 |" in compare(conversion, ocr)
