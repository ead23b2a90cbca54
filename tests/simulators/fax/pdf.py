"""PDF files of text, built by hand, so that a test decides what is visible."""

from collections.abc import Sequence


def build_pdf(*pages: str) -> bytes:
    """Return a PDF file with a content stream for each page; its font is `/F1`, Helvetica."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, content in enumerate(pages):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    return _join(objects)


def show_text(text: str, *, size: int = 12, style: str = "", y: int = 650) -> str:
    """Return a content stream that shows one line; `style` comes before it, such as `1 g` for white."""
    return f"{style} BT /F1 {size} Tf 72 {y} Td ({text}) Tj ET 0 g 0 Tr"


def _join(objects: Sequence[str]) -> bytes:
    data, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer << /Size {size} /Root 1 0 R >>\n"
    return data + f"{trailer}startxref\n{len(data)}\n%%EOF\n".encode()
