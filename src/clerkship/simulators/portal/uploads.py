"""Check an uploaded file, and read its text.

The format is that of the content, not of the name. PDF files and pictures are untrusted: a process with limits opens
them.
"""

import unicodedata
from pathlib import PurePosixPath
from typing import NamedTuple

from clerkship.formats.fax_pages.conversion import CONVERTER
from clerkship.formats.fax_pages.document import MAX_PAGES, DocumentFormat, FaxDocument, UnreadableDocument
from clerkship.formats.fax_pages.file_format import decode_text, find_office_format, find_signature
from clerkship.formats.fax_pages.ocr_cache import open_ocr_cache
from clerkship.kit.extras import describe_install, is_installed
from clerkship.settings import load_settings
from clerkship.simulators.portal.config import AttachmentConfig

MAX_NAME_LENGTH = 120
MEDIA_TYPES: dict[DocumentFormat, str] = {
    "pdf": "application/pdf",
    "tiff": "image/tiff",
    "png": "image/png",
    "jpeg": "image/jpeg",
    "text": "text/plain",
}
_NAMES: dict[DocumentFormat, str] = {"pdf": "PDF", "tiff": "TIFF", "png": "PNG", "jpeg": "JPEG", "text": "plain text"}
_SUFFIXES: dict[str, DocumentFormat] = {
    ".pdf": "pdf", ".tif": "tiff", ".tiff": "tiff", ".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".txt": "text",
}  # fmt: skip
_PROBLEMS = {
    "encrypted": "is protected by a password. Upload it without one.",
    "corrupt": "is damaged and cannot be opened. Save it again, and upload that.",
    "no_pages": "has no pages. Choose another file.",
    "too_many_pages": f"has more than {MAX_PAGES} pages. Upload the pages that matter.",
    "too_large": "has a picture that is too large to open. Save it with a lower resolution, and upload that.",
    "too_slow": "takes too long to open. Print it to a new PDF file, and upload that.",
}
"""What a page says for each code of UnreadableDocument."""


class UploadRefused(Exception):
    """A file that is not accepted; its text says why, and what to do."""


class CheckedUpload(NamedTuple):
    """A file that is accepted."""

    name: str
    """Its name, without a path and control characters."""
    format: DocumentFormat
    media: str
    pages: int


def check_upload(name: str, data: bytes, config: AttachmentConfig) -> CheckedUpload:
    """Return what a file is. Raise UploadRefused if it is not accepted."""
    name = clean_name(name)
    if not data:
        raise UploadRefused(f"{name} is empty. Choose a file with content.")
    if len(data) > config.max_bytes:
        sizes = f"has {format_size(len(data))}. A file may have at most {format_size(config.max_bytes)}"
        raise UploadRefused(f"{name} {sizes}. Save it with a lower resolution, or divide it.")
    format = _detect_format(name, data, config)
    return CheckedUpload(name, format, MEDIA_TYPES[format], _count_pages(name, format, data))


def clean_name(name: str) -> str:
    """Return the name of a file without its folder and characters that are not shown. Raise UploadRefused."""
    shown = (each for each in name if unicodedata.category(each) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
    cleaned = " ".join(PurePosixPath("".join(shown).replace("\\", "/")).name.split())
    if not cleaned.strip(". "):
        raise UploadRefused("The file has no name. Choose a file, or give it a name.")
    if len(cleaned) > MAX_NAME_LENGTH:
        reason = f"The name of the file is longer than {MAX_NAME_LENGTH} characters"
        raise UploadRefused(f"{reason}. Give it a shorter name: {cleaned[:30]}…")
    return cleaned


def format_size(size: int) -> str:
    """Return a number of bytes as pages show it, such as `5.0 MB`."""
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{max(0.1, size / 1000):.1f} KB"


def describe_accepted(config: AttachmentConfig) -> str:
    """Return which files are accepted, in a sentence."""
    return f"{_list_formats(config)}, up to {format_size(config.max_bytes)} each, at most {config.max_files} files."


def read_text(format: DocumentFormat, data: bytes) -> list[str]:
    """Return the text of each page: the text layer, or what an OCR engine reads on a page that has none.

    Raise OcrUnavailable if a page needs the engine and it is not installed, and UnreadableDocument if the file cannot
    be opened.
    """
    if format == "text":
        return (decode_text(data) or "").split("\f")
    document = FaxDocument(name="document", format=format, data=data)
    texts = CONVERTER.inspect(document, with_text=True)
    if all(map(str.strip, texts)):
        return texts
    pictures, cache = CONVERTER.convert(document, "fine"), open_ocr_cache(load_settings().cache)
    return [
        text if text.strip() else cache.read(picture.page).text for text, picture in zip(texts, pictures, strict=True)
    ]


def _list_formats(config: AttachmentConfig) -> str:
    names = [_NAMES[each] for each in config.formats]
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _detect_format(name: str, data: bytes, config: AttachmentConfig) -> DocumentFormat:
    format = find_signature(data)
    claimed = _SUFFIXES.get(PurePosixPath(name).suffix.lower())
    if format is None:
        office = find_office_format(name, data)
        if office and claimed is None:
            raise UploadRefused(f"{name} is a file of the format {office}. Save it as PDF, and upload that.")
        format = "text" if decode_text(data) is not None else None
    if claimed not in (None, format):
        content = f"its content is {_NAMES[format]}" if format else "its content has another format"
        raise UploadRefused(f"{name} is not a {_NAMES[claimed]} file: {content}. Save it as {_list_formats(config)}.")
    if format is None or format not in config.formats:
        raise UploadRefused(f"{name} has a format that is not accepted. Upload it as {_list_formats(config)}.")
    return format


def _count_pages(name: str, format: DocumentFormat, data: bytes) -> int:
    if format == "text":
        return (decode_text(data) or "").count("\f") + 1
    if not is_installed("portal"):
        install = describe_install("portal")
        raise UploadRefused(
            f"{name} cannot be opened: this portal needs an extra for such files. Install it with {install}."
        )
    try:
        return len(CONVERTER.inspect(FaxDocument(name=name, format=format, data=data)))
    except UnreadableDocument as error:
        raise UploadRefused(f"{name} {_PROBLEMS.get(error.code, 'cannot be opened.')}") from error
