"""Measure faxes: pages drawn and degraded, documents converted, OCR, faxes under way, an idle fax line.

    python -m benchmarks.fax [--quick]

Conversion and OCR run in worker processes with limits of memory and time. Beside them stand pypdfium2 and tesserocr,
called directly in one process, with the same pages: the ratio says what the limits cost. Each case is measured in a
process of its own, and everything ends by itself.
"""

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.fax_documents import write_letter_pdf
from benchmarks.processes import BenchmarkSite, measure_case, measure_idle, resident
from benchmarks.table import render_table
from clerkship.formats.fax_pages.conversion import convert
from clerkship.formats.fax_pages.degradation import Degradation
from clerkship.formats.fax_pages.degrade import degrade
from clerkship.formats.fax_pages.document import FaxDocument
from clerkship.formats.fax_pages.files import write_tiff
from clerkship.formats.fax_pages.header import add_header
from clerkship.formats.fax_pages.image import to_image
from clerkship.formats.fax_pages.ocr import read_page
from clerkship.formats.fax_pages.page import DOTS_PER_INCH, FaxPage
from clerkship.formats.fax_pages.text_pages import render_text
from clerkship.simulators import fax
from clerkship.simulators.fax.handle import Fax
from clerkship.simulators.fax.templates.registry import TEMPLATES

ROOT = Path(__file__).resolve().parent.parent
PAGES = 20
"""Pages that are drawn and degraded."""
PDFS = 20
PDF_PAGES = 3
OCR_PAGES = 2
UNDER_WAY = 30
"""Faxes under way at once, of three pages each."""
IDLE = 300
NUMBER = "+15550100900"
BAD_LINE = Degradation(noise=0.3, speckle=150, skew=0.6, missing_lines=12, streaks=1)
HEADER = "2026-03-02 09:14   FROM: Riverbend Family Medicine   +1 555 010 0200   PAGE 1/1"
LETTER = "\n".join(
    f"{line:>2}. Patient {4000 + line} was seen on 2026-02-{line % 27 + 1:02} for knee pain, code M17.{line % 10}."
    for line in range(1, 25)
)
REFERRAL = {
    "sender": {"name": "Riverbend Family Medicine", "city": "Riverbend, OR 97100", "phone": "+1 555 010 0301"},
    "date": "March 1, 2026",
    "recipient": {"name": "Cedar Orthopedics", "fax": "+1 555 010 0200"},
    "patient": {"name": "Maria Lopez", "date_of_birth": "02/11/1984", "mrn": "RB-44812"},
    "insurance": {"payer": "Evergreen Health Plan", "member_id": "EHP220194553"},
    "diagnoses": [{"code": "M17.12", "description": "Unilateral primary osteoarthritis, left knee"}],
    "reason": "Pain of the left knee for eight weeks. Conservative treatment brought no relief.",
    "history": "Physiotherapy from December to February. X-ray of 2026-02-12: narrow medial joint space. " * 3,
    "medications": ["Naproxen 500 mg twice a day", "Lisinopril 10 mg once a day"],
    "signer": {"name": "Helen Okafor, MD", "npi": "1558234019"},
    "notes": ["please call if before Friday"],
    "stamp": {"date": "MAR 02 2026"},
}


def draw_page(number: int) -> FaxPage:
    """Return a page of 24 lines, 300 words, that differs from those with other numbers."""
    page, words = render_text(f"Letter {number}\n\n{LETTER}", "fine")[0]
    return add_header(page, words, HEADER)[0]


def _time_each(work: Callable[[int], object], number: int) -> float:
    """Return the processor seconds of one call, over so many calls after a first one."""
    work(number)
    began = time.process_time()
    for place in range(number):
        work(place)
    return (time.process_time() - began) / number


def run_pages(number: int) -> dict[str, float]:
    """Return pages a second: drawn from text and from a template, degraded, and written as Group 4."""
    page = draw_page(0)
    drawn = _time_each(draw_page, number)
    degraded = _time_each(lambda place: degrade(page, BAD_LINE, place), number)
    spoiled = degrade(page, BAD_LINE, 1)
    written = _time_each(lambda _: write_tiff([spoiled]), number)
    letter = _time_each(lambda place: TEMPLATES["referral_letter"].draw_values(REFERRAL, place), number)
    return {
        "drawn": 1 / drawn,
        "letter": 1 / letter,
        "degraded": 1 / degraded,
        "both": 1 / (letter + degraded),
        "written": 1 / written,
    }


