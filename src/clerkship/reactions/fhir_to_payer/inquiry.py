"""A CoverageEligibilityRequest as an inquiry to a payer (R4 CoverageEligibilityRequest)."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Literal

from clerkship.formats.fhir.resource import Resource, list_objects
from clerkship.payer.inquiry import EligibilityInquiry, PersonQuery, ServiceType
from clerkship.reactions.eligibility_request import find_asked_coverage
from clerkship.reactions.fhir_to_payer.linked import LinkedResources, get_text
from clerkship.reactions.payer_codes import find_service_type
from clerkship.simulators.fhir.state import FhirState

"""Items of a request that are read."""
IsSharedId = Callable[[str, str], bool]
"""Returns whether a payer has several people under a member id, given the numbers of both."""
_GENDERS: Mapping[str, Literal["male", "female", "unknown"]] = {"male": "male", "female": "female"}


def build_inquiry(request: Resource, chart: FhirState, is_shared: IsSharedId = lambda *_: False) -> EligibilityInquiry:
    """Return what a request asks the payer. What the request and its chart do not say is left out."""
    linked = LinkedResources(request, chart)
    asked = find_asked_coverage(request)
    coverage = linked.find(asked)
    payer_id = linked.find_number(request.get("insurer")) or _find_payor(coverage, linked)
    member_id = get_text(coverage, "subscriberId") or linked.find_number(asked)
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
        birth_date=_parse_date(get_text(resource, "birthDate"), is_exact=True),
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
    return next((day for text in texts if (day := _parse_date(text)) is not None), None)


def _parse_date(text: str, *, is_exact: bool = False) -> date | None:
    """Return the day of a date or dateTime, and the first day of a month or year; with `is_exact`, only of a day."""
    day = text.partition("T")[0]
    if not is_exact:
        day += {4: "-01-01", 7: "-01"}.get(len(day), "")
    try:
        return date.fromisoformat(day) if len(day) == 10 else None
    except ValueError:
        return None


def _list_service_types(items: list[dict[str, Any]]) -> tuple[ServiceType, ...]:
    """Return the service types that items name. An unknown one asks about the plan as a whole."""
    types: list[ServiceType] = []
    for item in items:
        if isinstance(item.get("category"), dict):
            codes = _list_codes(item["category"])
            types.append(next(filter(None, map(find_service_type, codes)), "plan"))
    return tuple(dict.fromkeys(types)) or ("plan",)


def _list_procedure_codes(items: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the first code of the product or service of each item."""
    return tuple(dict.fromkeys(code for item in items for code in _list_codes(item.get("productOrService"))[:1]))


def _list_codes(concept: Any) -> list[str]:
    return [code for coding in list_objects(concept, "coding") if (code := get_text(coding, "code"))]
