"""Pages that a criterion cites as evidence, with marks where values were found on them."""

from collections.abc import Mapping, Sequence
from typing import Any

from clerkship.model.run import PageBox, PageMark, PagePicture
from clerkship.report.embed import clip
from clerkship.report.fax_pages import StoredPage
from clerkship.report.page_text import group_pictures

MAX_CITED_PAGES = 20
"""Pages that are shown beside one criterion."""
MAX_MARKS = 100
"""Marks on one page."""
MAX_BOXES = 50
"""Words of one mark."""
MAX_GAP = 60
"""Dots between two words of a line that are marked as one."""


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
