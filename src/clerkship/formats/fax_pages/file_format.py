"""The format of a file by its content, for faxes and uploads: signatures, files of office programs, plain text."""

from pathlib import PurePath

from clerkship.formats.fax_pages.document import DocumentFormat

SIGNATURES: dict[DocumentFormat, tuple[bytes, ...]] = {
    "pdf": (b"%PDF-",),
    "tiff": (b"II*\0", b"MM\0*"),
    "png": (b"\x89PNG\r\n\x1a\n",),
    "jpeg": (b"\xff\xd8\xff",),
}
BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
CONTROL_BYTES = frozenset(range(32)) - frozenset(b"\t\n\v\f\r\x1b")
MAX_CONTROL_SHARE = 10
"""Text has at most a tenth of control characters."""
OFFICE_SUFFIXES = frozenset({".docx", ".doc", ".odt", ".rtf", ".xlsx", ".xls", ".pptx", ".ppt", ".html", ".htm"})
"""Files of office programs, which only such a program lays out."""
_PACKED_FORMATS = {b"word/": "DOCX", b"xl/": "XLSX", b"ppt/": "PPTX", b"opendocument.text": "ODT"}
"""What a ZIP archive contains -> the format that it is."""
_ZIP, _COMPOUND_FILE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def find_signature(data: bytes) -> DocumentFormat | None:
    """Return the format whose signature a file has; None for plain text and unknown formats."""
    return next((format for format, signatures in SIGNATURES.items() if data.startswith(signatures)), None)


def find_office_format(name: str, data: bytes) -> str:
    """Return the format of a file of an office program, such as `DOCX`; empty if it is none."""
    packed = (format for part, format in _PACKED_FORMATS.items() if data.startswith(_ZIP) and part in data)
    suffix = PurePath(name).suffix.lower()
    claimed = suffix.removeprefix(".").upper() if suffix in OFFICE_SUFFIXES else ""
    return next(packed, claimed or ("DOC" if data.startswith(_COMPOUND_FILE) else ""))


def decode_text(data: bytes) -> str | None:
    """Return the text of a file; None if it is not text."""
    encodings = [BYTE_ORDER_MARKS[data[:2]]] if data[:2] in BYTE_ORDER_MARKS else ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        controls = sum(text.count(chr(byte)) for byte in CONTROL_BYTES)
        is_sure = encoding != "cp1252"  # any bytes are text of a one-byte encoding: only clean ones are taken for it
        if "\0" not in text and controls * MAX_CONTROL_SHARE <= (len(text) if is_sure else 0):
            return text
    return None
