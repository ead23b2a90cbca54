"""The conversion of untrusted files, as it runs in a worker process.

A request is a line of JSON and the file; a reply is a line of JSON and the compressed dots of each page, or a refusal.
Sizes and page counts are checked before anything is decoded.
"""

import io
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import orjson

from clerkship.formats.fax_pages.document import MAX_DOTS, MAX_PAGES, MAX_SIDE, UnreadableDocument
from clerkship.formats.fax_pages.files import POINTS_PER_INCH, find_fax_page
from clerkship.formats.fax_pages.image import PagePlace, from_grey, from_image, place_on_page
from clerkship.formats.fax_pages.page import DOTS_PER_INCH, PAGE_WIDTH, FaxPage, Resolution

if TYPE_CHECKING:
    from PIL import Image
    from pypdfium2 import PdfDocument, PdfPage

MAX_DOCUMENT_INCHES = MAX_PAGES * 14
"""Length of all pages on paper: legal ones."""
NEW_SUBFILE_TYPE, REDUCED_IMAGE = 254, 1
"""The TIFF field that marks a smaller version of another page."""
MAX_FORM_DEPTH = 8
"""Levels of forms of a PDF page in which images are looked for."""
MAX_DPI_RATIO = 5
"""Images whose dots are longer than this are taken for ones with square dots and a wrong resolution."""
NO_FILE, PASSWORD_ERRORS = 2, (4, 5)
"""Error numbers of PDFium."""


def convert_request(request: bytes) -> bytes:
    """Convert the file of a request; without a resolution, only open it, and read its text if that is wanted."""
    head, _, data = request.partition(b"\n")
    options = orjson.loads(head)
    try:
        if "resolution" not in options:
            texts = list(_read_texts(data, options["format"], with_text=options["with_text"]))
            return orjson.dumps({"texts": texts})
        pages, dots = _compress(READERS[options["format"]](data, options["resolution"]))
    except UnreadableDocument as error:
        return orjson.dumps({"code": error.code, "reason": error.reason})
    return orjson.dumps({"pages": pages}) + b"\n" + dots


def _read_texts(data: bytes, format: str, *, with_text: bool) -> Iterator[str]:
    """Yield the text layer of each page; a picture has none."""
    if format == "pdf":
        document = _open_pages(data)
        for index in range(len(document)):
            page = _open_page(document, index)
            yield page.get_textpage().get_text_bounded() if with_text else ""
        return
    with _open_image(data, format.upper()) as image:
        numbers = list(_tiff_pages(image)) if format == "tiff" else [0]
        if not numbers:
            raise UnreadableDocument("no_pages", "it has no pages")
        for number in numbers:
            _load_frame(image, number)
            yield ""


def _compress(pages: Iterator[FaxPage]) -> tuple[list[dict[str, Any]], bytes]:
    """Return the heads of pages and their compressed dots."""
    heads, parts, inches = [], [], 0.0
    for page in pages:
        inches += page.height / DOTS_PER_INCH[page.resolution][1]
        if inches > MAX_DOCUMENT_INCHES:
            raise UnreadableDocument("too_large", f"its pages are longer than {MAX_DOCUMENT_INCHES} inches together")
        parts.append(zlib.compress(page.dots, 1))
        heads.append(page.model_dump(exclude={"dots"}) | {"bytes": len(parts[-1])})
    return heads, b"".join(parts)


def _read_tiff(data: bytes, resolution: Resolution) -> Iterator[FaxPage]:
    with _open_image(data, "TIFF") as image:
        numbers = list(_tiff_pages(image))
        if not numbers:
            raise UnreadableDocument("no_pages", "it has no pages")
        for number in numbers:
            yield _read_frame(image, number, resolution)


def _read_picture(format: str) -> Callable[[bytes, Resolution], Iterator[FaxPage]]:
    """Return a reader of a format that has one picture a file; of an animation it reads the first."""

    def read(data: bytes, resolution: Resolution) -> Iterator[FaxPage]:
        with _open_image(data, format) as image:
            _check_image_size(image.size)
            yield _read_frame(image, 0, resolution)

    return read


def _read_pdf(data: bytes, resolution: Resolution) -> Iterator[FaxPage]:
    document = _open_pages(data)
    for index in range(len(document)):
        yield _render_pdf_page(document, index, resolution)


