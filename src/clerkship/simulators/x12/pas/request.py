"""Read what a Claim requests, as the question that a 278 would put to the payer."""

from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any

from clerkship.formats.fhir.resource import list_objects
from clerkship.payer.code_pattern import normalize_code
from clerkship.payer.fhir_parties import get_text, has_dependents, list_codes, read_parties
from clerkship.payer.inquiry import AuthorizationQuery, RequestedService, Unit
from clerkship.payer.records import PayerRecords
from clerkship.simulators.x12.pas.bundle import CLAIM_PATH, PasBundle, problem
from clerkship.simulators.x12.pas.elements import (
    DIAGNOSES,
    PROCEDURES,
    SERVICE_TYPES,
    get_code,
    get_extension,
    get_extension_code,
)
from clerkship.simulators.x12.transactions.authorization import (
    URGENT_LEVELS,
    AuthorizationRequest,
    read_messages,
)
from clerkship.simulators.x12.transactions.codes import CODES, RequestKind
from clerkship.text.dates import parse_first_day

_CANCELLED = "3"
"""UM02."""
_PERFORMERS = ("SJ", "FA", "72")
"""Roles of a care team that perform a service or are its facility, as in a 278."""
_DIAGNOSIS_TYPES = ("ABK", "principal", "ABF", "discharge", "ABJ", "admitting")
"""In the order in which the payer gets diagnoses: the codes of HI, and those of R4."""
_UNITS: Mapping[str, Unit] = {
    **{key: unit for unit, code in CODES.service_units.items() for key in (code, unit)},
    **{"UN": "units", "DA": "days", "d": "days", "h": "hours", "mo": "months"},
}
"""By the code or the name of a unit: those of X12 and UCUM, and words."""


def read_request(bundle: PasBundle, records: PayerRecords, *, is_inquiry: bool) -> AuthorizationRequest:
    """Return what a Claim requests; raises FhirError for what no payer here processes."""
    kind: RequestKind = "inquiry" if is_inquiry else _read_kind(bundle)
    query = _read_query(bundle, records, {} if is_inquiry else list_active_items(bundle))
    reference = _find_reference(bundle, records, query)
    if kind in ("update", "cancel") and not reference:
        text = "the Claim is an update or a cancellation, and names no earlier request in `related` or an extension"
        raise problem(f"{CLAIM_PATH}.related", text)
    return AuthorizationRequest(kind, query, reference, query.trace)


def list_active_items(bundle: PasBundle) -> dict[str, dict[str, Any]]:
    """Return the items that are not cancelled, by their path."""
    return {
        f"{CLAIM_PATH}.item[{number}]": item
        for number, item in enumerate(bundle.items)
        if not _is_withdrawn(item) and get_extension_code(item, "certificationType") != _CANCELLED
    }


def _is_withdrawn(element: Mapping[str, Any]) -> bool:
    return get_extension(element, "infoCancelled", "modifierExtension").get("valueBoolean") is True


def _read_kind(bundle: PasBundle) -> RequestKind:
    """Return what a Claim is: the type of certification of the whole, else what its items and `related` say."""
    stated = get_extension_code(bundle.claim, "certificationType")
    codes = [stated] if stated else [get_extension_code(item, "certificationType") for item in bundle.items]
    kinds = {code: CODES.request_kinds.get(code) for code in codes}
    for code, kind in kinds.items():
        if kind in (None, "appeal"):
            text = f"certification type `{code[:20]}` is not supported here (an appeal is sent as a 278)"
            raise problem(f"{CLAIM_PATH}{'' if stated else '.item'}.extension", text, "not-supported")
    if stated == _CANCELLED or not list_active_items(bundle):
        return "cancel"
    return "update" if "update" in kinds.values() or bundle.claim.get("related") else "request"


def _find_reference(bundle: PasBundle, records: PayerRecords, query: AuthorizationQuery) -> str | None:
    """Return the number of the earlier request that a Claim names: the payer's own, else that of the earlier Claim."""
    names = ("authorizationNumber", "administrationReferenceNumber")
    numbers = [get_text(get_extension(item, name), "valueString") for item in bundle.items for name in names]
    for insurance in list_objects(bundle.claim, "insurance"):
        numbers += insurance.get("preAuthRef", ())
    for related in list_objects(bundle.claim, "related"):
        trace = bundle.linked.find_number(related.get("claim"))
        numbers += [get_text(related.get("reference"), "value"), _find_by_trace(records, query, trace) or trace]
    return next(filter(None, numbers), None)


def _find_by_trace(records: PayerRecords, query: AuthorizationQuery, trace: str) -> str:
    """Return the payer's number of the last request with a trace (TRN02, or Claim.identifier); empty if none has it."""
    requests = (each for each in reversed(records.authorizations.values()) if each.payer_id == query.payer_id)
    own = (each for each in requests if records.may_read(query.provider_id, each.query.provider_id))
    return next((each.id for each in own if each.query.trace == trace), "")


