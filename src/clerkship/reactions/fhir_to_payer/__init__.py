"""Ask a payer what a CoverageEligibilityRequest in the chart asks."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import partial
from typing import Any, Literal

from clerkship.events.event import Event
from clerkship.formats.fhir.resource import Resource, list_objects, parse_reference
from clerkship.payer.answer import EligibilityAnswer
from clerkship.payer.inquiry import EligibilityInquiry, PersonQuery, ServiceType
from clerkship.payer.members import find_procedure_code
from clerkship.payer.name_sorts import normalize_member_id
from clerkship.payer.state import PayerState
from clerkship.reactions.contract import React
from clerkship.reactions.payer_codes import REQUEST_TYPE, find_asked_coverage, find_service_type
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.events import ResourceCreated
from clerkship.simulators.fhir.state import FhirState
from clerkship.text.dates import parse_first_day, parse_iso_date

NPI_SYSTEM = "http://hl7.org/fhir/sid/us-npi"


class LinkedResources:
    """Finds the resources that a resource refers to."""

    def __init__(self, resource: Resource, chart: FhirState) -> None:
        self._chart = chart
        contained = list_objects(resource, "contained")
        self._contained = {f"#{item['id']}": item for item in contained if isinstance(item.get("id"), str)}

    def find(self, reference: Any) -> Resource:
        """Return the resource that a Reference names; an empty one if it is in neither the resource nor the chart."""
        text = reference.get("reference") if isinstance(reference, Mapping) else None
        if not isinstance(text, str):
            return {}
        if text.startswith("#"):
            return self._contained.get(text, {})
        target = parse_reference(text)
        return (self._chart.resource(target.key) if target is not None else None) or {}

    def list_identifiers(self, reference: Any) -> list[Mapping[str, Any]]:
        """Return the identifier in a Reference, and those of the resource that it names."""
        logical = reference.get("identifier") if isinstance(reference, Mapping) else None
        stated = [logical] if isinstance(logical, Mapping) else []
        identifiers = [*stated, *list_objects(self.find(reference), "identifier")]
        return [identifier for identifier in identifiers if get_text(identifier, "value")]

    def find_number(self, reference: Any) -> str:
        """Return the first identifier of what a Reference names; empty if it has none."""
        return next((get_text(item, "value") for item in self.list_identifiers(reference)), "")

    def find_npi(self, reference: Any) -> str:
        """Return the NPI of an organization, a practitioner, or the practitioner or organization of a role.

        Where no identifier is called an NPI, it is the first one.
        """
        candidates = list(self._iter_provider_references(reference))
        for candidate in candidates:
            for identifier in self.list_identifiers(candidate):
                if identifier.get("system") == NPI_SYSTEM:
                    return get_text(identifier, "value")
        return next(filter(None, map(self.find_number, candidates)), "")

    def _iter_provider_references(self, reference: Any) -> Iterator[Any]:
        yield reference
        role = self.find(reference)
        if role.get("resourceType") == "PractitionerRole":
            yield role.get("practitioner")
            yield role.get("organization")


def get_text(data: Any, name: str) -> str:
    """Return a text element without surrounding blanks; empty if it is not there."""
    value = data.get(name) if isinstance(data, Mapping) else None
    return value.strip() if isinstance(value, str) else ""


IsSharedId = Callable[[str, str], bool]
"""Returns whether a payer has several people under a member id, given the numbers of both."""
_GENDERS: Mapping[str, Literal["male", "female", "unknown"]] = {"male": "male", "female": "female"}


def build_inquiry(request: Resource, chart: FhirState, is_shared: IsSharedId = lambda *_: False) -> EligibilityInquiry:
    """Return what a request asks the payer. What the request and its chart do not say is left out."""
    linked = LinkedResources(request, chart)
    coverage_reference = find_asked_coverage(request)
    coverage = linked.find(coverage_reference)
    payer_id = linked.find_number(request.get("insurer")) or _find_payor(coverage, linked)
    member_id = get_text(coverage, "subscriberId") or linked.find_number(coverage_reference)
    person = _describe_person(linked.find(request.get("patient")))
    is_dependent = _names_subscriber(coverage) or (not _is_own(coverage) and is_shared(payer_id, member_id))
    subscriber = _describe_person(linked.find(coverage.get("subscriber"))) if is_dependent else person
    items = list_objects(request, "item")
    return EligibilityInquiry(
        payer_id=payer_id,
        provider_id=linked.find_npi(request.get("provider")),
        subscriber=subscriber.model_copy(update={"member_id": member_id or None}),
        dependent=person if is_dependent else None,
        service_date=_find_service_date(request),
        service_types=_list_service_types(items),
        procedure_codes=_list_procedure_codes(items),
    )


def _find_payor(coverage: Resource, linked: LinkedResources) -> str:
    return next(filter(None, map(linked.find_number, list_objects(coverage, "payor"))), "")


def _names_subscriber(coverage: Resource) -> bool:
    """Return whether a coverage says that its beneficiary is insured under the id of another person."""
    subscriber, beneficiary = (get_text(coverage.get(name), "reference") for name in ("subscriber", "beneficiary"))
    return bool(get_text(coverage, "dependent")) or (bool(subscriber) and subscriber != beneficiary)


def _is_own(coverage: Resource) -> bool:
    """Return whether the beneficiary of a coverage is the subscriber, as far as its relationship says."""
    return _list_codes(coverage.get("relationship"))[:1] in ([], ["self"])


def _describe_person(resource: Resource) -> PersonQuery:
    """Return what a Patient or RelatedPerson says about a person."""
    name = _choose_name(list_objects(resource, "name"))
    given = name.get("given")
    return PersonQuery(
        family=get_text(name, "family") or None,
        given=given[0] if isinstance(given, list) and given and isinstance(given[0], str) else None,
        birth_date=parse_iso_date(get_text(resource, "birthDate")),
        gender=_GENDERS.get(get_text(resource, "gender")),
    )


def _choose_name(names: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the official name, else the first one."""
    official = [name for name in names if name.get("use") == "official"]
    return next(iter([*official, *names]), {})


