"""Write pages of text and lines as a PDF file. The same pages give the same bytes."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from clerkship.formats.pdf_letter.font import TextStyle, encode_text

PAGE_WIDTH, PAGE_HEIGHT = 612, 792
"""A letter page, in points."""
_ESCAPES = {ord(each): b"\\" + each.encode() for each in "()\\"}


@dataclass
class PageContent:
    """What is drawn on a page. Places are in points from the left and from the bottom."""

    operators: list[bytes] = field(default_factory=list)

    def add_text(self, left: float, bottom: float, text: str, style: TextStyle) -> None:
        """Write one line of text."""
        font = b"/F2" if style.is_bold else b"/F1"
        place = f"{style.size:g} Tf {style.grey:g} g {left:.2f} {bottom:.2f} Td".encode()
        self.operators.append(b"BT " + font + b" " + place + b" " + _write_string(text) + b" Tj ET")

    def add_rule(self, left: float, bottom: float, right: float, thickness: float = 0.5, grey: float = 0.6) -> None:
        """Draw a horizontal line."""
        line = f"{grey:g} G {thickness:g} w {left:.2f} {bottom:.2f} m {right:.2f} {bottom:.2f} l S"
        self.operators.append(line.encode())


def write_pdf(pages: Sequence[PageContent], title: str) -> bytes:
    """Return a file with these pages (ISO 32000-1, 7.5). Its text is not compressed: it is short."""
    numbers = [6 + 2 * index for index in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Lang (en-US) >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
        *(
            f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()
            for name in ("Helvetica", "Helvetica-Bold")
        ),
        b"<< /Title " + _write_string(title) + b" /Producer (Clerkship) >>",
    ]
    for number, page in zip(numbers, pages, strict=True):
        content = b"\n".join(page.operators)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {PAGE_WIDTH} {PAGE_HEIGHT}] /Contents {number + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content))
    return _write_objects(objects)


def _write_objects(objects: Sequence[bytes]) -> bytes:
    """Return the file: header, objects, table of their places, trailer."""
    data, places = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(data)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, rows)
    data += b"trailer\n<< /Size %d /Root 1 0 R /Info 5 0 R >>\n" % (len(objects) + 1)
    data += b"startxref\n%d\n%%%%EOF\n" % start
    return bytes(data)


def _write_string(text: str) -> bytes:
    return b"(" + b"".join(_ESCAPES.get(code, bytes((code,))) for code in encode_text(text)) + b")"