def run_conversion(number: int) -> dict[str, float]:
    """Return PDF files of three pages converted a second, in our worker process and with pypdfium2 alone."""
    documents = [write_letter_pdf([f"{number} {place}\n{LETTER}"] * PDF_PAGES) for place in range(number)]
    ours = _rate(_convert, documents)
    plain = _rate(_convert_plainly, documents)
    return {"ours": ours, "plain": plain, "worker": _measure_first_conversion(documents[0])}


def _convert(data: bytes) -> int:
    return len(convert(FaxDocument(name="letter.pdf", format="pdf", data=data), "fine"))


def _convert_plainly(data: bytes) -> int:
    """Render the pages with pypdfium2 and make them black and white with Pillow."""
    import pypdfium2  # noqa: PLC0415  (an extra, loaded when used)

    with pypdfium2.PdfDocument(data) as document:
        across = DOTS_PER_INCH["fine"][0]
        return len(
            [page.render(scale=across / 72, grayscale=True).to_pil().convert("1", dither=0) for page in document]
        )


def _rate(work: Callable[[bytes], int], documents: list[bytes]) -> float:
    """Return documents a second of wall time; the work is in another process, so processor time would not count it."""
    assert work(documents[0]) == PDF_PAGES
    began = time.perf_counter()
    for data in documents:
        assert work(data) == PDF_PAGES
    return len(documents) / (time.perf_counter() - began)


def _measure_first_conversion(data: bytes) -> float:
    """Return the seconds of a conversion in a new interpreter, which starts the worker process."""
    script = "import sys, time; from benchmarks.fax import _convert; began = time.perf_counter(); "
    script += "_convert(sys.stdin.buffer.read()); print(time.perf_counter() - began)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, input=data, capture_output=True, check=True)
    return float(done.stdout)


def run_ocr(number: int) -> dict[str, float]:
    """Return wall seconds of OCR per page, clean and degraded, in our worker process and with tesserocr alone."""
    clean = [draw_page(place) for place in range(number)]
    bad = [degrade(page, BAD_LINE, place) for place, page in enumerate(clean)]
    return {
        "clean": _time_ocr(_read, clean),
        "clean_plain": _time_ocr(_read_plainly, clean),
        "bad": _time_ocr(_read, bad),
        "bad_plain": _time_ocr(_read_plainly, bad),
    }


def _time_ocr(read: Callable[[FaxPage], str], pages: list[FaxPage]) -> float:
    read(pages[0])
    began = time.perf_counter()
    texts = [read(page) for page in pages]
    spent = (time.perf_counter() - began) / len(pages)
    assert all("knee" in text for text in texts), texts[0][:400]
    return spent


def _read(page: FaxPage) -> str:
    return read_page(page).text


