"""Pages that a criterion cites as evidence, with marks where values were found on them."""

from typing import Any

from clerkship.model.run import PageMark, PagePicture
from clerkship.report.embed import clip
from clerkship.report.fax_pages import StoredPage

MAX_CITED_PAGES = 20
"""Pages that are shown beside one criterion."""
MAX_MARKS = 100
"""Marks on one page."""
MAX_BOXES = 50
"""Words of one mark."""


def build_cited_page(picture: PagePicture, pages: dict[str, StoredPage]) -> dict[str, Any]:
    """Return a page that a criterion cites, with its marks, in dots that are as high as wide."""
    page = pages.get(picture.page)
    stretch = page.stretch if page is not None else 1.0
    return {
        "source": clip(picture.source, 400),
        "hash": picture.page,
        "caption": clip(picture.caption, 400),
        "marks": [_build_mark(mark, stretch) for mark in picture.marks[:MAX_MARKS]],
        "marks_left_out": max(len(picture.marks) - MAX_MARKS, 0),
    }


def _build_mark(mark: PageMark, stretch: float) -> dict[str, Any]:
    boxes = [
        [left, round(top * stretch), width, round(height * stretch)]
        for left, top, width, height in mark.boxes[:MAX_BOXES]
    ]
    return {"text": clip(mark.text, 400), "sort": mark.sort, "boxes": boxes}
