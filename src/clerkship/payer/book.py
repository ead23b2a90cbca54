"""The payers' records at the start of a trial: those of the dataset and the config, with indexes.

They are built once for each environment. Playgrounds share them, and only store what has changed since.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeVar

from clerkship.formats.fhir.names import PATIENT
from clerkship.model.dataset import Dataset
from clerkship.model.environment import Environment
from clerkship.model.errors import InputError, InputProblem
from clerkship.model.names import did_you_mean
from clerkship.payer.adjudication import adjudicate
from clerkship.payer.answer import Coverage, Member, PayerClaim
from clerkship.payer.config import Accumulators, ClaimEntry, MemberEntry, PayerConfig, PayerEntry, PersonEntry
from clerkship.payer.members import (
    ChartClaim,
    DatasetRecords,
    ProviderOnFile,
    build_member_key,
    order_coverages,
    read_claims,
    read_members,
    read_payers,
    read_providers,
)
from clerkship.payer.name_sorts import ACCOUNT, CLAIM, MEMBER_ID, PAYER, PLAN, POLICY, normalize_member_id
from clerkship.payer.person_name import normalize_name
from clerkship.payer.plan import DEFAULT_PLAN, BenefitPlan, merge_plans
from clerkship.payer.policies.dataset import read_policies
from clerkship.payer.policies.policy import Policy

K = TypeVar("K", bound=Hashable)
MAX_BOOKS = 8
"""How many books of a dataset are kept, each for another config."""
DEFAULT_DAY = Environment.model_fields["now"].get_default().date()
"""The day of an environment that sets none."""


class PayerDataset(Mapping[str, Any]):
    """The members and claims of the datasets, by key: `Member/CM002/CM974622051/0`, `Claim/claim-0001-1`.

    It is what all playgrounds share. Books that were compiled from it are cached by their config.
    """

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        records = DatasetRecords(datasets)
        self.payers = read_payers(records)
        self.providers = read_providers(records)
        self.members = read_members(records)
        self.claims = read_claims(records, self.members)
        self.policies = {policy.id: policy for policy in read_policies(datasets)}
        self._by_key: dict[str, Member | ChartClaim] = {f"Member/{key}": member for key, member in self.members.items()}
        self._by_key |= self.claims
        self._books: list[tuple[PayerConfig, str, PayerBook]] = []
        self._lock = threading.Lock()

    def __getitem__(self, key: str) -> Any:
        return self._by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def list_resources(self, type: str) -> Iterator[dict[str, Any]]:
        """Yield what the payers know of the patients of the datasets, as resources: Patient or Coverage."""
        for member in self.members.values():
            patient_type, _, id = member.patient.partition("/")
            name = {"family": member.family, "given": list(member.given)}
            if type == patient_type and id:
                yield {"resourceType": type, "id": id, "name": [name], "birthDate": member.birth_date.isoformat()}
            elif type == "Coverage" and id:
                beneficiary = {"reference": member.patient}
                yield {"resourceType": type, "subscriberId": member.member_id, "beneficiary": beneficiary}

    def open_book(self, config: PayerConfig) -> "PayerBook":
        """Return the book for a config; it is compiled once for all that say the same, if they are few."""
        for known, _, book in self._books:
            if known is config:
                return book
        text = config.model_dump_json()
        with self._lock:
            for _, known_text, book in self._books:
                if known_text == text:
                    return book
            book = compile_book(self, config)
            self._books = [*self._books[1 - MAX_BOOKS :], (config, text, book)]
            return book


@dataclass(frozen=True)
class PayerBook:
    """All records at the start, with indexes. Nothing of it changes."""

    config: PayerConfig
    payers: Mapping[str, PayerEntry]
    providers: Mapping[str, ProviderOnFile]
    plans: Mapping[str, BenefitPlan]
    members: Mapping[str, Member]
    claims: Mapping[str, PayerClaim]
    """By number."""
    accumulators: Mapping[str, Accumulators]
    """By key of the member."""
    keys_by_id: Mapping[tuple[str, str], tuple[str, ...]]
    """Payer and member id -> the subscriber, and the dependents."""
    keys_by_name: Mapping[tuple[str, str, date], tuple[str, ...]]
    """Payer, family name and birth date -> members."""
    keys_by_patient: Mapping[str, tuple[str, ...]]
    numbers_by_member: Mapping[str, tuple[str, ...]]
    """Key of the member -> numbers of its claims, oldest first."""
    policies: Mapping[str, Policy]
    """By id."""

    def list_policies(self, payer_ids: Collection[str]) -> list[Policy]:
        """Return the policies that apply to one of some payers."""
        return [each for each in self.policies.values() if each.payer is None or each.payer in payer_ids]

    def find_plan(self, id: str) -> BenefitPlan:
        """Return a plan; the default one if the id is unknown."""
        return self.plans.get(id) or self.plans[DEFAULT_PLAN]


def build_name_key(payer_id: str, family: str, birth_date: date) -> tuple[str, str, date]:
    """Return the key under which a person without a member id is found."""
    return payer_id, "".join(normalize_name(family)), birth_date


def compile_book(dataset: PayerDataset, config: PayerConfig) -> PayerBook:
    """Join the records of the dataset with those of the config, and index them."""
    plans = merge_plans(dict(config.plans))
    members = dict(dataset.members) | {member.key: member for member in _build_members(config.members, plans)}
    as_of = config.as_of or DEFAULT_DAY
    claims = [
        adjudicate(claim, config, plans.get(claim.plan) or plans[DEFAULT_PLAN], members[claim.member_key], as_of)
        for claim in dataset.claims.values()
    ]
    claims += [_build_claim(entry) for entry in config.claims]
    _check_members(config, members)
    _check_policies(dataset, config, plans)
    used = {normalize_member_id(id): amounts for id, amounts in config.accumulators.items()}
    by_number = {claim.number: claim for claim in sorted(claims, key=lambda claim: (claim.start, claim.number))}
    return PayerBook(
        config=config,
        payers=_build_payers(dataset.payers, config),
        providers=_build_providers(dataset.providers, config),
        plans=plans,
        members=members,
        claims=by_number,
        accumulators={
            key: used[id] for key, member in members.items() if (id := normalize_member_id(member.member_id)) in used
        },
        keys_by_id=_index(
            ((member.payer_id, normalize_member_id(member.member_id)), key) for key, member in members.items()
        ),
        keys_by_name=_index(
            (build_name_key(member.payer_id, member.family, member.birth_date), key) for key, member in members.items()
        ),
        keys_by_patient=_index((member.patient, key) for key, member in members.items() if member.patient),
        numbers_by_member=_index((claim.member_key, number) for number, claim in by_number.items()),
        policies=dataset.policies,
    )


def _check_members(config: PayerConfig, members: Mapping[str, Member]) -> None:
    """Raise InputError if the config names members that neither it nor the dataset has."""
    ids = {normalize_member_id(member.member_id) for member in members.values()}
    claims = [
        (claim.number, build_member_key(claim.payer, claim.member_id, claim.dependent)) for claim in config.claims
    ]
    problems = [
        *(f"claims: {number} is for {key}, who is not a member" for number, key in claims if key not in members),
        *(f"accumulators: {id} is not a member" for id in config.accumulators if normalize_member_id(id) not in ids),
    ]
    if problems:
        hint = "add it to `members`, or correct the id"
        raise InputError([InputProblem(message=f"config of the payer: {text}", hint=hint) for text in problems])


def _check_policies(dataset: PayerDataset, config: PayerConfig, plans: Mapping[str, BenefitPlan]) -> None:
    """Raise InputError if policies name payers or plans that neither the dataset nor the config has."""
    payers = {*dataset.payers, *config.payers}
    unknown = [
        *((each.id, "payer", each.payer, payers) for each in dataset.policies.values() if each.payer),
        *((each.id, "plan", id, plans) for each in dataset.policies.values() for id in each.plans or ()),
    ]
    problems = [
        InputProblem(message=f"the policy {policy} is of the unknown {sort} `{id}`", hint=did_you_mean(id, known))
        for policy, sort, id, known in unknown
        if id not in known
    ]
    if problems:
        raise InputError(problems)


def _index(pairs: Iterable[tuple[K, str]]) -> dict[K, tuple[str, ...]]:
    lists: dict[K, list[str]] = defaultdict(list)
    for key, value in pairs:
        lists[key].append(value)
    return {key: tuple(values) for key, values in lists.items()}


def name_plan(plans: Mapping[str, BenefitPlan], id: str) -> str:
    """Return the name of a plan; its id if it is unknown or has no name."""
    return (plans[id].name if id in plans else None) or id


def _build_payers(names: Mapping[str, str], config: PayerConfig) -> dict[str, PayerEntry]:
    payers = {id: PayerEntry(name=name) for id, name in names.items()}
    for id, entry in config.payers.items():
        payers[id] = entry.model_copy(update={"name": entry.name or names.get(id) or id})
    return payers


def _build_providers(providers: Mapping[str, ProviderOnFile], config: PayerConfig) -> dict[str, ProviderOnFile]:
    known = dict(providers)
    for npi, entry in config.providers.items():
        base = known.pop(npi, ProviderOnFile(npi=npi, name=npi))
        if entry.on_file:
            changes = {"name": entry.name, "organization": entry.organization, "networks": entry.networks}
            known[npi] = base.model_copy(update={key: value for key, value in changes.items() if value is not None})
    return known


def _build_members(entries: Sequence[MemberEntry], plans: Mapping[str, BenefitPlan]) -> Iterator[Member]:
    for entry in entries:
        coverages = order_coverages(
            Coverage(
                id=f"{entry.payer}/{entry.member_id}/{number}",
                payer_id=entry.payer,
                plan_name=name_plan(plans, policy.plan),
                **policy.model_dump(),
            )
            for number, policy in enumerate(entry.coverages, 1)
        )
        people: list[PersonEntry] = [entry, *entry.dependents]
        for number, person in enumerate(people):
            yield Member(
                key=build_member_key(entry.payer, entry.member_id, number),
                payer_id=entry.payer,
                member_id=entry.member_id,
                relationship=getattr(person, "relationship", "self"),
                coverages=coverages,
                **{name: getattr(person, name) for name in PersonEntry.model_fields},
            )


def _build_claim(entry: ClaimEntry) -> PayerClaim:
    fields = {name: getattr(entry, name) for name in PayerClaim.model_fields if hasattr(entry, name)}
    fields |= {
        "payer_id": entry.payer,
        "member_key": build_member_key(entry.payer, entry.member_id, entry.dependent),
        "end": entry.end or entry.start,
        "status_date": entry.status_date or entry.paid_date or entry.received,
    }
    return PayerClaim(**fields)


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
    POLICY.sort: _list_from_book(lambda book: book.policies),
    PATIENT.sort: _list_from_book(lambda book: set(map(PATIENT.normalize, book.keys_by_patient))),
}
