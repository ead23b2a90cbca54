"""Charset names of MSH-18 (HL7 table 0211) and the Python codecs for them."""

import re
from functools import lru_cache

from clerkship.formats.hl7.tables import load_code_table

JAPANESE = "iso2022_jp_ext"
"""The codec of ISO IR14, IR87 and IR159, between which escape sequences switch (ISO 2022)."""
_CODECS = load_code_table("0211")
"""HL7 table 0211 without 8859, and without CNS 11643-1992, for which Python has no codec. UTF-8, UTF8, UTF-16,
WINDOWS-1252 and CP1252 are not in it, but are used. KS X 1001 and BIG-5 are decoded with the Windows extensions."""
MIME_NAMES = {JAPANESE: "iso-2022-jp", "cp949": "ks_c_5601-1987", "cp950": "big5", "cp1252": "windows-1252"}
"""MIME names of codecs that have a different name in Python."""
_LATIN = re.compile(r"(?:ISO[ -]?)?8859[/-](1[0-6]|[1-9])")
_MISSING_PART = "12"
_WIDE_STARTS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"M\x00\x00\x00", "utf-32-le"),
    (b"\x00\x00\x00M", "utf-32-be"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"M\x00", "utf-16-le"),
    (b"\x00M", "utf-16-be"),
)
"""First bytes of UTF-32 and UTF-16, and the codec."""
_WIDE_CODECS = ("utf-16", "utf-32")
"""Never used because MSH-18 names them: bytes in these codecs are detected before MSH-18 can be read."""


def detect_wide_codec(data: bytes) -> str | None:
    """Return the UTF-16 or UTF-32 codec of bytes, judged by how they start; None for all replacement charsets."""
    if data.startswith(b"MSH"):  # the usual case
        return None
    return next((codec for start, codec in _WIDE_STARTS if data.startswith(start)), None)


@lru_cache(maxsize=200)
def find_codec(name: str) -> str | None:
    """Return the Python codec of an MSH-18 charset; None if it is unknown."""
    normalized = " ".join(name.upper().split())
    part = _LATIN.fullmatch(normalized)
    if part is not None:
        return f"iso-8859-{part[1]}" if part[1] != _MISSING_PART else None
    return _CODECS.get(normalized)


def choose_codec(stated: str) -> str | None:
    """Return the codec for the value of MSH-18: that of the first known charset; None if there is none.

    The first repetition is often empty (`~ISO IR87`): the message starts in ASCII and switches by escape sequences.
    """
    codecs = [find_codec(name.partition("^")[0]) for name in stated.split("~")] if stated else []
    return JAPANESE if JAPANESE in codecs else next((codec for codec in codecs if codec), None)


def decode_with_fallback(data: bytes, codec: str | None) -> str:
    """Decode bytes with the stated codec, else as UTF-8, Windows-1252 or Latin-1.

    Old senders that state no charset mostly use Windows-1252. Every byte is valid in Latin-1.
    """
    for candidate in dict.fromkeys((None if codec in _WIDE_CODECS else codec, "utf-8", "cp1252")):
        if candidate:
            try:
                return data.decode(candidate)
            except UnicodeDecodeError:
                continue
    return data.decode("latin-1")


def replace_unencodable(codec: str, text: str, replacement: str = "?") -> str:
    """Replace candidate character that a charset does not have."""
    return (
        text
        if text.isascii() or _can_encode(codec, text)
        else "".join(c if _can_encode(codec, c) else replacement for c in text)
    )


def _can_encode(codec: str, text: str) -> bool:
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        return False
    return True
