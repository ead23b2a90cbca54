"""File the documents that a provider faxes to a payer, by the reference number on their pages."""

import re
from collections.abc import Iterator

from clerkship.events.event import Event
from clerkship.formats.fax_pages.files import read_single_page
from clerkship.payer.answer import Authorization
from clerkship.payer.events import FaxUnmatched
from clerkship.payer.inquiry import AuthorizationQuery, PartyQuery
from clerkship.payer.state import PayerState
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fax.events import FaxStatusChanged, PageStored
from clerkship.simulators.fax.ocr_words import read_upright
from clerkship.simulators.fax.state import FaxState

MAX_SEARCHED_PAGES = 3
"""Pages on which the payer looks for a reference number, from the first."""
_SEPARATORS = re.compile(r"[\W_]+")


def file_fax(state: PayerState, action: ActionContext, event: Event) -> None:
    """Add a fax that was delivered to a payer's fax number to the request whose number is on it, and decide again."""
    change, source = event.payload, action.source(FaxState)
    if not isinstance(change, FaxStatusChanged) or change.status != "delivered":
        return
    payer_id = _find_payer(state, source.find_fax(change.id).header.to)
    if payer_id is None:
        return
    requests = [each for each in state.current.authorizations.values() if each.payer_id == payer_id]
    matches = _find_requests(requests, _read_pages(source, change.id))
    if len(matches) != 1:
        references = tuple(each.id for each in matches)
        action.emit(FaxUnmatched(payer_id=payer_id, fax=change.id, references=references))
        return
    [request] = matches
    party = {name: getattr(request.query, name) for name in PartyQuery.model_fields}
    state.update_authorization(action, request.id, AuthorizationQuery(**party, attachments=(change.id,)))


def _find_payer(state: PayerState, number: str) -> str | None:
    """Return the payer that has a fax number."""
    return next((id for id, entry in state.config.payers.items() if number in entry.fax_numbers), None)


def _read_pages(source: FaxState, id: str) -> Iterator[str]:
    """Yield the words of the first pages: those that were drawn, or what an OCR engine reads on a picture."""
    for page in source.pages_of(id)[:MAX_SEARCHED_PAGES]:
        yield _read_page(source, page)


def _read_page(source: FaxState, page: PageStored) -> str:
    words = page.true_words or source.shipped_words(page.hash)
    return (words or read_upright(read_single_page(page.data))).text


def _find_requests(requests: list[Authorization], pages: Iterator[str]) -> list[Authorization]:
    """Return the requests whose reference or authorization number is on the first page that has any."""
    for text in pages:
        words = f" {_SEPARATORS.sub(' ', text).upper()} "
        matches = [each for each in requests if any(f" {number} " in words for number in _list_numbers(each))]
        if matches:
            return matches
    return []


def _list_numbers(request: Authorization) -> Iterator[str]:
    for number in (request.id, request.number):
        if number:
            yield _SEPARATORS.sub(" ", number).upper()


REACTIONS = {FaxStatusChanged.kind: file_fax}
