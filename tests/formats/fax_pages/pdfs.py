"""PDF files, written by hand so that tests can break them."""

import hashlib
import struct
from collections.abc import Sequence

LETTER = (612, 792)
BOX = b"0 g 61 594 122 99 re f"
"""A black box near the upper left corner of a letter page."""
BOX_AREA = (0.1, 0.125, 0.3, 0.25)
"""Where BOX is, in shares of the page from the left and the top."""
PASSWORD_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
"""ISO 32000-1, 7.6.3.3, algorithm 2, step a."""


def stream(data: bytes, entries: bytes = b"") -> bytes:
    """Return the body of a stream object."""
    return b"<<%b/Length %d>>\nstream\n%b\nendstream" % (entries, len(data), data)


def write_objects(bodies: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """Return a PDF file of these objects, whose numbers begin at 1. The first is the catalog."""
    data, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(bodies, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    data += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    data += b"trailer\n<</Size %d/Root 1 0 R%b>>\nstartxref\n%d\n%%%%EOF\n" % (len(bodies) + 1, trailer, start)
    return bytes(data)


def one_page(
    content: bytes = BOX,
    *more: bytes,
    size: tuple[float, float] = LETTER,
    entries: bytes = b"",
    catalog: bytes = b"",
    trailer: bytes = b"",
) -> bytes:
    """Return a PDF file of one page. `more` are objects from number 5; `entries` are added to the page."""
    return write_objects(
        [
            b"<</Type/Catalog/Pages 2 0 R%b>>" % catalog,
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %g %g]/Contents 4 0 R%b>>" % (*size, entries),
            stream(content),
            *more,
        ],
        trailer,
    )


def many_pages(count: int) -> bytes:
    """Return a PDF file of so many pages with one content."""
    kids = b" ".join(b"%d 0 R" % number for number in range(4, 4 + count))
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 3 0 R>>"
    pages = b"<</Type/Pages/Kids[%b]/Count %d>>" % (kids, count)
    return write_objects([b"<</Type/Catalog/Pages 2 0 R>>", pages, stream(BOX), *[page] * count])


def with_password() -> bytes:
    """Return a PDF file that opens with a password alone."""
    return one_page(trailer=_encryption(bytes(range(64, 96)), b"\x01" * 32))


def protected_from_changes() -> bytes:
    """Return an encrypted PDF file that opens without a password, as those do that may be read but not changed."""
    owner, file_id = bytes(range(64, 96)), b"0123456789abcdef"
    # ISO 32000-1, 7.6.3.3, algorithms 2 and 4, and 7.6.2, algorithm 1, for the oldest revision.
    key = hashlib.md5(PASSWORD_PADDING + owner + struct.pack("<i", -4) + file_id).digest()[:5]
    content_key = hashlib.md5(key + (4).to_bytes(3, "little") + bytes(2)).digest()[:10]
    return one_page(_rc4(content_key, BOX), trailer=_encryption(owner, _rc4(key, PASSWORD_PADDING)))


def _encryption(owner: bytes, user: bytes) -> bytes:
    entries = b"/Filter/Standard/V 1/R 2/P -4/O<%b>/U<%b>" % (owner.hex().encode(), user.hex().encode())
    file_id = b"<%b>" % b"0123456789abcdef".hex().encode()
    return b"/ID[%b%b]/Encrypt<<%b>>" % (file_id, file_id, entries)


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
