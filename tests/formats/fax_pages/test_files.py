"""Pages are written as TIFF, PDF and PNG, and read again dot by dot."""

import hashlib
import io
import struct

import pytest
from PIL import Image, ImageDraw

from clerkship.formats.fax_pages.document import UnreadableDocument
from clerkship.formats.fax_pages.files import (
    find_fax_page,
    read_single_page,
    read_tiff,
    write_pdf,
    write_png,
    write_tiff,
)
from clerkship.formats.fax_pages.page import FaxPage, Resolution
from tests.formats.fax_pages.pages import random_page

PAGES = [
    random_page(1),
    random_page(2, "standard"),
    random_page(3, "fine", 2291),
    random_page(4, "standard", 1001),
    random_page(5, "fine", 1),
]


def test_tiff_is_read_as_it_was_written() -> None:
    assert read_tiff(write_tiff(PAGES)) == PAGES


def test_each_page_is_read_from_a_file_of_its_own() -> None:
    for page in (*PAGES, *PAGES):
        assert read_single_page(write_tiff([page])) == page


@pytest.mark.parametrize("height", [1, 2, 97, 98, 99, 1078, 2155, 2156, 2157])
@pytest.mark.parametrize("resolution", ["standard", "fine"])
def test_png_gives_its_page_back(resolution: Resolution, height: int) -> None:
    page = random_page(height, resolution, height)
    with Image.open(io.BytesIO(write_png(page))) as image:
        assert find_fax_page(image) == page


def test_blank_page_gives_its_page_back() -> None:
    for resolution in ("standard", "fine"):
        page = FaxPage.model_validate({"resolution": resolution, "height": 1078, "dots": bytes(1078 * 216)})
        with Image.open(io.BytesIO(write_png(page))) as image:
            assert find_fax_page(image) == page


def test_png_has_square_dots() -> None:
    for page in (random_page(1, "fine"), random_page(1, "standard")):
        with Image.open(io.BytesIO(write_png(page))) as image:
            assert image.size == (1728, 2244)
            assert image.info["dpi"] == pytest.approx((204, 204), abs=0.1)


def test_png_that_was_drawn_on_is_no_fax_page() -> None:
    with Image.open(io.BytesIO(write_png(random_page(1, "standard")))) as image:
        image.load()
        ImageDraw.Draw(image).point((100, 100), fill=255 - int(str(image.getpixel((100, 100)))))
        assert find_fax_page(image) is None


def test_same_pages_give_the_same_bytes() -> None:
    for write in (write_tiff, write_pdf):
        assert write(PAGES) == write(PAGES)
    assert write_png(PAGES[0]) == write_png(PAGES[0])


def test_bytes_do_not_change_from_run_to_run() -> None:
    digests = [hashlib.sha256(data).hexdigest()[:16] for data in (write_tiff(PAGES), write_pdf(PAGES))]
    assert digests == ["50c73904b1e4ff79", "6358160167b33a82"]


def test_tiff_of_letter_pages_has_the_fields_of_a_fax() -> None:
    with Image.open(io.BytesIO(write_tiff(PAGES))) as image:
        tags = dict(image.getexif())
    assert (tags[256], tags[257], tags[259], tags[262], tags[266]) == (1728, 2156, 4, 0, 1)
    assert (float(tags[282]), float(tags[283]), tags[296]) == (204, 196, 2)


@pytest.mark.parametrize("data", [b"", b"II*\0", b"\x89PNG\r\n\x1a\n", write_tiff(PAGES)[:400]])
def test_other_file_is_no_tiff_of_ours(data: bytes) -> None:
    with pytest.raises(UnreadableDocument) as refused:
        read_tiff(data)
    assert refused.value.code == "corrupt"


def test_tiff_with_a_color_page_is_no_tiff_of_ours() -> None:
    file = io.BytesIO()
    Image.new("RGB", (1728, 100)).save(file, "TIFF", dpi=(204, 196))
    with pytest.raises(UnreadableDocument, match="not fax pages"):
        read_tiff(file.getvalue())


def test_tiff_that_ends_in_its_strip_is_corrupt_or_short() -> None:
    data = write_tiff([random_page()])
    assert struct.unpack_from("<2sH", data) == (b"II", 42)
    with pytest.raises(UnreadableDocument):
        read_tiff(data[: len(data) // 2])
