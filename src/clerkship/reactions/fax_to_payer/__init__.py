"""File the records that a provider faxes to a payer, by the reference number on their pages."""

from collections.abc import Iterator

from clerkship.events.event import Event
from clerkship.formats.fax_pages.files import read_single_page
from clerkship.payer.faxed_records import MAX_SEARCHED_PAGES, find_payer_by_fax
from clerkship.payer.state import PayerState
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fax.events import FaxStatusChanged
from clerkship.simulators.fax.ocr_words import read_upright
from clerkship.simulators.fax.state import FaxState


def file_fax(state: PayerState, action: ActionContext, event: Event) -> None:
    """File a fax that was delivered to a payer's fax number with the request whose number is on it."""
    change, source = event.payload, action.source(FaxState)
    if isinstance(change, FaxStatusChanged) and change.status == "delivered":
        payer_id = find_payer_by_fax(state.config, source.find_fax(change.id).header.to)
        if payer_id is not None:
            state.file_fax(action, payer_id, change.id, _read_pages(source, change.id))


def _read_pages(source: FaxState, id: str) -> Iterator[str]:
    """Yield the words of the first pages: those that were drawn, or what an OCR engine reads on a picture."""
    for page in source.pages_of(id)[:MAX_SEARCHED_PAGES]:
        words = page.true_words or source.shipped_words(page.hash)
        yield (words or read_upright(read_single_page(page.data))).text


REACTIONS = {FaxStatusChanged.kind: file_fax}
