"""Payers, providers, members and claims in a FHIR dataset."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Literal

import orjson

from clerkship.formats.fhir.resource import list_objects, parse_key
from clerkship.model.dataset import Dataset
from clerkship.model.frozen import Frozen
from clerkship.payer.answer import Coverage, Member
from clerkship.text.dates import parse_first_day

NPI = "http://hl7.org/fhir/sid/us-npi"
CPT = "http://www.ama-assn.org/go/cpt"
HCPCS = "http://www.cms.gov/Medicare/Coding/HCPCSReleaseCodeSets"
PROCEDURE_SYSTEMS = (CPT, HCPCS, HCPCS.replace("http:", "https:"))
READ_TYPES = ("Organization", "Practitioner", "PractitionerRole", "Patient", "Coverage", "Claim")
FIRST_DAY = date(1900, 1, 1)
"""The start of a policy whose record has none."""
_NOT_IN_FORCE = ("draft", "entered-in-error")
"""Statuses of a Coverage that was never in force."""


class ProviderOnFile(Frozen):
    """A provider that the payers know."""

    npi: str
    name: str
    organization: str = ""
    """The NPI of the organization that it works for."""
    networks: tuple[str, ...] | None = None
    """Patterns of the plans whose network it is in; None for all."""


class ChartClaimLine(Frozen):
    """One item of a Claim."""

    procedure_code: str
    charge: float
    service_date: date | None = None


class ChartClaim(Frozen):
    """A Claim of the dataset, as a provider has sent it."""

    key: str
    payer_id: str
    member_key: str
    provider_id: str
    account: str
    plan: str
    diagnoses: tuple[str, ...]
    start: date
    end: date
    received: date
    charge: float
    lines: tuple[ChartClaimLine, ...]


class DatasetRecords:
    """The resources of some datasets that matter to payers, by type and key."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self._by_type: dict[str, dict[str, Any]] = {type: {} for type in READ_TYPES}
        for dataset in datasets:
            for line in dataset.lines or ():
                key = parse_key(line)
                resources = self._by_type.get(key.partition("/")[0])
                if resources is not None:
                    resources[key] = orjson.loads(line)

    def of_type(self, type: str) -> Mapping[str, Any]:
        """Return the resources of a type, by key."""
        return self._by_type[type]

    def referenced(self, resource: Mapping[str, Any], name: str) -> Any:
        """Return the resource that an element refers to; an empty one if it is not in the datasets."""
        key = get_reference(resource, name)
        return self._by_type.get(key.partition("/")[0], {}).get(key, {})


def get_reference(resource: Mapping[str, Any], name: str) -> str:
    """Return the key that an element refers to, or the first one of a list; empty if there is none."""
    element = resource.get(name)
    first = element[0] if isinstance(element, list) and element else element
    reference = first.get("reference") if isinstance(first, dict) else None
    return reference if isinstance(reference, str) else ""


def read_payers(records: DatasetRecords) -> dict[str, str]:
    """Return the names of the payers by number."""
    organizations = records.of_type("Organization").values()
    payers = (each for each in organizations if "pay" in _list_codes(each.get("type")))
    return {number: str(each.get("name", number)) for each in payers if (number := _get_identifier(each))}


def read_providers(records: DatasetRecords) -> dict[str, ProviderOnFile]:
    """Return the organizations and practitioners with an NPI, by NPI."""
    employers: dict[str, str] = {}
    for role in records.of_type("PractitionerRole").values():
        employer = _get_identifier(records.referenced(role, "organization"), NPI)
        employers.setdefault(get_reference(role, "practitioner"), employer)
    providers: dict[str, ProviderOnFile] = {}
    for type in ("Organization", "Practitioner"):
        for key, resource in records.of_type(type).items():
            npi = _get_identifier(resource, NPI)
            if npi:
                name = _render_name(resource)
                providers[npi] = ProviderOnFile(npi=npi, name=name, organization=employers.get(key, ""))
    return providers


