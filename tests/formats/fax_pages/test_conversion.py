"""Documents of each format become pages."""

import io
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from clerkship.formats.fax_pages.conversion import Converter, convert, detect_format
from clerkship.formats.fax_pages.document import DocumentFormat, FaxDocument, UnreadableDocument
from clerkship.formats.fax_pages.files import write_pdf, write_png, write_tiff
from clerkship.formats.fax_pages.page import DOTS_PER_INCH, MAX_CACHED_PAGES, FaxPage, Resolution
from clerkship.formats.fax_pages.worker import WorkerProcess
from tests.formats.fax_pages.pages import black_share, picture, random_page
from tests.formats.fax_pages.pdfs import BOX, BOX_AREA, one_page, protected_from_changes, stream

UPPER_LEFT, LOWER_RIGHT = (0.0, 0.0, 0.49, 0.49), (0.51, 0.51, 1.0, 1.0)
PAGES = [random_page(1), random_page(2, "standard"), random_page(3, "standard", 1001), random_page(4, "fine", 2291)]
BOTH = pytest.mark.parametrize("resolution", ["standard", "fine"])


def pages_of(data: bytes, resolution: Resolution = "fine", name: str = "file") -> list[FaxPage]:
    document = FaxDocument(name=name, format=detect_format(name, "", data), data=data)
    return [converted.page for converted in convert(document, resolution)]


def page_of(data: bytes, resolution: Resolution = "fine") -> FaxPage:
    (page,) = pages_of(data, resolution)
    return page


