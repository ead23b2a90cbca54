"""The text of a fax as OCR reads it, with the mistakes of the engine."""

from typing import Any

from clerkship.kit.wall import monotonic
from clerkship.sandbox.request import Refusal
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fax.ocr_words import read_words
from clerkship.simulators.fax.state import FaxState

MAX_SECONDS = 30.0
"""Wall time after which no further page of a request is read. The playground waits as long."""
MAX_TEXT_PAGES = 20
"""Pages whose text one request reads, because a page takes a second or more."""


def read_text(state: FaxState, action: ActionContext, id: str, page: int | None) -> dict[str, Any]:
    """Return the text of each page of a fax, or of one page.

    The words are never the true ones: they are those of the datasets, or else those that the engine reads. Raises
    OcrUnavailable, an error of the platform, if there is neither. Refused for all pages of a long fax.
    """
    count = len(state.find_fax(id).header.pages)
    if page is None and count > MAX_TEXT_PAGES:
        limit = f"the text of at most {MAX_TEXT_PAGES} is read at once"
        raise Refusal(413, "too_many_pages", f"fax {id[:60]} has {count} pages, and {limit}: give a page")
    pages = state.read_pages(action, id, "text", page)
    texts = []
    deadline = monotonic() + MAX_SECONDS
    for number, (stored, dots) in enumerate(pages, page or 1):
        if monotonic() > deadline:
            raise Refusal(413, "too_slow", f"the pages of fax {id[:60]} take too long to read at once: give a page")
        shipped = state.shipped_words(stored.hash)
        words = read_words(dots) if shipped is None else shipped
        texts.append({"page": number, "text": words.text})
    return {"id": id, "pages": texts}