def read_members(records: DatasetRecords) -> dict[str, Member]:
    """Return the members by key.

    People who share a member id are a subscriber and its dependents. A person with a member id of its own is asked
    for as a subscriber, also if its Coverage names a relationship to another one: that is the rule of X12 for unique
    ids.
    """
    people: dict[tuple[str, str], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for coverage in records.of_type("Coverage").values():
        payer_id = _get_identifier(records.referenced(coverage, "payor"))
        member_id = coverage.get("subscriberId") or _get_identifier(coverage)
        if payer_id and member_id and coverage.get("status") not in _NOT_IN_FORCE:
            people[payer_id, member_id][get_reference(coverage, "beneficiary")].append(coverage)
    members: dict[str, Member] = {}
    for (payer_id, member_id), coverages_by_patient in people.items():
        ordered = sorted(coverages_by_patient.items(), key=lambda item: (_get_relationship(item[1]) != "self", item[0]))
        for number, (patient_key, coverages) in enumerate(ordered):
            patient = records.of_type("Patient").get(patient_key)
            if patient is not None and (birth_date := parse_first_day(patient.get("birthDate"))) is not None:
                key = build_member_key(payer_id, member_id, number)
                names = list_objects(patient, "name") or [{}]
                name = next((each for each in names if each.get("use") == "official"), names[0])
                members[key] = Member(
                    key=key,
                    payer_id=payer_id,
                    member_id=member_id,
                    family=str(name.get("family", "")),
                    given=tuple(map(str, name.get("given", ()))),
                    birth_date=birth_date,
                    gender=_get_gender(patient),
                    relationship="self" if number == 0 else _get_relationship(coverages),
                    patient=patient_key,
                    coverages=order_coverages(_read_coverage(each, payer_id) for each in coverages),
                )
    return members


def build_member_key(payer_id: str, member_id: str, number: int) -> str:
    """Return the key of a member; the number is that of the dependent, or 0 for the subscriber."""
    return f"{payer_id}/{member_id}/{number}"


def order_coverages(coverages: Iterable[Coverage]) -> tuple[Coverage, ...]:
    """Return the policies, newest first."""
    return tuple(sorted(coverages, key=lambda each: (each.start, each.id), reverse=True))


def _read_coverage(coverage: Mapping[str, Any], payer_id: str) -> Coverage:
    period = coverage.get("period") or {}
    start, end = parse_first_day(period.get("start")) or FIRST_DAY, parse_first_day(period.get("end"))
    if end is None and coverage.get("status") == "cancelled":
        updated = parse_first_day((coverage.get("meta") or {}).get("lastUpdated"))
        end = max(start, updated) if updated else start
    classes = {code: each for each in list_objects(coverage, "class") for code in _list_codes([each.get("type")])}
    plan, group = classes.get("plan", {}), classes.get("group", {})
    plan_id = str(plan.get("value") or "default")
    order = coverage.get("order")
    return Coverage(
        id=f"Coverage/{coverage['id']}",
        payer_id=payer_id,
        plan=plan_id,
        plan_name=str(plan.get("name") or plan_id),
        group=str(group.get("value") or ""),
        start=start,
        end=end,
        order=order if isinstance(order, int) else 1,
    )


def read_claims(records: DatasetRecords, members: Mapping[str, Member]) -> dict[str, ChartClaim]:
    """Return the claims that were sent to a payer for one of its members, by the key of the Claim."""
    key_by_coverage = {coverage.id: (key, coverage) for key, member in members.items() for coverage in member.coverages}
    claims: dict[str, ChartClaim] = {}
    for key, claim in records.of_type("Claim").items():
        insurance = list_objects(claim, "insurance") or [{}]
        member_key, coverage = key_by_coverage.get(get_reference(insurance[0], "coverage"), ("", None))
        provider_id = _get_identifier(records.referenced(claim, "provider"), NPI)
        if coverage is None or claim.get("status") != "active" or claim.get("use") != "claim":
            continue
        lines = tuple(_read_lines(claim))
        period = claim.get("billablePeriod") or {}
        received = parse_first_day(claim.get("created"))
        start = parse_first_day(period.get("start")) or next((each.service_date for each in lines), None) or received
        if start is None or received is None or not lines:
            continue
        claims[key] = ChartClaim(
            key=key,
            payer_id=coverage.payer_id,
            member_key=member_key,
            provider_id=provider_id,
            account=_get_identifier(claim) or key.partition("/")[2],
            plan=coverage.plan,
            diagnoses=tuple(_list_diagnoses(claim)),
            start=start,
            end=parse_first_day(period.get("end")) or start,
            received=max(received, start),
            charge=round(sum(line.charge for line in lines), 2),
            lines=lines,
        )
    return claims


def _read_lines(claim: Mapping[str, Any]) -> Iterator[ChartClaimLine]:
    for item in list_objects(claim, "item"):
        code = find_procedure_code(item.get("productOrService"))
        amount = (item.get("net") or item.get("unitPrice") or {}).get("value")
        if code and isinstance(amount, int | float):
            yield ChartClaimLine(
                procedure_code=code, charge=float(amount), service_date=parse_first_day(item.get("servicedDate"))
            )


def find_procedure_code(concept: Any) -> str:
    """Return the code that payers know, of CPT or HCPCS; the first code of any system if there is none."""
    codings = list_objects(concept, "coding") if isinstance(concept, dict) else []
    ordered = sorted(codings, key=lambda coding: coding.get("system") not in PROCEDURE_SYSTEMS)
    return next((str(coding["code"]) for coding in ordered if "code" in coding), "")


def _list_diagnoses(claim: Mapping[str, Any]) -> Iterator[str]:
    for diagnosis in list_objects(claim, "diagnosis"):
        yield from (code.replace(".", "") for code in _list_codes([diagnosis.get("diagnosisCodeableConcept")])[:1])


def _list_codes(concepts: Any) -> list[str]:
    """Return the codes of all codings of some CodeableConcepts."""
    items = (concept for concept in concepts or () if isinstance(concept, dict))
    return [str(coding["code"]) for concept in items for coding in list_objects(concept, "coding") if "code" in coding]


def _get_identifier(resource: Mapping[str, Any], system: str | None = None) -> str:
    """Return the first identifier, or the first of a system; empty if there is none."""
    identifiers: Sequence[Mapping[str, Any]] = list_objects(resource, "identifier")
    values = (each.get("value") for each in identifiers if system in (None, each.get("system")))
    return next((str(value) for value in values if value), "")


def _get_relationship(coverages: Sequence[Mapping[str, Any]]) -> Literal["self", "spouse", "child", "other"]:
    codes = _list_codes([coverages[0].get("relationship")])
    if not codes or codes[0] == "self":
        return "self"
    return "spouse" if codes[0] == "spouse" else "child" if codes[0] == "child" else "other"


def _get_gender(patient: Mapping[str, Any]) -> Literal["male", "female", "unknown"]:
    gender = patient.get("gender")
    return "male" if gender == "male" else "female" if gender == "female" else "unknown"


def _render_name(resource: Mapping[str, Any]) -> str:
    name = resource.get("name")
    if isinstance(name, str):
        return name
    first = (list_objects(resource, "name") or [{}])[0]
    return str(first.get("text") or " ".join([*map(str, first.get("given", ())), str(first.get("family", ""))]).strip())