def _open_pages(data: bytes) -> "PdfDocument":
    """Open a PDF file that has pages, and not too many."""
    document = _open_pdf(data)
    if not len(document):
        raise UnreadableDocument("no_pages", "it has no pages")
    if len(document) > MAX_PAGES:
        raise UnreadableDocument("too_many_pages", f"it has {len(document)} pages (at most {MAX_PAGES})")
    return document


READERS: dict[str, Callable[[bytes, Resolution], Iterator[FaxPage]]] = {
    "pdf": _read_pdf,
    "tiff": _read_tiff,
    "png": _read_picture("PNG"),
    "jpeg": _read_picture("JPEG"),
}


def _open_image(data: bytes, format: str) -> "Image.Image":
    from PIL import Image  # noqa: PLC0415  (an extra, loaded when used)

    Image.MAX_IMAGE_PIXELS = None  # MAX_DOTS is checked instead
    warnings.simplefilter("ignore")
    try:
        return Image.open(io.BytesIO(data), formats=(format,))
    except MemoryError:
        raise
    except Exception as error:  # decoders raise whatever they stumble over
        raise _corrupt(error) from error


def _tiff_pages(image: "Image.Image") -> Iterator[int]:
    """Yield the number of each page, from the fields of the file alone."""
    for number in range(MAX_PAGES + 1):
        try:
            image.seek(number)
            is_reduced = int(image.getexif().get(NEW_SUBFILE_TYPE, 0)) & REDUCED_IMAGE
        except EOFError:
            return
        except Exception as error:
            raise _corrupt(error) from error
        if number == MAX_PAGES:
            raise UnreadableDocument("too_many_pages", f"it has more than {MAX_PAGES} pages")
        _check_image_size(image.size)
        if not is_reduced:
            yield number


def _read_frame(image: "Image.Image", number: int, resolution: Resolution) -> FaxPage:
    """Decode one image of a file."""
    from PIL import ImageOps  # noqa: PLC0415

    try:
        image.seek(number)
        # A page that would be too long is refused before it is decoded.
        dpi = _usable_dpi(image)
        place_on_page(image.size, resolution, dpi)
        size = image.size
        image.load()
        upright = ImageOps.exif_transpose(image)
        page = find_fax_page(upright)
        if dpi is not None and upright.size == size[::-1] != size:
            dpi = dpi[::-1]
        return page or from_image(upright, resolution, dpi)
    except (MemoryError, UnreadableDocument):
        raise
    except Exception as error:
        raise _corrupt(error) from error


def _load_frame(image: "Image.Image", number: int) -> None:
    """Decode one image of a file, to see that it is whole."""
    _check_image_size(image.size)
    try:
        image.seek(number)
        image.load()
    except MemoryError:
        raise
    except Exception as error:
        raise _corrupt(error) from error


