"""Pages of faxes as pictures in the HTML report: each page once, and only as many as a report can hold."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clerkship.by_name import load
from clerkship.formats.fax_pages.document import UnreadableDocument
from clerkship.kit.extras import describe_install
from clerkship.model.run import PageBox, PageMark, PagePicture, TaskRun
from clerkship.report.detail import TaskDetail
from clerkship.report.fax_pages import StoredPage
from clerkship.report.pages import clip
from clerkship.report.plain_text import group_pictures

MAX_CITED_PAGES = 20
"""Pages that are shown beside one criterion."""
MAX_MARKS = 100
"""Marks on one page."""
MAX_BOXES = 50
"""Words of one mark."""
MAX_GAP = 60
"""Dots between two words of a line that are marked as one."""
MAX_PICTURES = 150
"""Pages of one report that are drawn; those that do not fit into it are among them, because each takes time."""
MAX_PICTURE_BYTES = 6 * 1024 * 1024
"""Bytes of all pictures in one report; a third more as base64."""
NO_PILLOW = (
    "The pages of faxes are not shown, because Pillow is not installed: "
    f"install it with {describe_install('fax')}, and write the report again."
)


def build_cited_pages(pictures: Sequence[PagePicture], pages: Mapping[str, StoredPage]) -> dict[str, Any]:
    """Return the pages that a criterion cites, each once, and how many are left out; empty if it cites none."""
    if not pictures:
        return {}
    grouped = group_pictures(pictures)
    shown = grouped[:MAX_CITED_PAGES]
    return {"pages": [_build_page(same, pages) for same in shown], "pages_left_out": len(grouped) - len(shown)}


def _build_page(same: Sequence[PagePicture], pages: Mapping[str, StoredPage]) -> dict[str, Any]:
    """Return a page with the marks of all pictures of it, in dots that are as high as wide."""
    page = pages.get(same[0].page)
    stretch = page.stretch if page is not None else 1.0
    marks = [mark for picture in same for mark in picture.marks]
    return {
        "source": clip(same[0].source, 400),
        "hash": same[0].page,
        "caption": clip(same[0].caption, 400),
        "marks": [_build_mark(mark, stretch) for mark in marks[:MAX_MARKS]],
        "marks_left_out": max(len(marks) - MAX_MARKS, 0),
    }


def _build_mark(mark: PageMark, stretch: float) -> dict[str, Any]:
    boxes = [
        (left, round(top * stretch), width, round(height * stretch))
        for left, top, width, height in _join_words(mark.boxes[:MAX_BOXES])
    ]
    return {"text": clip(mark.text, 400), "sort": mark.sort, "boxes": boxes}


def _join_words(boxes: Sequence[PageBox]) -> list[PageBox]:
    """Join the boxes of words that follow each other on one line."""
    joined: list[PageBox] = []
    for box in boxes:
        if joined and _is_next_word(joined[-1], box):
            joined[-1] = _join(joined[-1], box)
        else:
            joined.append(box)
    return joined


def _is_next_word(before: PageBox, after: PageBox) -> bool:
    left, top, width, height = before
    gap = after[0] - (left + width)
    overlap = min(top + height, after[1] + after[3]) - max(top, after[1])
    return 0 <= gap <= MAX_GAP and overlap * 2 > min(height, after[3])


def _join(before: PageBox, after: PageBox) -> PageBox:
    left, top = before[0], min(before[1], after[1])
    right = after[0] + after[2]
    bottom = max(before[1] + before[3], after[1] + after[3])
    return left, top, right - left, bottom - top


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
        files = load("clerkship.formats.fax_pages.files")  # few reports have pages
        try:
            png = files.write_png(files.read_single_page(tiff))
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
