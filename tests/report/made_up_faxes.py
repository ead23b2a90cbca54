"""Made-up trials with faxes: their pages, logs and criteria."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from clerkship.events.event import Event, Payload, render_event
from clerkship.formats.fax_pages.files import write_tiff
from clerkship.formats.fax_pages.page import PAGE_WIDTH, FaxPage, PageWord, PageWords
from clerkship.model.run import PageMark, PagePicture, TaskRun
from clerkship.report.detail import TaskDetail, parse_detail
from clerkship.simulators.fax.events import FaxArrived, FaxQueued, PageStored
from clerkship.simulators.fax.records import FaxHeader, FaxPart
from tests.report import made_up


def page(number: int, height: int = 64) -> FaxPage:
    """Return a small page that differs from those with other numbers: a black bar at another place."""
    row = bytearray(PAGE_WIDTH // 8)
    row[number % len(row)] = 255
    blank = bytes(PAGE_WIDTH // 8)
    dots = b"".join(bytes(row) if line % 16 <= number // len(row) else blank for line in range(height))
    return FaxPage(height=height, dots=dots)


def stored(fax_page: FaxPage, text: str = "") -> PageStored:
    """Return the event of a page, with the words of a text as its true words."""
    words = PageWords(
        words=tuple(
            PageWord(text=word, left=100 + 200 * place, top=20, width=150, height=30)
            for place, word in enumerate(text.split())
        )
    )
    return PageStored(
        hash=fax_page.hash,
        resolution=fax_page.resolution,
        width=fax_page.width,
        height=fax_page.height,
        data=write_tiff([fax_page]),
        true_words=words if text else None,
    )


def header(pages: Sequence[FaxPage], *, arrived: bool = True, name: str = "referral.pdf") -> FaxHeader:
    """Return a fax of one document."""
    return FaxHeader(
        id="fax-1",
        direction="inbound" if arrived else "outbound",
        sender="+15550100300",
        to="+15550100200",
        parts=(FaxPart(name=name, format="pdf", pages=tuple(one.hash for one in pages)),),
    )


def trial(task_run: TaskRun, payloads: Sequence[Payload]) -> TaskDetail:
    """Return a trial whose log has these payloads, loaded as from a store."""
    blobs: dict[str, bytes] = {}
    start = datetime(2026, 3, 2, 9, tzinfo=UTC)
    lines = [
        render_event(Event(seq, start + timedelta(seconds=20 * seq), "fax", payload.kind, "run", None, payload), blobs)
        for seq, payload in enumerate(payloads, 1)
    ]
    snapshot = made_up.detail(task_run).snapshot
    assert snapshot is not None
    blobs[task_run.snapshot] = snapshot.data
    return parse_detail(task_run.model_copy(update={"events": len(lines)}), lines, b"", blobs.__getitem__)


def picture(fax_page: FaxPage, *marks: PageMark, caption: str = "page 1 of fax-1") -> PagePicture:
    """Return a page that a criterion cites."""
    return PagePicture(source="fax", page=fax_page.hash, caption=caption, marks=marks)


def referral(number: int = 0, pages: int = 2) -> TaskDetail:
    """Return a failed trial: a fax of some pages arrived, and one was sent, in which a value is missing."""
    inbound = [page(number + place) for place in range(pages)]
    outbound = page(number + 1000)
    marks = (
        PageMark(text="MRN 4711", sort="found", boxes=((100, 20, 350, 30),)),
        PageMark(text="Ann Other", sort="forbidden", boxes=((500, 20, 150, 30), (700, 20, 150, 30))),
        PageMark(text="M54.16", sort="missing"),
    )
    failed = made_up.criterion(
        "Faxes the right notes", assertion="fax_document", evidence=(), pictures=(picture(outbound, *marks),)
    )
    task_run = made_up.task_run(f"Answer fax {number}", verdict="fail", score=0.0, criteria=(failed,))
    payloads = (
        *(stored(one, f"Referral of patient {number}") for one in inbound),
        FaxArrived(header=header(inbound)),
        stored(outbound, "MRN 4711 Ann Other"),
        FaxQueued(header=header([outbound], arrived=False, name="notes.pdf")),
    )
    return trial(task_run, payloads)
