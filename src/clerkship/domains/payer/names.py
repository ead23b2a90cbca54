"""The names of members, payers, plans and claims that a configuration and the datasets define."""

from collections.abc import Callable, Collection, Mapping

from clerkship.domains.payer.book import PayerBook, PayerDataset, normalise_member_id
from clerkship.domains.payer.config import PayerConfig
from clerkship.fhir.names import PATIENT
from clerkship.model.closed import NameOf

MEMBER_ID = NameOf("member id", normalise_member_id)
PAYER = NameOf("payer")
PLAN = NameOf("plan")
CLAIM = NameOf("claim")
ACCOUNT = NameOf("claim with the account")


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
