"""The current records of the payers: those of the book, and what has changed since."""

from collections.abc import Hashable, Iterable, Iterator
from typing import TypeVar

from clerkship.payer.answer import Appeal, Authorization, Member, PayerClaim
from clerkship.payer.book import PayerBook
from clerkship.payer.code_pattern import matches_any_code
from clerkship.payer.config import Accumulators, PayerConfig, PayerEntry
from clerkship.payer.determination_rule import Determination
from clerkship.payer.inquiry import AuthorizationQuery
from clerkship.payer.members import ProviderOnFile
from clerkship.payer.plan import BenefitPlan
from clerkship.sandbox.agenda import Agenda
from clerkship.sandbox.state import DueWork

D = TypeVar("D", Authorization, Appeal)
NO_ACCUMULATORS = Accumulators()


class PayerRecords:
    """Records that are looked up first among the changes of this playground, then in the book."""

    def __init__(self, book: PayerBook) -> None:
        self.book = book
        self.members: dict[str, Member] = {}
        """Changed members, by key."""
        self.accumulators: dict[str, Accumulators] = {}
        """Changed accumulators, by key of the member."""
        self.claims: dict[str, PayerClaim] = {}
        """Changed claims, by number."""
        self.authorizations: dict[str, Authorization] = {}
        """All authorizations, by reference number, oldest first."""
        self.appeals: dict[str, Appeal] = {}
        """All appeals, by number, oldest first."""
        self.waiting: dict[str, Authorization | Appeal] = {}
        """The authorizations and appeals whose decision is due later, by number."""
        self.agenda = Agenda(self._find_due)
        self._references_by_number: dict[str, str] = {}
        """Authorization number -> reference number."""
        self._references_by_member: dict[str, dict[str, None]] = {}
        """Key of a member -> the reference numbers of its authorizations, oldest first."""
        self._references_by_request: dict[Hashable, dict[str, None]] = {}
        """Key of a request -> the reference numbers of the authorizations with the same services and days."""
        self.determinations: list[Determination] = []
        """Rules that the scenario added, newest first. They come before those of the config."""
        self.determinations_by_reference: dict[str, list[Determination]] = {}
        """Rules that the scenario added for one open request, newest first. They come before all others."""

    def store_authorization(self, record: Authorization, seq: int) -> None:
        """Store an authorization. If its decision is due later, the event with this seq is the cause."""
        earlier = self.authorizations.get(record.id)
        if earlier is not None:
            self._remove_from_indexes(earlier, record)
        self.authorizations[record.id] = self._schedule(record, seq)
        if record.number:
            self._references_by_number[record.number] = record.id
        self._references_by_member.setdefault(record.member_key, {})[record.id] = None
        key = build_request_key(record.member_key, record.query)
        self._references_by_request.setdefault(key, {})[record.id] = None

    def _remove_from_indexes(self, earlier: Authorization, record: Authorization) -> None:
        """Remove the entries of a record that the next version of it does not have."""
        if earlier.number and earlier.number != record.number:
            self._references_by_number.pop(earlier.number, None)
        if earlier.member_key != record.member_key:
            self._references_by_member[earlier.member_key].pop(earlier.id)
        key = build_request_key(earlier.member_key, earlier.query)
        if key != build_request_key(record.member_key, record.query):
            self._references_by_request[key].pop(earlier.id)

    def store_appeal(self, record: Appeal, seq: int) -> None:
        """Store an appeal. If its decision is due later, the event with this seq is the cause."""
        self.appeals[record.id] = self._schedule(record, seq)

    def _schedule(self, record: D, seq: int) -> D:
        if record.decision_due is None:
            self.waiting.pop(record.id, None)
            return record
        scheduled = record.model_copy(update={"cause": seq})
        self.waiting[record.id] = scheduled
        self.agenda.schedule(record.id, record.decision_due, seq)
        return scheduled

    def _find_due(self, id: str) -> DueWork | None:
        record = self.waiting.get(id)
        return None if record is None or record.decision_due is None else DueWork(record.decision_due, record.cause)

    def add_determination(self, rule: Determination, references: Iterable[str], *, is_lasting: bool) -> None:
        """Add a rule of the scenario, for some requests and, if it lasts, for all later ones."""
        for reference in references:
            self.determinations_by_reference.setdefault(reference, []).insert(0, rule)
        if is_lasting:
            self.determinations.insert(0, rule)

    @property
    def config(self) -> PayerConfig:
        return self.book.config

    def find_payer(self, id: str) -> PayerEntry | None:
        """Return a payer; None if it is unknown."""
        return self.book.payers.get(id)

    def find_provider(self, npi: str) -> ProviderOnFile | None:
        """Return a provider; None if it is not on file."""
        return self.book.providers.get(npi)

    def find_plan(self, id: str) -> BenefitPlan:
        """Return a plan; the default one if it is unknown."""
        return self.book.find_plan(id)

    def get_member(self, key: str) -> Member:
        return self.members.get(key) or self.book.members[key]

    def find_member(self, key: str) -> Member | None:
        """Return a member by its key; None if there is none, as for a claim of the config for an unknown person."""
        return self.members.get(key) or self.book.members.get(key)

    def get_accumulators(self, key: str) -> Accumulators:
        """Return what the scenario and the config state that a member has used this year."""
        return self.accumulators.get(key) or self.book.accumulators.get(key) or NO_ACCUMULATORS

    def find_claim(self, number: str) -> PayerClaim | None:
        """Return a claim by the payer's number."""
        return self.claims.get(number) or self.book.claims.get(number)

    def list_claims(self, member_key: str) -> list[PayerClaim]:
        """Return the claims for a member, oldest first."""
        numbers = self.book.numbers_by_member.get(member_key, ())
        return [self.claims.get(number) or self.book.claims[number] for number in numbers]

    def all_claims(self) -> Iterator[PayerClaim]:
        """Yield every claim, oldest first."""
        return (self.claims.get(number, claim) for number, claim in self.book.claims.items())

    def find_authorization(self, reference: str) -> Authorization | None:
        """Return an authorization by its reference number or its authorization number."""
        return self.authorizations.get(reference) or self.authorizations.get(
            self._references_by_number.get(reference, "")
        )

    def is_number_free(self, number: str, reference: str) -> bool:
        """Return whether no other authorization than the one with a reference number has an authorization number."""
        return self._references_by_number.get(number, reference) == reference

    def list_authorizations(self, member_key: str) -> list[Authorization]:
        """Return the authorizations for a member, oldest first."""
        return [self.authorizations[each] for each in self._references_by_member.get(member_key, ())]

    def list_same_requests(self, member_key: str, query: AuthorizationQuery) -> list[Authorization]:
        """Return the authorizations for a member with the services and days of a request."""
        references = self._references_by_request.get(build_request_key(member_key, query), ())
        return [self.authorizations[each] for each in references]

    def is_in_network(self, npi: str, plan: str) -> bool:
        """Return whether a provider on file is in the network of a plan."""
        provider = self.find_provider(npi)
        if provider is None:
            return False
        return provider.networks is None or matches_any_code(provider.networks, (plan,))

    def may_read_authorization(self, npi: str, authorization: Authorization) -> bool:
        """Return whether a provider requested an authorization, or is to perform one of its services."""
        performers = [service.performer_id for service in authorization.query.services if service.performer_id]
        return any(self.may_read(npi, owner) for owner in (authorization.query.provider_id, *performers))

    def may_read(self, npi: str, owner: str) -> bool:
        """Return whether a provider may read what another one has sent: itself, or one of the same organization."""
        if npi == owner:
            return True
        asking, owning = self.find_provider(npi), self.find_provider(owner)
        ours = {npi, asking.organization if asking else ""} - {""}
        theirs = {owner, owning.organization if owning else ""} - {""}
        return bool(ours & theirs)


def build_request_key(member_key: str, query: AuthorizationQuery) -> Hashable:
    """Return what two requests for the same services and days of a member have in common."""
    services = [
        (each.procedure_code, each.modifiers, each.start or query.start, each.end or query.end)
        for each in query.services
    ]
    keys = tuple(sorted((code, modifiers, str(start), str(end)) for code, modifiers, start, end in services))
    return (
        member_key,
        query.review,
        keys,
        str(query.start) if not keys else "",
        query.service_type if not keys else None,
    )