def _find_service_date(request: Resource) -> date | None:
    """Return the day of service: the first day of a period."""
    period = request.get("servicedPeriod")
    texts = (get_text(request, "servicedDate"), get_text(period, "start"), get_text(period, "end"))
    return next((day for text in texts if (day := parse_first_day(text)) is not None), None)


def _list_service_types(items: list[dict[str, Any]]) -> tuple[ServiceType, ...]:
    """Return the service types that items name. An unknown one asks about the plan as a whole."""
    types: list[ServiceType] = []
    for item in items:
        if isinstance(item.get("category"), dict):
            codes = _list_codes(item["category"])
            types.append(next(filter(None, map(find_service_type, codes)), "plan"))
    return tuple(dict.fromkeys(types)) or ("plan",)


def _list_procedure_codes(items: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the code of the product or service of each item."""
    return tuple(dict.fromkeys(code for item in items if (code := find_procedure_code(item.get("productOrService")))))


def _list_codes(concept: Any) -> list[str]:
    return [code for coding in list_objects(concept, "coding") if (code := get_text(coding, "code"))]


def ask_payer(state: PayerState, action: ActionContext, event: Event) -> EligibilityAnswer | None:
    """Check the eligibility that a new request asks about.

    Other resources are ignored, and so are requests that are not active.
    """
    created = event.payload
    if not isinstance(created, ResourceCreated) or created.type != REQUEST_TYPE:
        return None
    if created.resource.get("status") != "active":
        return None
    inquiry = build_inquiry(created.resource, action.source(FhirState), partial(has_dependents, state))
    return state.check_eligibility(action, inquiry, reference=f"{REQUEST_TYPE}/{created.id}")


def has_dependents(state: PayerState, payer_id: str, member_id: str) -> bool:
    """Return whether a payer has several people under a member id."""
    return len(state.book.keys_by_id.get((payer_id, normalize_member_id(member_id)), ())) > 1


REACTIONS: Mapping[str, React] = {ResourceCreated.kind: ask_payer}
