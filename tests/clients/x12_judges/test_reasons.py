"""The reference page gives the reason of every disagreement and dispute."""

from pathlib import Path

from tests.clients.x12_judges.disagreements import DISAGREEMENTS
from tests.clients.x12_judges.disputes import DISPUTES

PAGE = Path(__file__).parent.parent.parent.parent / "docs" / "reference" / "x12_validation.md"


def read_items(page: str, start: str, end: str) -> set[str]:
    """Return the list items between two headings, each on one line."""
    section = page.partition(start)[2].partition(end)[0]
    paragraphs = [item for block in section.split("\n\n") for item in f"\n{block}".split("\n- ")[1:]]
    return {" ".join(item.split()) for item in paragraphs}


def test_page_lists_the_reasons_of_all_disagreements() -> None:
    page = PAGE.read_text(encoding="utf-8")
    written, ours, theirs = "## What we write and a judge", "## What only Clerkship refuses", "## What only a judge"
    assert read_items(page, written, ours) == {dispute.reason for dispute in DISPUTES}
    assert read_items(page, ours, theirs) == {each.reason for each in DISAGREEMENTS if each.refused_by == "clerkship"}
    assert read_items(page, theirs, "\0") == {each.reason for each in DISAGREEMENTS if each.refused_by == "judge"}
