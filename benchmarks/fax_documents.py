"""Documents that the fax benchmark converts: PDF files with text, as an office program writes them."""

from collections.abc import Sequence

MAX_LINES = 60
"""Lines that fit on a page of 11 inches."""


def write_letter_pdf(pages: Sequence[str]) -> bytes:
    """Write a PDF file with a page of text for each of the texts, in Helvetica (PDF 1.7, 9.6.2.2)."""
    numbers = range(4, 4 + 2 * len(pages), 2)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, text in zip(numbers, pages, strict=True):
        content = _draw_lines(text)
        objects += [
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>"
            f"/Contents {number + 1} 0 R>>",
            f"<</Length {len(content)}>>\nstream\n{content}\nendstream",
        ]
    return _join_objects(objects)


def _draw_lines(text: str) -> str:
    lines = "\n".join(f"({_escape(line)}) Tj T*" for line in text.splitlines()[:MAX_LINES])
    return f"BT /F 10 Tf 12 TL 60 740 Td\n{lines}\nET"


def _escape(line: str) -> str:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _join_objects(objects: Sequence[str]) -> bytes:
    data, offsets = "%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    end = f"trailer\n<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF\n"
    return f"{data}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode("ascii")
