"""Pages as TIFF, PDF and PNG files, and TIFF files as pages.

The same pages give the same bytes each time: there are no dates and no random ids. The TIFF is a fax file (RFC 3949,
profile F): Group 4, white is 0, one strip a page. The PDF holds the same Group 4 data, one picture a page.
"""

import io
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from clerkship.formats.fax_pages.document import UnreadableDocument
from clerkship.formats.fax_pages.page import DOTS_PER_INCH, MAX_CACHED_PAGES, PAGE_WIDTH, FaxPage, Resolution

if TYPE_CHECKING:
    from PIL import Image

SHORT, LONG, RATIONAL = 3, 4, 5
"""Field types of TIFF 6.0, section 2."""
STRIP_OFFSETS, STRIP_BYTE_COUNTS, ROWS_PER_STRIP = 273, 279, 278
TIFF_FIELDS = 16
POINTS_PER_INCH = 72
RESOLUTION_KEY = "Fax resolution"
"""The name of the PNG text that says which resolution a page has: its lines are repeated to make the dots square."""


def write_tiff(pages: Sequence[FaxPage]) -> bytes:
    """Write pages as one TIFF file."""
    data = bytearray(struct.pack("<2sHI", b"II", 42, 8))
    for number, page in enumerate(pages):
        data += _tiff_page(page, len(data), number, len(pages))
    return bytes(data)


def read_tiff(data: bytes) -> list[FaxPage]:
    """Read the pages of a file that `write_tiff` wrote. Raise UnreadableDocument if it is another file.

    It is for our own files: `conversion.convert` reads those of others, in a process with limits.
    """
    from PIL import Image, ImageSequence  # noqa: PLC0415  (an extra, loaded when used)

    try:
        with Image.open(io.BytesIO(data), formats=("TIFF",)) as image:
            pages = [find_fax_page(frame) for frame in ImageSequence.Iterator(image)]
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise UnreadableDocument("corrupt", f"the TIFF file cannot be read: {error}") from error
    if None in pages:
        raise UnreadableDocument("corrupt", "the TIFF file has pages that are not fax pages")
    return [page for page in pages if page is not None]


@lru_cache(maxsize=MAX_CACHED_PAGES)
def read_single_page(data: bytes) -> FaxPage:
    """Return the first page of a file that `write_tiff` wrote. Cached, because a stored page is read many times.

    Raise UnreadableDocument if it is another file.
    """
    return read_tiff(data)[0]


def write_pdf(pages: Sequence[FaxPage]) -> bytes:
    """Write pages as one PDF file. A page is as large as its dots are on paper."""
    numbers = range(3, 3 + 3 * len(pages), 3)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode()]
    for number, page in zip(numbers, pages, strict=True):
        objects += _pdf_page(page, number)
    data = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(data))
    return bytes(data) + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + trailer