def _read_query(bundle: PasBundle, records: PayerRecords, items: Mapping[str, dict[str, Any]]) -> AuthorizationQuery:
    claim, information = bundle.claim, dict[str, list[dict[str, Any]]]()
    for each in list_objects(claim, "supportingInfo"):
        if not _is_withdrawn(each):
            information.setdefault(get_code(each.get("category")), []).append(each)
    event = [*information.get("patientEvent", ()), *information.get("admissionDates", ()), {}][0]
    start, end = _read_days(event, "timing")
    discharge = _read_days([*information.get("dischargeDates", ()), {}][0], "timing")[0]
    answers, note = read_messages(get_text(each, "valueString") for each in information.get("freeFormMessage", ()))
    documents = [each.get("valueReference") for each in information.get("additionalInformation", ())]
    numbers = [bundle.linked.find_number(each) or get_text(bundle.linked.find(each), "id") for each in documents]
    places = {get_code(item.get("locationCodeableConcept")) for item in items.values()}
    categories = [get_code(item["category"], *SERVICE_TYPES) for item in items.values()]
    return AuthorizationQuery(
        **read_parties(claim, bundle.linked, partial(has_dependents, records.book)),
        review=CODES.reviews[[*(_read_review(*each) for each in items.items()), "HS"][0]],
        service_type=CODES.service_types.get(categories[0]) if categories else None,
        services=tuple(
            _read_service(bundle, path, item, has_own_place=len(places) > 1) for path, item in items.items()
        ),
        diagnoses=_read_diagnoses(bundle),
        place=(places.pop() if len(places) == 1 else "") or None,
        is_urgent=get_extension_code(claim, "levelOfServiceCode") in URGENT_LEVELS,
        start=start,
        end=discharge or end,
        answers=answers,
        attachments=tuple(dict.fromkeys(filter(None, numbers))),
        note=note,
        trace=get_text(claim["identifier"][0], "value"),
    )


def _read_days(element: Mapping[str, Any], name: str) -> tuple[date | None, date | None]:
    """Return the first and last day of a date or a period, such as `serviced`."""
    period = element.get(f"{name}Period")
    start = parse_first_day(get_text(element, f"{name}Date") or get_text(period, "start"))
    return start, parse_first_day(get_text(period, "end")) or start


def _read_review(path: str, item: Mapping[str, Any]) -> str:
    code = get_extension_code(item, "serviceItemRequestType")
    if code not in CODES.reviews:
        text = f"request type `{code[:20]}` is not supported (expected: {', '.join(CODES.reviews)})"
        raise problem(f"{path}.extension", text, "not-supported")
    return code


def _read_service(bundle: PasBundle, path: str, item: Mapping[str, Any], *, has_own_place: bool) -> RequestedService:
    quantity = item.get("quantity", {})
    unit, amount = get_text(quantity, "code") or get_text(quantity, "unit") or "UN", float(quantity.get("value", 1))
    if unit not in _UNITS or not 0 < amount < float("inf"):
        text = f"{amount:g} `{unit[:20]}` (expected: more than 0 of {', '.join(_UNITS)})"
        raise problem(f"{path}.quantity", text, "value")
    start, end = _read_days(item, "serviced")
    return RequestedService(
        procedure_code=get_code(item.get("productOrService"), *PROCEDURES),
        modifiers=tuple(filter(None, map(get_code, list_objects(item, "modifier")))),
        quantity=amount,
        unit=_UNITS[unit],
        start=start,
        end=end,
        performer_id=_find_performer(bundle, item),
        place=(get_code(item.get("locationCodeableConcept")) or None) if has_own_place else None,
        trace=get_text(get_extension(item, "itemTraceNumber").get("valueIdentifier"), "value"),
    )


def _find_performer(bundle: PasBundle, item: Mapping[str, Any]) -> str | None:
    """Return the NPI of the provider that is to perform an item, or all items."""
    for member in list_objects(bundle.claim, "careTeam"):
        is_for_all = get_extension(member, "careTeamClaimScope").get("valueBoolean") is True
        is_for_item = is_for_all or member["sequence"] in item.get("careTeamSequence", ())
        if is_for_item and get_code(member.get("role")) in _PERFORMERS:
            return bundle.linked.find_npi(member["provider"]) or None
    return None


def _read_diagnoses(bundle: PasBundle) -> tuple[str, ...]:
    """Return the ICD-10 codes, the principal first, without dots."""
    ranked: list[tuple[int, str]] = []
    for number, each in enumerate(list_objects(bundle.claim, "diagnosis")):
        code = get_code(each.get("diagnosisCodeableConcept"), *DIAGNOSES)
        if not code:
            text = "expected a code of ICD-10-CM; a reference to a Condition is not supported"
            raise problem(f"{CLAIM_PATH}.diagnosis[{number}].diagnosisCodeableConcept", text)
        types = [type for concept in list_objects(each, "type") for type in list_codes(concept)]
        ranks = [_DIAGNOSIS_TYPES.index(type) // 2 for type in types if type in _DIAGNOSIS_TYPES]
        ranked.append((min(ranks, default=min(number, 1)), normalize_code(code)))
    return tuple(dict.fromkeys(code for _, code in sorted(ranked, key=lambda pair: pair[0])))
