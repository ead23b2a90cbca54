"""Pages that a criterion cites, in a line of text each: which page, and the values found or missing there."""

from collections.abc import Iterator, Sequence
from typing import Literal

from clerkship.model.run import CriterionRun, PagePicture

MAX_PAGES = 5
"""Pages named per criterion."""
MAX_VALUES = 10
"""Values named per page and kind."""
MarkSort = Literal["found", "missing", "forbidden"]
MARK_WORDS: dict[MarkSort, str] = {"forbidden": "must not be there", "missing": "missing", "found": "found"}


def describe_cited_pages(criterion: CriterionRun) -> Iterator[str]:
    """Yield a line for each page: `page 2 of fax-1: missing “M54.16”; found “MRN 4711”`."""
    pages = group_pictures(criterion.pictures)
    for pictures in pages[:MAX_PAGES]:
        yield _describe_page(pictures)
    more = len(pages) - MAX_PAGES
    if more > 0:
        yield f"… and {more:,} more page{'s' * (more != 1)}"


def group_pictures(pictures: Sequence[PagePicture]) -> list[list[PagePicture]]:
    """Return pictures of the same page together, in the order of the first of each."""
    by_page: dict[tuple[str, str], list[PagePicture]] = {}
    for picture in pictures:
        by_page.setdefault((picture.source, picture.page), []).append(picture)
    return list(by_page.values())


def _describe_page(pictures: Sequence[PagePicture]) -> str:
    values = [words for sort in MARK_WORDS if (words := _describe_values(pictures, sort))]
    page = pictures[0].caption or f"page {pictures[0].page[:12]}"
    return f"{page}: {'; '.join(values) or 'no value was looked for'}"


def _describe_values(pictures: Sequence[PagePicture], sort: MarkSort) -> str:
    texts = [f"“{mark.text}”" for picture in pictures for mark in picture.marks if mark.sort == sort]
    more = f" and {len(texts) - MAX_VALUES:,} more" if len(texts) > MAX_VALUES else ""
    return f"{MARK_WORDS[sort]} {', '.join(texts[:MAX_VALUES])}{more}" if texts else ""
