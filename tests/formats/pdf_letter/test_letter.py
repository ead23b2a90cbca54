"""Letters as PDF files, read by a program that others wrote."""

import re
from pathlib import Path
from shutil import which
from subprocess import run

import pytest
from pypdfium2 import PdfDocument

from clerkship.formats.pdf_letter.font import TextStyle, measure_text, wrap_text
from clerkship.formats.pdf_letter.letter import LetterContent, LetterTable, build_letter, build_text_pdf

LETTER = LetterContent(
    sender="Cedar Mutual",
    sender_lines=("400 Harbor Street, Portland, OR 97201", "Provider line 555-0100"),
    date="March 2, 2026",
    addressee=("Riverbend Family Medicine", "12 River Road"),
    subject="Your request R-48213 (72148)",
    body=(
        "We reviewed your request for José Müller – “MRI” \\ (lumbar).",
        LetterTable((("Member", "José Müller"), ("Reason", "Six weeks of treatment are required. " * 8))),
        LetterTable((("Code", "Service", "Decision"), ("72148", "MRI of the lumbar spine", "Denied")), has_header=True),
        *["You can appeal within 180 days. " * 20] * 8,
    ),
)


def read_pages(data: bytes) -> list[str]:
    return [page.get_textpage().get_text_bounded().replace("\r\n", "\n") for page in PdfDocument(data)]


def test_a_letter_says_what_was_written_on_pages_with_numbers() -> None:
    pages = read_pages(build_letter(LETTER))
    assert len(pages) == 2
    assert [re.findall(r"Page \d of \d", page) for page in pages] == [["Page 1 of 2"], ["Page 2 of 2"]]
    for text in ("Cedar Mutual", "March 2, 2026", "12 River Road", "Your request R-48213 (72148)", "72148"):
        assert text in pages[0]
    assert "We reviewed your request for José Müller – “MRI” \\ (lumbar)." in pages[0]
    words = " ".join(" ".join(pages).split())
    assert words.count("You can appeal within") == 160


def test_the_same_letter_has_the_same_bytes() -> None:
    assert build_letter(LETTER) == build_letter(LETTER)


def test_no_line_is_wider_than_the_page() -> None:
    style = TextStyle()
    text = "Supercalifragilistic " * 10 + "x" * 400 + " end"
    lines = list(wrap_text(text, style, 200))
    assert max(measure_text(line, style) for line in lines) <= 200
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_widths_of_letters_are_those_of_the_font() -> None:
    assert measure_text("Hello, World", TextStyle(12)) == pytest.approx(65.35, abs=0.02)
    assert measure_text("Hello, World", TextStyle(12, is_bold=True)) > measure_text("Hello, World", TextStyle(12))


def test_plain_text_keeps_its_lines_and_its_pages() -> None:
    pages = read_pages(build_text_pdf("Progress note\n\nPatient: Ana Rivera\nBP 120/80\n\fSecond page → ≥ 5\x00 日\n"))
    assert [page.split("\n") for page in pages] == [
        ["Progress note", "Patient: Ana Rivera", "BP 120/80"],
        ["Second page -> >= 5 ?"],
    ]


@pytest.mark.parametrize("text", ["", "\f\f", "\n\n", "x" * 20_000, "(" * 50 + "\\" * 50])
def test_any_text_gives_a_file_that_opens(text: str) -> None:
    shown = "".join("".join(read_pages(build_text_pdf(text))).split())
    assert shown == "".join(text.split())


@pytest.mark.skipif(which("pdfinfo") is None, reason="needs poppler")
def test_another_reader_finds_nothing_wrong(tmp_path: Path) -> None:
    file = tmp_path / "letter.pdf"
    file.write_bytes(build_letter(LETTER))
    info = run(["pdfinfo", str(file)], capture_output=True, text=True, timeout=20, check=True)
    assert info.stderr == ""
    assert re.search(r"Pages: +2\n", info.stdout)
    text = run(["pdftotext", "-layout", str(file), "-"], capture_output=True, text=True, timeout=20, check=True).stdout
    assert re.search(r"72148 +MRI of the lumbar spine +Denied", text)