def saved(image: Image.Image, format: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


@BOTH
@pytest.mark.parametrize("write", [write_tiff, write_pdf])
def test_downloaded_file_is_faxed_on_with_the_same_dots(
    write: Callable[[list[FaxPage]], bytes], resolution: Resolution
) -> None:
    assert [page.hash for page in pages_of(write(PAGES), resolution)] == [page.hash for page in PAGES]


@BOTH
def test_downloaded_picture_is_faxed_on_with_the_same_dots(resolution: Resolution) -> None:
    assert [page_of(write_png(page), resolution).hash for page in PAGES] == [page.hash for page in PAGES]


@pytest.mark.parametrize(("resolution", "height"), [("standard", 1074), ("fine", 2149)])
def test_letter_page_of_a_pdf(resolution: Resolution, height: int) -> None:
    page = page_of(one_page(), resolution)
    assert (page.resolution, page.width, page.height) == (resolution, 1728, height)
    left, top, right, bottom = BOX_AREA
    assert black_share(page, (left + 0.01, top + 0.01, right - 0.01, bottom - 0.01)) == 1
    assert black_share(page) == pytest.approx(0.025, rel=0.05)


@pytest.mark.parametrize(("size", "height"), [((842, 595), 1173), ((792, 612), 1283), ((1224, 1584), 2149)])
def test_pages_wider_than_fax_paper_fill_the_width(size: tuple[int, int], height: int) -> None:
    assert page_of(one_page(size=size)).height == height


@BOTH
@pytest.mark.parametrize("size", [(595, 842), (420, 595), (252, 144)])
def test_smaller_pdf_pages_are_not_enlarged(size: tuple[int, int], resolution: Resolution) -> None:
    width, height = size
    horizontal, vertical = DOTS_PER_INCH[resolution]
    page = page_of(one_page(b"0 g 0 0 %d %d re f" % size, size=size), resolution)
    assert (page.width, page.height) == (1728, round(height / 72 * vertical))
    left = (1728 - width / 72 * horizontal) / 2 / 1728
    assert black_share(page, (left + 0.002, 0, 1 - left - 0.002, 1)) == 1
    assert black_share(page, (0, 0, left - 0.002, 1)) == black_share(page, (1 - left + 0.002, 0, 1, 1)) == 0


@pytest.mark.parametrize("format", ["PNG", "JPEG", "TIFF"])
def test_smaller_picture_of_known_resolution_is_not_enlarged(format: str) -> None:
    card = Image.new("L", (1011, 638), 120)  # an insurance card at 300 dots per inch, on grey paper
    card.paste(0, (300, 200, 700, 400))
    page = page_of(saved(card, format, dpi=(300, 300)))
    assert page.height == pytest.approx(638 / 300 * 196, abs=1)
    assert black_share(page) * 1728 * page.height == pytest.approx(400 * 200 / 300**2 * 204 * 196, rel=0.02)
    assert page_of(saved(card, format)).height == pytest.approx(1728 * 638 / 1011 * 196 / 204, abs=1)


@pytest.mark.parametrize(
    ("degrees", "height", "area"),
    [
        (90, 1283, (0.76, 0.11, 0.87, 0.29)),
        (180, 2149, (0.71, 0.76, 0.89, 0.87)),
        (270, 1283, (0.13, 0.71, 0.24, 0.89)),
    ],
)
def test_rotated_pdf_page_is_drawn_as_it_is_shown(
    degrees: int, height: int, area: tuple[float, float, float, float]
) -> None:
    page = page_of(one_page(entries=b"/Rotate %d" % degrees))
    assert page.height == height
    assert black_share(page, area) == 1


def test_pdf_page_is_cropped_to_its_crop_box() -> None:
    page = page_of(one_page(entries=b"/CropBox[61 594 183 693]"))
    assert page.height == 270
    assert black_share(page, (0.401, 0, 0.599, 1)) == 1


def test_hidden_text_of_a_pdf_has_no_dots() -> None:
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    show = b"BT /F 40 Tf %b 72 600 Td (MEMBER 4471-993) Tj ET"
    resources = b"/Resources<</Font<</F 5 0 R>>>>"
    assert black_share(page_of(one_page(show % b"", font, entries=resources))) > 0
    for way in (b"3 Tr", b"1 g"):
        assert black_share(page_of(one_page(show % way, font, entries=resources))) == 0


PRINT, HIDDEN = 4, 2
APPEARANCE = stream(b"0 g 0 0 122 99 re f", b"/Type/XObject/Subtype/Form/BBox[0 0 122 99]")
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
FORM = b"/AcroForm<</Fields[5 0 R]/DR<</Font<</Helv 7 0 R>>>>/DA(/Helv 0 Tf 0 g)>>"


@pytest.mark.parametrize(("flags", "is_shown"), [(PRINT, True), (0, False), (PRINT | HIDDEN, False)])
def test_annotation_is_shown_if_it_is_for_print(flags: int, is_shown: bool) -> None:
    stamp = b"<</Type/Annot/Subtype/Stamp/Rect[61 594 183 693]/F %d/AP<</N 6 0 R>>>>" % flags
    page = page_of(one_page(b"", stamp, APPEARANCE, entries=b"/Annots[5 0 R]"))
    assert (black_share(page) > 0.02) is is_shown


@pytest.mark.parametrize(("flags", "is_shown"), [(PRINT, True), (0, False), (PRINT | HIDDEN, False)])
@pytest.mark.parametrize("entries", [b"", b"/AP<</N 6 0 R>>"])
def test_field_of_a_form_is_shown_if_it_is_for_print(flags: int, is_shown: bool, entries: bytes) -> None:
    value = b"/FT/Tx/T(member)/V(MEMBER 4471)/DA(/Helv 60 Tf 0 g)"
    field = b"<</Type/Annot/Subtype/Widget/Rect[61 594 583 693]/F %d%b%b>>" % (flags, value, entries)
    page = page_of(one_page(b"", field, APPEARANCE, FONT, entries=b"/Annots[5 0 R]", catalog=FORM))
    assert (black_share(page) > 0.005) is is_shown


def test_empty_field_of_a_form_has_no_dots() -> None:
    field = b"<</Type/Annot/Subtype/Widget/Rect[61 594 583 693]/F 4/FT/Tx/T(member)/DA(/Helv 60 Tf 0 g)>>"
    page = page_of(one_page(b"", field, APPEARANCE, FONT, entries=b"/Annots[5 0 R]", catalog=FORM))
    assert black_share(page) == 0


def test_pdf_that_may_not_be_changed_is_converted() -> None:
    assert page_of(protected_from_changes()) == page_of(one_page())


@pytest.mark.parametrize(
    ("format", "mode"),
    [
        *(("TIFF", mode) for mode in ("1", "L", "P", "RGB", "RGBA", "LA", "CMYK", "I;16")),
        *(("PNG", mode) for mode in ("1", "L", "P", "RGB", "RGBA", "LA", "I;16")),
        *(("JPEG", mode) for mode in ("L", "RGB", "CMYK")),
    ],
)
def test_picture_of_any_mode_is_converted(format: str, mode: str) -> None:
    sheet = picture()
    if mode == "I;16":
        sheet = sheet.convert("I").point(lambda level: level * 257 + 0).convert("I;16")
    page = page_of(saved(sheet.convert(mode), format))
    assert (black_share(page, UPPER_LEFT), black_share(page, LOWER_RIGHT)) == pytest.approx((1, 0), abs=0.01)


def test_pages_of_a_tiff_keep_their_order_and_thumbnails_are_left_out() -> None:
    sheets = [picture(size=(850, height)) for height in (1100, 550, 275)]
    sheets[1].encoderinfo = {"tiffinfo": {254: 1}}
    data = saved(sheets[0], "TIFF", save_all=True, append_images=sheets[1:])
    assert [page.height for page in pages_of(data)] == [2149, 537]


def test_animation_gives_its_first_picture() -> None:
    second = Image.new("L", (850, 1100), 0)
    data = saved(picture(), "PNG", save_all=True, append_images=[second])
    assert black_share(page_of(data), LOWER_RIGHT) == 0


@pytest.mark.parametrize("format", ["TIFF", "JPEG"])
def test_picture_is_turned_as_its_orientation_says(format: str) -> None:
    exif = Image.Exif()
    exif[274] = 6  # turn it clockwise
    page = page_of(saved(picture(size=(1100, 850)), format, exif=exif))
    assert page.height == 2149
    assert black_share(page, (0.52, 0.01, 0.99, 0.48)) == pytest.approx(1, abs=0.01)


def test_resolution_that_cannot_be_true_is_ignored() -> None:
    assert page_of(saved(picture(), "TIFF", dpi=(1, 60000))).height == 2149


def test_text_has_its_words() -> None:
    document = FaxDocument(name="note.txt", format="text", data="Muñoz, MRN 0012\fpage two".encode())
    first, second = convert(document, "standard")
    assert first.words is not None
    assert second.words is not None
    assert (first.words.text, second.words.text) == ("Muñoz, MRN 0012", "page two")


def test_words_of_a_picture_are_not_known() -> None:
    (converted,) = convert(FaxDocument(name="a.pdf", format="pdf", data=one_page()), "fine")
    assert converted.words is None


@pytest.mark.parametrize("data", [one_page(), saved(picture("RGB", (2550, 3300)), "JPEG"), b"Referral of Mu\xf1oz"])
def test_another_process_gives_the_same_dots(data: bytes) -> None:
    document = FaxDocument(name="x", format=detect_format("x", "", data), data=data)
    other = Converter()
    try:
        pages = [converted.page.hash for converted in other.convert(document, "standard")]
    finally:
        other.close()
    assert pages == [page.hash for page in pages_of(data, "standard", "x")]


def test_threads_share_a_converter() -> None:
    pages = [random_page(seed, "standard", 600) for seed in range(100, 120)]
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda page: page_of(write_tiff([page])), pages * 2))
    assert results == pages * 2


