"""Words of a page as fields of an event."""

from datetime import UTC, datetime

from clerkship.events.event import Event, parse_event, render_event
from clerkship.formats.fax_pages.page import PageWord, PageWords
from clerkship.simulators.fax.events import PageStored


def test_log_line_of_a_page_has_no_text_beside_its_words() -> None:
    words = PageWords(words=tuple(PageWord(text=text, left=8, top=9, width=30, height=12) for text in ("MRN", "1")))
    page = PageStored(hash="ab", resolution="fine", width=8, height=1, data=b"\xff", true_words=words)
    assert words.text == "MRN 1"
    blobs: dict[str, bytes] = {}
    event = Event(1, datetime(2026, 3, 2, tzinfo=UTC), "fax", page.kind, "run", None, page)
    line = render_event(event, blobs)
    assert parse_event(line, {page.kind: PageStored}, blobs.__getitem__).payload == page