def _read_plainly(page: FaxPage) -> str:
    """Read a page with a new tesserocr interface, as a program without a worker process would."""
    import tesserocr  # noqa: PLC0415  (an extra, loaded when used)

    across, down = DOTS_PER_INCH[page.resolution]
    image = to_image(page).resize((page.width, page.height * across // down)).convert("L")
    folder = str(Path(sys.prefix) / "share" / "tessdata")
    with tesserocr.PyTessBaseAPI(path=folder, lang="eng", psm=tesserocr.PSM.SINGLE_COLUMN) as engine:
        engine.SetImage(image)
        text: str = engine.GetUTF8Text()
        return text


def open_site() -> BenchmarkSite:
    """Return a `fax` sandbox and one machine elsewhere. It takes an hour to dial, so faxes stay under way."""
    config = {"contacts": [{"name": "Payer", "number": NUMBER}], "dial_time": "1h"}
    return BenchmarkSite("fax", fax.SPEC, config)


def run_under_way(faxes: int) -> dict[str, float]:
    """Return the time and memory of so many faxes of three pages, each another letter, and of their delivery."""
    office = open_site()
    playground, sandboxes = office.open()
    line = sandboxes.get_as(Fax)
    line.send(NUMBER, text=LETTER)
    playground.advance(timedelta(hours=2))
    gc.collect()
    before, began = resident(), time.perf_counter()
    for place in range(faxes):
        line.send(NUMBER, text="\f".join(f"Letter {place}, page {page}\n\n{LETTER}" for page in range(1, 4)))
    queued = time.perf_counter() - began
    gc.collect()
    used = resident() - before
    assert len(line.faxes(status="queued")) == faxes
    began = time.perf_counter()
    playground.advance(timedelta(days=1))
    delivered = time.perf_counter() - began
    assert len(line.faxes(status="delivered")) == faxes + 1
    office.listener.close()
    return {"queued": queued, "delivered": delivered, "megabytes": used / 1024}


def run_idle(playgrounds: int) -> dict[str, float]:
    """Return the kilobytes of an idle playground with a fax line, and the microseconds in which a day passes on it."""
    return measure_idle(open_site(), playgrounds)


CASES: dict[str, Callable[[int], dict[str, float]]] = {
    "pages": run_pages,
    "conversion": run_conversion,
    "ocr": run_ocr,
    "under_way": run_under_way,
    "idle": run_idle,
}
SIZES = {"pages": PAGES, "conversion": PDFS, "ocr": OCR_PAGES, "under_way": UNDER_WAY, "idle": IDLE}
QUICK_SIZES = {"pages": 1, "conversion": 1, "ocr": 1, "under_way": 2, "idle": 5}


def measure(case: str, size: int) -> dict[str, float]:
    """Measure one case in a process of its own."""
    return measure_case("benchmarks.fax", case, size)


def compare(conversion: dict[str, float], ocr: dict[str, float]) -> str:
    """Return the table of what has a library beside it."""
    rows = [
        (f"PDF of {PDF_PAGES} pages to fax pages", "/s", conversion["ours"], "pypdfium2", conversion["plain"]),
        ("OCR of a clean page", " s", ocr["clean"], "tesserocr", ocr["clean_plain"]),
        ("OCR of a degraded page", " s", ocr["bad"], "tesserocr", ocr["bad_plain"]),
    ]
    return render_table(
        ("what", "sandbox", "library alone", "ratio"),
        [
            (what, f"{ours:.2f}{unit}", f"{plain:.2f}{unit} ({library})", f"{ours / plain:.2f}")
            for what, unit, ours, library, plain in rows
        ],
    )


def list_costs(sizes: dict[str, int], pages: dict[str, float], conversion: dict[str, float]) -> str:
    """Measure the sandbox, and return the table of the rest."""
    faxes, idle = measure("under_way", sizes["under_way"]), measure("idle", sizes["idle"])
    rows = [
        ("pages of text drawn, 300 words with the header line", f"{pages['drawn']:.1f}/s"),
        ("referral letters drawn from the template", f"{pages['letter']:.1f}/s"),
        ("pages degraded", f"{pages['degraded']:.1f}/s"),
        ("referral letters drawn and degraded", f"{pages['both']:.1f}/s"),
        ("pages written as Group 4", f"{pages['written']:,.0f}/s"),
        ("the first conversion, which starts the worker process", f"{conversion['worker']:.2f} s"),
        (f"{sizes['under_way']} faxes of three pages, sent over the API", f"{faxes['queued']:.2f} s"),
        ("… memory while they are under way, with their pages", f"{faxes['megabytes']:.1f} MB"),
        ("… all delivered, in simulated time", f"{faxes['delivered'] * 1000:.0f} ms"),
        ("an idle playground with a fax line", f"{idle['kilobytes']:.1f} KB"),
        ("… a simulated day passes", f"{idle['microseconds']:.0f} µs"),
    ]
    return render_table(("sandbox", "measured"), rows)


def main() -> None:
    """Parse the command line, and print the tables or the figures of one case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="that it works at all: seconds instead of minutes")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=1, help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.case:
        print(json.dumps(CASES[options.case](options.size)))
        return
    sizes = QUICK_SIZES if options.quick else SIZES
    conversion = measure("conversion", sizes["conversion"])
    print(compare(conversion, measure("ocr", sizes["ocr"])), flush=True)
    print(f"\n{list_costs(sizes, measure('pages', sizes['pages']), conversion)}", flush=True)


if __name__ == "__main__":
    main()
