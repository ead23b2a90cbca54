"""poppler's programs read our PDF files."""

import re
from pathlib import Path

import pytest

from clerkship.formats.fax_pages.files import write_pdf
from tests.clients.fax_tools.programs import bitmap, expected_bitmap, resolution_of, run, sample_pages


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fax.pdf"
    path.write_bytes(write_pdf(sample_pages()))
    return path


def test_pdfinfo_gives_the_size_of_each_page_on_paper(file: Path) -> None:
    pages = sample_pages()
    printed = run("pdfinfo", "-f", 1, "-l", len(pages), file)
    sizes = [(float(x), float(y)) for x, y in re.findall(r"Page +\d+ size: +([\d.]+) x ([\d.]+) pts", printed)]
    for size, page in zip(sizes, pages, strict=True):
        horizontal, vertical = resolution_of(page)
        assert size == pytest.approx((page.width * 72 / horizontal, page.height * 72 / vertical), abs=0.01)
    assert "CreationDate" not in printed


def test_pdfimages_lists_one_group_4_picture_a_page(file: Path) -> None:
    pages = sample_pages()
    lines = [line.split() for line in run("pdfimages", "-list", file).splitlines()[2:]]
    assert [(int(line[3]), int(line[4]), line[7], line[8]) for line in lines] == [
        (page.width, page.height, "1", "ccitt") for page in pages
    ]
    assert [(int(line[12]), int(line[13])) for line in lines] == [resolution_of(page) for page in pages]


def test_pdfimages_takes_out_the_same_dots(file: Path, tmp_path: Path) -> None:
    run("pdfimages", file, tmp_path / "out")
    written = sorted(tmp_path.glob("out-*.pbm"))
    assert [bitmap(path) for path in written] == [expected_bitmap(page) for page in sample_pages()]


@pytest.mark.parametrize("number", [1, 2])
def test_pdftoppm_draws_the_text(file: Path, tmp_path: Path, number: int) -> None:
    page = sample_pages()[number - 1]
    horizontal, vertical = resolution_of(page)
    out = tmp_path / "page"
    run("pdftoppm", "-mono", "-singlefile", "-f", number, "-rx", horizontal, "-ry", vertical, file, out)
    size, dots = bitmap(out.with_suffix(".pbm"))
    assert size == (page.width, page.height)
    # poppler stretches a picture to the dots that it touches, here by one line: some edges of letters differ.
    different = sum((ours ^ theirs).bit_count() for ours, theirs in zip(page.dots, dots, strict=True))
    black = sum(byte.bit_count() for byte in page.dots)
    assert different < black / 10


def test_pdf_has_no_text_layer(file: Path) -> None:
    assert run("pdftotext", file, "-").strip() == ""
