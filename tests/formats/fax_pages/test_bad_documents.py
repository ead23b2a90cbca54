"""Documents that are broken, or that take too much, are refused in bounded time and memory."""

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from PIL import Image

from clerkship.formats.fax_pages.conversion import LIMITS, Converter, convert, detect_format
from clerkship.formats.fax_pages.document import MAX_DOCUMENT_BYTES, MAX_PAGES, FaxDocument, UnreadableDocument
from clerkship.formats.fax_pages.files import write_png, write_tiff
from clerkship.formats.fax_pages.worker import WorkerLimits
from tests.formats.fax_pages import bombs
from tests.formats.fax_pages.pages import picture, random_page
from tests.formats.fax_pages.pdfs import many_pages, one_page, with_password

MEASURE = """
import json, resource, sys
from clerkship.formats.fax_pages.conversion import Converter, detect_format
from clerkship.formats.fax_pages.document import FaxDocument, UnreadableDocument
data = sys.stdin.buffer.read()
converter = Converter()
try:
    pages = converter.convert(FaxDocument(name="x", format=detect_format("x", "", data), data=data), "fine")
    outcome = f"{len(pages)} pages"
except UnreadableDocument as error:
    outcome = error.code
converter.close()
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([outcome, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime]))
"""


def measure(data: bytes) -> tuple[str, int, float]:
    """Convert a file; return what came of it, the memory of the worker process and its processor time."""
    done = subprocess.run([sys.executable, "-c", MEASURE], input=data, capture_output=True, check=True, timeout=300)
    outcome, memory, seconds = json.loads(done.stdout)
    return outcome, memory, seconds


@pytest.fixture(scope="module")
def hasty() -> Iterator[Converter]:
    """A converter that lets a document take little time."""
    converter = Converter(WorkerLimits(memory=LIMITS.memory, cpu_seconds=2, wall_seconds=120))
    yield converter
    converter.close()


def refusal(data: bytes, converter: Converter | None = None) -> UnreadableDocument:
    """Return why a file is refused."""

    def fax() -> None:
        document = FaxDocument(name="x", format=detect_format("x", "", data), data=data)
        (converter.convert if converter else convert)(document, "fine")

    with pytest.raises(UnreadableDocument) as refused:
        fax()
    assert "0x" not in refused.value.reason, "an address differs each time"
    return refused.value


def saved_tiff(pages: int, **options: object) -> bytes:
    file = io.BytesIO()
    sheets = [Image.new("1", (100, 130), 1)] * pages
    sheets[0].save(file, "TIFF", save_all=True, append_images=sheets[1:], **options)
    return file.getvalue()


