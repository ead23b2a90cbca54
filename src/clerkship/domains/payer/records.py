"""The current records of the payers: those of the book, and what has changed since."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from clerkship.domains.payer.answer import Appeal, Authorization, Member, PayerClaim
from clerkship.domains.payer.book import PayerBook
from clerkship.domains.payer.code_pattern import matches_any_code
from clerkship.domains.payer.config import Accumulators, PayerConfig, PayerEntry
from clerkship.domains.payer.determination_rule import Determination
from clerkship.domains.payer.members import ProviderOnFile
from clerkship.domains.payer.plan import BenefitPlan
from clerkship.model.frozen import Frozen

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
        self.determinations: list[Determination] = []
        """Rules that the scenario added, newest first. They come before those of the config."""
        self.determinations_by_reference: dict[str, list[Determination]] = {}
        """Rules that the scenario added for one open request, newest first. They come before all others."""

    def store_authorization(self, record: Authorization, seq: int) -> None:
        """Store an authorization. If its decision is due later, the event with this seq is the cause."""
        self.authorizations[record.id] = self._schedule(record, seq)

    def store_appeal(self, record: Appeal, seq: int) -> None:
        """Store an appeal. If its decision is due later, the event with this seq is the cause."""
        self.appeals[record.id] = self._schedule(record, seq)

    def _schedule(self, record: D, seq: int) -> D:
        if record.decision_due is None:
            self.waiting.pop(record.id, None)
            return record
        scheduled = record.model_copy(update={"cause": seq})
        self.waiting[record.id] = scheduled
        return scheduled

    def add_determination(self, rule: Determination, references: Iterable[str], *, is_lasting: bool) -> None:
        """Add a rule of the scenario, for some requests and, if it lasts, for all later ones."""
        for reference in references:
            self.determinations_by_reference.setdefault(reference, []).insert(0, rule)
        if is_lasting:
            self.determinations.insert(0, rule)

    def dump(self) -> Any:
        """Return everything that differs from the book, as plain data."""
        return {
            "members": _dump_all(self.members),
            "accumulators": _dump_all(self.accumulators),
            "claims": _dump_all(self.claims),
            "authorizations": _dump_all(self.authorizations),
            "appeals": _dump_all(self.appeals),
            "determinations": [rule.model_dump(mode="json") for rule in self.determinations],
            "determinations_by_reference": {
                reference: [rule.model_dump(mode="json") for rule in rules]
                for reference, rules in self.determinations_by_reference.items()
            },
        }

    @property
    def config(self) -> PayerConfig:
        """The config."""
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
        """Return a member by its key."""
        return self.members.get(key) or self.book.members[key]

    def find_member(self, key: str) -> Member | None:
        """Return a member by its key; None if there is none, as for a claim of the config for an unknown person."""
        return self.members.get(key) or self.book.members.get(key)

    def get_accumulators(self, key: str) -> Accumulators:
        """Return what a member has used this year, where it differs from the plan."""
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
        if reference in self.authorizations:
            return self.authorizations[reference]
        return next((each for each in self.authorizations.values() if each.number == reference), None)

    def list_authorizations(self, member_key: str) -> list[Authorization]:
        """Return the authorizations for a member, oldest first."""
        return [each for each in self.authorizations.values() if each.member_key == member_key]

    def is_in_network(self, npi: str, plan: str) -> bool:
        """Return whether a provider on file is in the network of a plan."""
        provider = self.find_provider(npi)
        if provider is None:
            return False
        return provider.networks is None or matches_any_code(provider.networks, (plan,))

    def may_read(self, npi: str, owner: str) -> bool:
        """Return whether a provider may read what another one has sent: itself, or one of the same organization."""
        if npi == owner:
            return True
        asking, owning = self.find_provider(npi), self.find_provider(owner)
        ours = {npi, asking.organization if asking else ""} - {""}
        theirs = {owner, owning.organization if owning else ""} - {""}
        return bool(ours & theirs)


def _dump_all(records: Mapping[str, Frozen]) -> dict[str, Any]:
    return {key: record.model_dump(mode="json") for key, record in records.items()}