class Decodings:
    """Counts the requests to the processes that decode files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        call = WorkerProcess.call

        def count_call(worker: WorkerProcess, request: bytes) -> bytes:
            self.count += 1
            return call(worker, request)

        monkeypatch.setattr(WorkerProcess, "call", count_call)


@pytest.fixture
def decodings(monkeypatch: pytest.MonkeyPatch) -> Decodings:
    return Decodings(monkeypatch)


@pytest.fixture
def converter() -> Iterator[Converter]:
    converter = Converter()
    yield converter
    converter.close()


def test_same_file_under_another_name_is_decoded_once(converter: Converter, decodings: Decodings) -> None:
    data = write_tiff(PAGES[:2])
    first, second = (
        converter.convert(FaxDocument(name=name, format="tiff", data=data), "fine") for name in ("a.tiff", "b.tiff")
    )
    assert first == second
    assert decodings.count == 1


def test_same_file_in_another_resolution_is_decoded_again(converter: Converter, decodings: Decodings) -> None:
    document = FaxDocument(name="a.pdf", format="pdf", data=one_page())
    pages = [converter.convert(document, resolution)[0].page for resolution in ("fine", "standard")]
    assert [page.resolution for page in pages] == ["fine", "standard"]
    assert decodings.count == 2


def test_refused_file_is_decoded_again(converter: Converter, decodings: Decodings) -> None:
    for name in ("a.tiff", "b.tiff"):
        with pytest.raises(UnreadableDocument, match=name):
            converter.convert(FaxDocument(name=name, format="tiff", data=b"II*\0"), "fine")
    assert decodings.count == 2


def test_files_that_were_used_longest_ago_are_decoded_again(converter: Converter, decodings: Decodings) -> None:
    half = MAX_CACHED_PAGES // 2
    files = [write_tiff([random_page(seed, "standard", 8)] * half) for seed in range(3)]
    for number in (0, 1, 0, 2, 0, 1):
        converter.convert(FaxDocument(name="a", format="tiff", data=files[number]), "fine")
    assert decodings.count == 4


CONTENTS: list[tuple[DocumentFormat, bytes]] = [
    ("pdf", one_page()),
    ("tiff", write_tiff(PAGES[:1])),
    ("tiff", b"MM\0*" + bytes(20)),
    ("png", write_png(PAGES[0])),
    ("jpeg", saved(picture(), "JPEG")),
]


@pytest.mark.parametrize(("format", "data"), CONTENTS)
@pytest.mark.parametrize("name", ["a.pdf", "a.txt", "a.exe", "a", ""])
def test_format_is_detected_by_content(name: str, format: DocumentFormat, data: bytes) -> None:
    for declared in ("", "application/pdf", "text/plain; charset=utf-8", "nonsense"):
        assert detect_format(name, declared, data) == format


@pytest.mark.parametrize(
    "data",
    [b"Dear colleague,\n", "Muñoz".encode(), "Muñoz".encode("utf-16"), b"Mu\xf1oz", b"bell \x07 and escape \x1b[1m"],
)
@pytest.mark.parametrize(("name", "declared"), [("a.txt", ""), ("a", "text/plain; charset=utf-8"), ("", "")])
def test_text_is_detected(name: str, declared: str, data: bytes) -> None:
    assert detect_format(name, declared, data) == "text"


EXECUTABLE = b"\x7fELF\x02\x01\x01" + bytes(9) + bytes(range(256)) * 4


def _pack(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "<xml/>")
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "format"),
    [
        ("letter.docx", _pack("[Content_Types].xml", "word/document.xml"), "DOCX"),
        ("letter.pdf", _pack("[Content_Types].xml", "word/document.xml"), "DOCX"),
        ("letter.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "DOC"),
        ("sheet.xlsx", _pack("[Content_Types].xml", "xl/workbook.xml"), "XLSX"),
        ("letter.rtf", b"{\\rtf1 Dear Dr. May}", "RTF"),
    ],
)
def test_office_file_is_refused_by_name_with_what_to_do(name: str, data: bytes, format: str) -> None:
    with pytest.raises(UnreadableDocument) as refused:
        detect_format(name, "", data)
    assert refused.value.code == "unknown_format"
    assert f"the format {format}, which is not converted; save it as PDF and send that" in refused.value.reason


@pytest.mark.parametrize(
    ("name", "declared", "data"),
    [
        ("letter.pdf", "application/pdf", EXECUTABLE),
        ("letter.pdf", "application/pdf", b"MZ\x90\0" + bytes(200) + b"%PDF-1.7"),
        ("letter.pdf", "", b"#!/bin/sh\necho hello\n"),
        ("letter", "application/pdf", b"just text"),
        ("letter.html", "", b"<html>Dear colleague</html>"),
        ("letter.txt", "text/html", b"<html>Dear colleague</html>"),
        ("letter.docx", "", b"PK\x03\x04" + bytes(200)),
        ("letter.txt", "text/plain", EXECUTABLE),
        ("letter.txt", "text/plain", b"a\0b"),
        ("letter.txt", "text/plain", b"\x01\x02\x03\x04\x05text"),
        ("letter.gif", "image/gif", b"GIF89a" + bytes(20)),
    ],
)
def test_other_content_is_an_unknown_format(name: str, declared: str, data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match="expected: PDF, TIFF, PNG, JPEG or plain text") as refused:
        detect_format(name, declared, data)
    assert refused.value.code == "unknown_format"


def test_declared_format_that_is_wrong_is_corrupt() -> None:
    for format in ("pdf", "tiff", "png", "jpeg"):
        with pytest.raises(UnreadableDocument) as refused:
            convert(FaxDocument.model_validate({"name": "x", "format": format, "data": BOX}), "fine")
        assert refused.value.code == "corrupt"