BAD: dict[str, tuple[str, Callable[[], bytes]]] = {
    "PDF with a password": ("encrypted", with_password),
    "PDF of garbage": ("corrupt", lambda: b"%PDF-1.7\n" + bytes(range(256)) * 10),
    "PDF cut off": ("corrupt", lambda: many_pages(3)[:300]),
    "PDF signature alone": ("corrupt", lambda: b"%PDF-"),
    "PDF without pages": ("no_pages", lambda: many_pages(0)),
    "PDF of 500 pages": ("too_many_pages", lambda: many_pages(500)),
    "PDF that claims a million pages": ("too_many_pages", lambda: one_page().replace(b"/Count 1", b"/Count 1000000")),
    "PDF whose pages are in a loop": ("corrupt", lambda: one_page().replace(b"Kids[3 0 R]", b"Kids[2 0 R]")),
    "PDF page without a size": ("corrupt", lambda: one_page(size=(0.1, 0.1))),
    "PDF page of 139 inches": ("too_large", lambda: one_page(size=(100, 10_000))),
    "PDF with an image of 100,000 dots": ("too_large", lambda: bombs.pdf_with_image(100_000, 100_000)),
    "PNG of 100,000 dots": ("too_large", lambda: bombs.png(100_000, 100_000, bits=1)),
    "PNG of 20,001 dots": ("too_large", lambda: bombs.png(20_001, 1, bits=1)),
    "PNG strip": ("too_large", lambda: bombs.png(1, 20_000, bits=1)),
    "PNG with 100 MB of text": ("corrupt", lambda: bombs.png_with_text(100_000_000)),
    "PNG cut off": ("corrupt", lambda: write_png(random_page())[:5000]),
    "PNG signature alone": ("corrupt", lambda: b"\x89PNG\r\n\x1a\n"),
    "TIFF of 100,000 dots": ("too_large", lambda: bombs.tiff(100_000, 100_000)),
    "TIFF of 500 pages": ("too_many_pages", lambda: saved_tiff(500)),
    "TIFF of thumbnails": ("no_pages", lambda: saved_tiff(2, tiffinfo={254: 1})),
    "TIFF cut off in its strip": ("corrupt", lambda: write_tiff([random_page()])[:9000]),
    "TIFF cut off in its fields": ("corrupt", lambda: write_tiff([random_page()])[:100]),
    "TIFF cut off in its second page": ("corrupt", lambda: write_tiff([random_page(), random_page(2)])[:-9000]),
    "TIFF whose strip claims 4 GB": ("corrupt", lambda: bombs.tiff(1728, 2000, claimed=4_000_000_000)),
    "TIFF whose pages are in a loop": ("corrupt", lambda: bombs.tiff(1728, 2000, following=8)),
    "TIFF without dots": ("corrupt", lambda: bombs.tiff(0, 0)),
    "TIFF signature alone": ("corrupt", lambda: b"II*\0"),
    "JPEG of 65,500 dots": ("too_large", lambda: bombs.jpeg(65_500, 65_500)),
    "JPEG without a picture": ("corrupt", lambda: bombs.jpeg(1000, 1000)),
    "JPEG signature alone": ("corrupt", lambda: b"\xff\xd8\xff"),
    "empty file": ("no_pages", lambda: b""),
    "blank text": ("no_pages", lambda: b" \n\n"),
    "text of 500 pages": ("too_many_pages", lambda: b"page\f" * 500),
    "too many bytes": ("too_large", lambda: bytes(MAX_DOCUMENT_BYTES + 1)),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_document_is_refused_with_its_code(name: str) -> None:
    code, build = BAD[name]
    assert refusal(build()).code == code


def test_refusal_does_not_depend_on_the_document_before() -> None:
    names = ("PDF with a password", "PDF without pages", "PDF of garbage", "PDF without pages")
    assert [refusal(BAD[name][1]()).code for name in names] == [BAD[name][0] for name in names]


@pytest.mark.slow
def test_most_pages_are_converted() -> None:
    pages = convert(FaxDocument(name="x", format="tiff", data=saved_tiff(MAX_PAGES)), "standard")
    assert len(pages) == MAX_PAGES


@pytest.mark.slow
def test_page_that_takes_too_long_is_refused_and_the_next_document_is_converted(hasty: Converter) -> None:
    error = refusal(bombs.pdf_with_fine_pattern(), hasty)
    assert (error.code, error.reason) == (
        "too_slow",
        "'x' cannot be converted: it takes more than 2 s of processor time",
    )
    assert len(hasty.convert(FaxDocument(name="x", format="pdf", data=one_page()), "fine")) == 1


@pytest.mark.parametrize(
    ("build", "outcomes"),
    [
        pytest.param(lambda: bombs.pdf_with_nested_forms(20, 10), {"too_large"}, marks=pytest.mark.slow),
        pytest.param(bombs.pdf_with_itself, {"too_large"}, marks=pytest.mark.slow),
        pytest.param(lambda: bombs.pdf_with_squeezed_content(1_000_000_000), {"too_large"}, marks=pytest.mark.slow),
        pytest.param(lambda: bombs.png(7000, 7000, color=6), {"1 pages"}, marks=pytest.mark.slow),
        pytest.param(lambda: bombs.png(7000, 7000, bits=16, color=0), {"1 pages"}, marks=pytest.mark.slow),
        (lambda: bombs.png(100_000, 100_000, bits=1), {"too_large"}),
    ],
    ids=["nested forms", "form in itself", "squeezed content", "largest PNG with alpha", "largest PNG", "PNG bomb"],
)
def test_memory_and_processor_time_are_bounded(build: Callable[[], bytes], outcomes: set[str]) -> None:
    outcome, memory, seconds = measure(build())
    assert outcome in outcomes
    assert memory <= LIMITS.memory
    assert seconds <= LIMITS.cpu_seconds + 2


def test_refusal_by_size_decodes_nothing() -> None:
    for data in (bombs.png(100_000, 100_000, bits=1), bombs.pdf_with_image(100_000, 100_000), many_pages(500)):
        _, memory, _ = measure(data)
        assert memory < 100_000_000


def test_damaged_files_give_pages_or_a_refusal() -> None:
    file = io.BytesIO()
    picture().save(file, "JPEG")
    for data in (write_tiff([random_page(height=50)]), write_png(random_page(height=50)), one_page(), file.getvalue()):
        for at in range(8, len(data), max(1, len(data) // 25)):
            damaged = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
            document = FaxDocument(name="x", format=detect_format("x", "", data), data=damaged)
            try:
                code = "" if convert(document, "standard") else "no pages, and no error"
            except UnreadableDocument as error:
                code = error.code
            assert code in ("", "corrupt", "too_large", "no_pages", "encrypted", "too_many_pages")
