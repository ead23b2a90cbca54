"""Pages of faxes as pictures in the HTML report: each page once, and only as many as a report can hold."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from clerkship.formats.fax_pages.document import UnreadableDocument
from clerkship.formats.fax_pages.files import read_single_page, write_png
from clerkship.kit.extras import describe_install
from clerkship.model.run import TaskRun
from clerkship.report.cited_pages import MAX_CITED_PAGES
from clerkship.report.detail import TaskDetail
from clerkship.report.fax_pages import StoredPage

MAX_PICTURES = 150
"""Pages of one report that are drawn; those that do not fit into it are among them, because each takes time."""
MAX_PICTURE_BYTES = 6 * 1024 * 1024
"""Bytes of all pictures in one report; a third more as base64."""
NO_PILLOW = (
    "The pages of faxes are not shown, because Pillow is not installed: "
    f"install it with {describe_install('fax')}, and write the report again."
)


def build_page_images(details: Sequence[TaskDetail], shown: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the pictures of the trials that are shown, the most urgent pages first, and what was left out.

    A page that several trials have is in the report once.
    """
    pages: dict[str, dict[str, Any]] = {}
    room, left_out, redacted, problem = MAX_PICTURE_BYTES, 0, 0, ""
    for number, page in enumerate(_list_pages(details, shown)):
        if number >= MAX_PICTURES or problem:
            left_out += 1
            continue
        tiff = page.read()
        if not tiff:  # its words are not known, so that values cannot be blacked out
            redacted += 1
            continue
        try:
            png = write_png(read_single_page(tiff))
        except ImportError:
            problem, png = NO_PILLOW, b""
        except UnreadableDocument:
            png = b""
        if not png or len(png) > room:
            left_out += 1
            continue
        room -= len(png)
        pages[page.hash] = {
            "png": base64.b64encode(png).decode(),
            "width": page.width,
            "height": round(page.height * page.stretch),
        }
    return {
        "pictures": pages,
        "pictures_left_out": left_out,
        "pictures_redacted": redacted,
        "pictures_problem": problem,
    }


def _list_pages(details: Sequence[TaskDetail], shown: Sequence[dict[str, Any]]) -> Iterator[StoredPage]:
    """Yield each page once: those that failed criteria cite, then those that others cite, then those of faxes."""
    seen: set[str] = set()
    with_body = [detail for detail, place in zip(details, shown, strict=True) if "body" in place]
    with_log = [detail for detail, place in zip(details, shown, strict=True) if place.get("log")]
    wanted = (
        *((detail, page) for detail in with_body for page in _list_cited_pages(detail.task_run, passed=False)),
        *((detail, page) for detail in with_body for page in _list_cited_pages(detail.task_run, passed=True)),
        *((detail, page["hash"]) for detail in with_log for event in detail.events for page in _pages_of(event)),
    )
    for detail, page in wanted:
        if page in detail.pages and page not in seen:
            seen.add(page)
            yield detail.pages[page]


def _list_cited_pages(task_run: TaskRun, *, passed: bool) -> Iterator[str]:
    for criterion in task_run.criteria:
        if criterion.passed == passed:
            yield from (picture.page for picture in criterion.pictures[:MAX_CITED_PAGES])


def _pages_of(event: dict[str, Any]) -> list[dict[str, Any]]:
    pages: list[dict[str, Any]] = event.get("fax", {}).get("pages", [])
    return pages
