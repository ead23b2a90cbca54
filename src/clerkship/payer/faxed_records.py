"""Records that a provider faxes to a payer: to which request they belong."""

import re
from collections.abc import Iterable, Iterator

from clerkship.payer.answer import Authorization
from clerkship.payer.config import PayerConfig
from clerkship.payer.records import PayerRecords

MAX_SEARCHED_PAGES = 3
"""Pages on which the payer looks for the number of a request, from the first."""
_SEPARATORS = re.compile(r"[\W_]+")


def find_payer_by_fax(config: PayerConfig, number: str) -> str | None:
    """Return the payer that has a fax number for records."""
    return next((id for id, entry in config.payers.items() if number in entry.fax_numbers), None)


def find_faxed_requests(records: PayerRecords, payer_id: str, pages: Iterable[str]) -> list[Authorization]:
    """Return the requests whose reference or authorization number is a word of the first page that has any."""
    requests = [each for each in records.authorizations.values() if each.payer_id == payer_id]
    for text in pages:
        words = f" {_normalize(text)} "
        matches = [each for each in requests if any(f" {number} " in words for number in _list_numbers(each))]
        if matches:
            return matches
    return []


def _list_numbers(request: Authorization) -> Iterator[str]:
    return (_normalize(number) for number in (request.id, request.number) if number)


def _normalize(text: str) -> str:
    return _SEPARATORS.sub(" ", text).upper()
