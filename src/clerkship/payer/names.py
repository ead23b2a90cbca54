"""The names of members, payers, plans and claims that a configuration and the datasets define."""

from collections.abc import Callable, Collection, Mapping

from clerkship.formats.fhir.names import PATIENT
from clerkship.payer.book import PayerBook, PayerDataset
from clerkship.payer.config import PayerConfig
from clerkship.payer.name_sorts import ACCOUNT, CLAIM, MEMBER_ID, PAYER, PLAN


def _list_from_book(
    select: Callable[[PayerBook], Collection[str]],
) -> Callable[[PayerConfig, PayerDataset], Collection[str]]:
    return lambda config, base: select(base.open_book(config))


NAMES: Mapping[str, Callable[[PayerConfig, PayerDataset], Collection[str]]] = {
    MEMBER_ID.sort: _list_from_book(lambda book: [id for _, id in book.keys_by_id]),
    PAYER.sort: _list_from_book(lambda book: book.payers),
    PLAN.sort: _list_from_book(lambda book: book.plans),
    CLAIM.sort: _list_from_book(lambda book: book.claims),
    ACCOUNT.sort: _list_from_book(lambda book: {claim.account for claim in book.claims.values()}),
    PATIENT.sort: _list_from_book(lambda book: set(map(PATIENT.normalize, book.keys_by_patient))),
}
