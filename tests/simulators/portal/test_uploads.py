"""Uploaded files of the payer portal."""

import pytest

from clerkship.formats.pdf_letter.letter import build_text_pdf
from clerkship.kit import extras
from clerkship.simulators.portal.config import AttachmentConfig
from clerkship.simulators.portal.uploads import (
    CheckedUpload,
    UploadRefused,
    check_upload,
    clean_name,
    describe_accepted,
    read_text,
)

CONFIG = AttachmentConfig(max_bytes=200_000)
PDF = build_text_pdf("Progress note of Ana Rivera\fSecond page")
PNG = b"\x89PNG\r\n\x1a\n"


def test_a_pdf_is_accepted_with_its_pages_and_its_text() -> None:
    assert check_upload("C:\\scans\\..\\no\x00te.pdf", PDF, CONFIG) == CheckedUpload(
        "note.pdf", "pdf", "application/pdf", 2
    )
    assert [text.strip() for text in read_text("pdf", PDF)] == ["Progress note of Ana Rivera", "Second page"]


def test_plain_text_is_accepted_where_the_config_says_so() -> None:
    config = AttachmentConfig(formats=("text",))
    assert check_upload("a.txt", b"one\ftwo", config) == CheckedUpload("a.txt", "text", "text/plain", 2)
    assert read_text("text", b"one\ftwo") == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("a.pdf", b"", "a.pdf is empty. Choose a file with content."),
        ("a.pdf", b"%PDF-1.4" + b" " * 300_000, "a.pdf has 0.3 MB. A file may have at most 0.2 MB."),
        (
            "x.pdf",
            b"plain words",
            "x.pdf is not a PDF file: its content is plain text. Save it as PDF, TIFF, PNG or JPEG.",
        ),
        ("x.png", PDF, "x.png is not a PNG file: its content is PDF."),
        ("x.pdf", b"\x00\x01\x02", "x.pdf is not a PDF file: its content has another format."),
        ("x.pdf", b"%PDF-1.4 nothing", "x.pdf is damaged and cannot be opened."),
        ("x.png", PNG + b"junk", "x.png is damaged and cannot be opened."),
        ("x.docx", b"PK\x03\x04word/", "x.docx is a file of the format DOCX. Save it as PDF, and upload that."),
        ("x.txt", b"words", "x.txt has a format that is not accepted. Upload it as PDF, TIFF, PNG or JPEG."),
        ("x", b"\x00\x01", "x has a format that is not accepted."),
        ("../", PDF, "The file has no name."),
        ("n" * 121, PDF, "The name of the file is longer than 120 characters."),
    ],
)
def test_a_file_that_is_not_accepted_is_refused_with_what_to_do(name: str, data: bytes, text: str) -> None:
    with pytest.raises(UploadRefused) as refused:
        check_upload(name, data, CONFIG)
    assert str(refused.value).startswith(text)


def test_without_the_extra_a_pdf_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.EXTRAS, "portal", ("no_such_module",))
    with pytest.raises(UploadRefused, match=r"clerkship\[portal\]"):
        check_upload("a.pdf", PDF, CONFIG)


def test_names_and_limits_are_shown_as_people_read_them() -> None:
    assert clean_name("/etc/\u202epass\twd .pdf") == "passwd .pdf"
    assert describe_accepted(CONFIG) == "PDF, TIFF, PNG or JPEG, up to 0.2 MB each, at most 10 files."