def _usable_dpi(image: "Image.Image") -> tuple[float, float] | None:
    """Return the resolution that a file states, if it can be true."""
    try:
        horizontal, vertical = (float(number) for number in image.info["dpi"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    is_usable = 1 <= horizontal <= 100_000 and 1 <= vertical <= 100_000
    ratio = horizontal / vertical if is_usable else 0
    return (horizontal, vertical) if 1 / MAX_DPI_RATIO <= ratio <= MAX_DPI_RATIO else None


def _open_pdf(data: bytes) -> "PdfDocument":
    import pypdfium2.raw as pdfium_c  # noqa: PLC0415
    from pypdfium2 import PdfDocument, PdfiumError  # noqa: PLC0415

    # A well-formed file without pages does not open and sets no error: the one before would be taken for its own.
    pdfium_c.FPDF_LoadDocument(b"", None)
    try:
        document = PdfDocument(data)
        document.init_forms()
    except PdfiumError as error:
        if error.err_code in PASSWORD_ERRORS:
            raise UnreadableDocument("encrypted", "it is protected by a password; send it without") from error
        if error.err_code == NO_FILE:
            raise UnreadableDocument("no_pages", "it has no pages") from error
        raise _corrupt(error) from error
    return document


def _render_pdf_page(document: "PdfDocument", index: int, resolution: Resolution) -> FaxPage:
    """Render a page as a printer does: with annotations that are for print, and with the fields of forms."""
    page = _open_page(document, index)
    width, height = page.get_size()
    if not (1 <= width < 1e6 and 1 <= height < 1e6):
        raise UnreadableDocument("corrupt", f"page {index + 1} has no usable size")
    _check_pdf_images(page)
    resolution = _own_resolution(page) or resolution
    place = place_on_page((width, height), resolution, (POINTS_PER_INCH, POINTS_PER_INCH))
    return from_grey(_render(document, page, place), resolution)


def _open_page(document: "PdfDocument", index: int) -> "PdfPage":
    from pypdfium2 import PdfiumError  # noqa: PLC0415

    try:
        return document[index]
    except PdfiumError as error:
        raise UnreadableDocument("corrupt", f"page {index + 1} cannot be read") from error


def _render(document: "PdfDocument", page: "PdfPage", where: PagePlace) -> "Image.Image":
    """Draw a page on a sheet."""
    import pypdfium2 as pdfium  # noqa: PLC0415
    import pypdfium2.raw as pdfium_c  # noqa: PLC0415

    bitmap = pdfium.PdfBitmap.new_native(PAGE_WIDTH, where.height, pdfium_c.FPDFBitmap_Gray)
    bitmap.fill_rect((255, 255, 255, 255), 0, 0, PAGE_WIDTH, where.height)
    place = (bitmap, page, where.left, 0, where.width, where.height, 0, pdfium_c.FPDF_ANNOT | pdfium_c.FPDF_PRINTING)
    pdfium_c.FPDF_RenderPageBitmap(*place)
    if document.formenv:
        _hide_fields_not_for_print(page)
        pdfium_c.FPDF_FFLDraw(document.formenv, *place)
    image: Image.Image = bitmap.to_pil()
    return image


def _hide_fields_not_for_print(page: "PdfPage") -> None:
    """Hide the fields without the flag Print (ISO 32000-1, 12.5.3). PDFium would draw them, a printer does not."""
    import pypdfium2.raw as pdfium_c  # noqa: PLC0415

    for index in range(pdfium_c.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
        flags = pdfium_c.FPDFAnnot_GetFlags(annotation)
        is_field = pdfium_c.FPDFAnnot_GetSubtype(annotation) == pdfium_c.FPDF_ANNOT_WIDGET
        if is_field and not flags & pdfium_c.FPDF_ANNOT_FLAG_PRINT:
            pdfium_c.FPDFAnnot_SetFlags(annotation, flags | pdfium_c.FPDF_ANNOT_FLAG_HIDDEN)
        pdfium_c.FPDFPage_CloseAnnot(annotation)


def _check_pdf_images(page: "PdfPage") -> None:
    """Refuse a page with an image that is too large: PDFium would leave it out without an error."""
    from pypdfium2 import PdfImage  # noqa: PLC0415

    for item in page.get_objects(max_depth=MAX_FORM_DEPTH):
        if isinstance(item, PdfImage):
            _check_image_size(item.get_px_size())


def _own_resolution(page: "PdfPage") -> Resolution | None:
    """Return the resolution of a page that is one picture of a fax page in its true size."""
    from pypdfium2 import PdfImage  # noqa: PLC0415

    objects = list(page.get_objects(max_depth=1))
    if len(objects) != 1 or not isinstance(objects[0], PdfImage):
        return None
    width, height = objects[0].get_px_size()
    for resolution, (horizontal, vertical) in DOTS_PER_INCH.items():
        size = (width * POINTS_PER_INCH / horizontal, height * POINTS_PER_INCH / vertical)
        is_true_size = all(abs(actual - true) < 0.01 for actual, true in zip(page.get_size(), size, strict=True))
        if width == PAGE_WIDTH and is_true_size:
            return resolution
    return None


def _check_image_size(size: tuple[int, int]) -> None:
    width, height = size
    if max(size) > MAX_SIDE or width * height > MAX_DOTS:
        limits = f"at most {MAX_SIDE:,} on a side and {MAX_DOTS:,} in all"
        raise UnreadableDocument("too_large", f"it has an image of {width:,} × {height:,} dots ({limits})")


def _corrupt(error: Exception) -> UnreadableDocument:
    from PIL import UnidentifiedImageError  # noqa: PLC0415

    # Pillow's own words would name an object with its address, which differs each time.
    reason = "its header is damaged" if isinstance(error, UnidentifiedImageError) else str(error)
    return UnreadableDocument("corrupt", f"it cannot be read: {reason}"[:300])