def write_png(page: FaxPage) -> bytes:
    """Write a page as a PNG file with square dots, for people and for models that see: some lines are repeated."""
    from PIL import Image, PngImagePlugin  # noqa: PLC0415

    horizontal, _ = DOTS_PER_INCH[page.resolution]
    dots = _repeat_lines(page)
    text = PngImagePlugin.PngInfo()
    text.add_text(RESOLUTION_KEY, page.resolution)
    file = io.BytesIO()
    image = Image.frombytes("1", (page.width, len(dots) * 8 // page.width), dots, "raw", "1;I")
    image.save(file, "PNG", dpi=(horizontal, horizontal), pnginfo=text)
    return file.getvalue()


def find_fax_page(image: "Image.Image") -> FaxPage | None:
    """Return the page that is in an image of a TIFF or PNG file of ours, dot by dot; None if it is any other image."""
    if image.mode != "1" or image.width != PAGE_WIDTH:
        return None
    resolution = image.info.get(RESOLUTION_KEY)
    if resolution in DOTS_PER_INCH:
        return _without_repeated_lines(image, resolution)
    resolution = find_resolution(image.info.get("dpi"))
    if resolution is None:
        return None
    return FaxPage(resolution=resolution, height=image.height, dots=_dots(image))


def find_resolution(dpi: tuple[float, float] | None) -> Resolution | None:
    """Return the fax resolution with these dots per inch, give or take a rounding."""
    for resolution, expected in DOTS_PER_INCH.items():
        if dpi and all(abs(float(actual) - wanted) <= 1 for actual, wanted in zip(dpi, expected, strict=True)):
            return resolution
    return None


@lru_cache(maxsize=MAX_CACHED_PAGES)
def encode_group4(page: FaxPage) -> bytes:
    """Return the dots of a page by ITU-T T.6. Cached, because each trial of a task has the same pages."""
    from PIL import Image, TiffImagePlugin  # noqa: PLC0415

    # Mode `1` has 1 for white, our dots 1 for black, as T.6 has. Pillow writes the bits as they are.
    image = Image.frombytes("1", (page.width, page.height), page.dots)
    file = io.BytesIO()
    image.save(file, "TIFF", compression="group4", tiffinfo={ROWS_PER_STRIP: page.height})
    with Image.open(file) as written:
        assert isinstance(written, TiffImagePlugin.TiffImageFile)
        (offset,), (size,) = written.tag_v2[STRIP_OFFSETS], written.tag_v2[STRIP_BYTE_COUNTS]
    return file.getvalue()[offset : offset + size]


def _tiff_page(page: FaxPage, start: int, number: int, count: int) -> bytes:
    """Return a directory of TIFF 6.0 that begins at `start`, its values and the strip of the page."""
    strip = encode_group4(page)
    horizontal, vertical = DOTS_PER_INCH[page.resolution]
    size_of_fields = 2 + 12 * TIFF_FIELDS + 4
    resolutions = start + size_of_fields
    strip_start = resolutions + 16
    fields = (
        (254, LONG, 1, 2),  # NewSubfileType: a page of several
        (256, LONG, 1, page.width),
        (257, LONG, 1, page.height),
        (258, SHORT, 1, 1),  # BitsPerSample
        (259, SHORT, 1, 4),  # Compression: T.6
        (262, SHORT, 1, 0),  # PhotometricInterpretation: white is 0
        (266, SHORT, 1, 1),  # FillOrder
        (STRIP_OFFSETS, LONG, 1, strip_start),
        (277, SHORT, 1, 1),  # SamplesPerPixel
        (ROWS_PER_STRIP, LONG, 1, page.height),
        (STRIP_BYTE_COUNTS, LONG, 1, len(strip)),
        (282, RATIONAL, 1, resolutions),
        (283, RATIONAL, 1, resolutions + 8),
        (293, LONG, 1, 0),  # T6Options
        (296, SHORT, 1, 2),  # ResolutionUnit: inch
        (297, SHORT, 2, number | count << 16),  # PageNumber
    )
    assert len(fields) == TIFF_FIELDS
    following = strip_start + len(strip) + len(strip) % 2 if number + 1 < count else 0
    directory = struct.pack("<H", TIFF_FIELDS) + b"".join(struct.pack("<HHII", *field) for field in fields)
    values = struct.pack("<IIIII", following, horizontal, 1, vertical, 1)
    return directory + values + strip + bytes(len(strip) % 2)  # directories begin on even bytes


def _pdf_page(page: FaxPage, number: int) -> list[bytes]:
    """Return the objects of a page: the page, its picture, and its content, which draws the picture."""
    horizontal, vertical = DOTS_PER_INCH[page.resolution]
    width, height = page.width * POINTS_PER_INCH / horizontal, page.height * POINTS_PER_INCH / vertical
    strip = encode_group4(page)
    box = f"[0 0 {width:.5f} {height:.5f}]"
    content = f"{width:.5f} 0 0 {height:.5f} 0 0 cm /Page Do".encode()
    resources = f"<</XObject<</Page {number + 1} 0 R>>>>"
    parameters = f"<</K -1/Columns {page.width}/Rows {page.height}>>"
    picture = (
        f"<</Type/XObject/Subtype/Image/Width {page.width}/Height {page.height}/ColorSpace/DeviceGray"
        f"/BitsPerComponent 1/Filter/CCITTFaxDecode/DecodeParms{parameters}/Length {len(strip)}>>"
    )
    return [
        f"<</Type/Page/Parent 2 0 R/MediaBox{box}/Resources{resources}/Contents {number + 2} 0 R>>".encode(),
        picture.encode() + b"\nstream\n" + strip + b"\nendstream",
        b"<</Length %d>>\nstream\n%b\nendstream" % (len(content), content),
    ]


def _repeat_lines(page: FaxPage) -> bytes:
    """Return the dots of a page with as many lines an inch as there are dots."""
    horizontal, vertical = DOTS_PER_INCH[page.resolution]
    size = page.width // 8
    lines = [page.dots[start : start + size] for start in range(0, len(page.dots), size)]
    height = -(-page.height * horizontal // vertical)
    return b"".join(lines[line * vertical // horizontal] for line in range(height))


def _without_repeated_lines(image: "Image.Image", resolution: Resolution) -> FaxPage | None:
    """Return the page of a file of `write_png`; None if the picture was changed since."""
    horizontal, vertical = DOTS_PER_INCH[resolution]
    size, square = image.width // 8, _dots(image)
    height = (image.height - 1) * vertical // horizontal + 1
    starts = (-(-line * horizontal // vertical) * size for line in range(height))
    dots = b"".join(square[start : start + size] for start in starts)
    page = FaxPage(resolution=resolution, height=height, dots=dots)
    return page if _repeat_lines(page) == square else None


def _dots(image: "Image.Image") -> bytes:
    return image.tobytes("raw", "1;I")
