"""File the answers of a payer in the chart, as CoverageEligibilityResponse resources."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from clerkship.events.event import Event
from clerkship.formats.fhir.resource import Resource
from clerkship.payer.answer import Benefit, Coverage, EligibilityAnswer, Rejection
from clerkship.payer.events import EligibilityChecked
from clerkship.payer.fhir_parties import find_asked_coverage
from clerkship.payer.inquiry import ServiceType
from clerkship.payer.members import CPT, HCPCS
from clerkship.reactions.contract import React
from clerkship.reactions.payer_codes import (
    HL7_SYSTEM,
    REJECTION_SYSTEM,
    REQUEST_TYPE,
    build_category,
    get_rejection_code,
)
from clerkship.sandbox.state import ActionContext
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.transaction import Transaction
from clerkship.simulators.fhir.write import create_resource

_TERMS = {"calendar_year": "annual", "lifetime": "lifetime"}
"""R4 has no term for a visit."""
_BENEFIT_TYPES = {"copay": "copay", "coinsurance": "copay-percent", "deductible": "deductible"}
OUT_OF_POCKET_TEXT = "Out-of-pocket maximum"
"""R4's list of benefit types has no code for it."""


class ItemKey(NamedTuple):
    """What the benefits of one item have in common."""

    service_type: ServiceType
    procedure_code: str | None = None
    in_network: bool | None = None
    level: str | None = None
    term: str | None = None


def build_money(dollars: float) -> dict[str, Any]:
    """Return an amount in dollars and cents as Money."""
    cents = round(dollars * 100)
    return {"value": cents // 100 if cents % 100 == 0 else cents / 100, "currency": "USD"}


def build_procedure(code: str) -> dict[str, Any]:
    """Return a procedure code as a CodeableConcept: HCPCS level II starts with a letter, CPT with a digit."""
    return {"coding": [{"system": HCPCS if code[:1].isalpha() else CPT, "code": code}]}


def build_items(benefits: Sequence[Benefit]) -> list[dict[str, Any]]:
    """Return an item for each service type, network, level and term that the benefits name, in their order."""
    groups: dict[ItemKey, list[Benefit]] = {}
    by_procedure: dict[str | None, list[Benefit]] = {}
    for benefit in benefits:
        by_procedure.setdefault(benefit.procedure_code, []).append(benefit)
        if benefit.kind != "other_payer":
            for service_type in benefit.service_types:
                groups.setdefault(_get_item_key(service_type, benefit, benefits), []).append(benefit)
    return [_build_item(key, group, by_procedure[key.procedure_code]) for key, group in groups.items()]


def build_authorization_items(benefits: Sequence[Benefit]) -> list[dict[str, Any]]:
    """Return an item for each service of which the payer says whether it needs an authorization, without amounts."""
    left_out = ("benefit", "unit", "term", "description")
    items = (
        {name: value for name, value in item.items() if name not in left_out}
        for item in build_items(benefits)
        if "authorizationRequired" in item
    )
    return list({repr(item): item for item in items}.values())


def _get_item_key(service_type: ServiceType, benefit: Benefit, benefits: Iterable[Benefit]) -> ItemKey:
    """Return the item that a benefit belongs to. What remains of an amount belongs to the item of the amount."""
    period = benefit.period
    if period == "remaining":
        amounts = [other for other in benefits if _is_amount_of(other, benefit) and service_type in other.service_types]
        period = amounts[0].period if amounts else "calendar_year"
    term = _TERMS.get(period) if period is not None else None
    return ItemKey(service_type, benefit.procedure_code, benefit.in_network, benefit.level, term)


def _is_amount_of(benefit: Benefit, remaining: Benefit) -> bool:
    """Return whether one benefit states the amount, and the other what remains of it."""
    return benefit.period != "remaining" and all(
        getattr(benefit, name) == getattr(remaining, name)
        for name in ("kind", "procedure_code", "in_network", "level", "unit")
    )


def _build_item(key: ItemKey, benefits: Sequence[Benefit], of_procedure: Sequence[Benefit]) -> dict[str, Any]:
    item: dict[str, Any] = {"category": build_category(key.service_type)}
    if key.procedure_code is not None:
        item["productOrService"] = build_procedure(key.procedure_code)
    if any(benefit.kind == "not_covered" for benefit in benefits):
        item["excluded"] = True
    text = " ".join(dict.fromkeys(benefit.text for benefit in benefits if benefit.text))
    if text:
        item["description"] = text
    if key.in_network is not None:
        item["network"] = _build_coding("benefit-network", "in" if key.in_network else "out")
    if key.level is not None:
        item["unit"] = _build_coding("benefit-unit", key.level)
    if key.term is not None:
        item["term"] = _build_coding("benefit-term", key.term)
    statements = _build_statements(benefits)
    if statements:
        item["benefit"] = statements
    required = _needs_authorization(key, of_procedure)
    if required is not None:
        item["authorizationRequired"] = required
    return item


def _build_coding(system: str, code: str) -> dict[str, Any]:
    return {"coding": [{"system": f"{HL7_SYSTEM}/{system}", "code": code}]}


def _needs_authorization(key: ItemKey, benefits: Iterable[Benefit]) -> bool | None:
    """Return whether the service of an item needs an authorization; None if the payer does not say.

    An authorization belongs to the service, not to one of its amounts, so each item of the service states it. The
    benefits are those of its procedure.
    """
    stated = [
        benefit.authorization_required
        for benefit in benefits
        if benefit.authorization_required is not None
        and key.service_type in benefit.service_types
        and (benefit.in_network is None or key.in_network is None or benefit.in_network == key.in_network)
    ]
    return any(stated) if stated else None


def _build_statements(benefits: Sequence[Benefit]) -> list[dict[str, Any]]:
    """Return the amounts of one item. What remains of an amount becomes the part that is used."""
    amounts = [benefit for benefit in benefits if benefit.kind not in ("active", "inactive", "not_covered")]
    remainders = [benefit for benefit in amounts if benefit.period == "remaining"]
    statements: list[dict[str, Any]] = []
    for benefit in amounts:
        if benefit.period != "remaining":
            remaining = next((other for other in remainders if _is_amount_of(benefit, other)), None)
            statements.append(_build_statement(benefit, remaining))
        elif not any(_is_amount_of(other, benefit) for other in amounts):
            kind = benefit.kind.replace("_", " ")
            statements.append(_build_statement(benefit, None) | {"type": {"text": f"Remaining {kind}"}})
    return statements


def _build_statement(benefit: Benefit, remaining: Benefit | None) -> dict[str, Any]:
    statement: dict[str, Any] = {"type": _build_benefit_type(benefit)}
    if benefit.share is not None:
        statement |= _build_number("allowed", benefit.share * 100)
    elif benefit.amount is not None:
        statement["allowedMoney"] = build_money(benefit.amount)
        if remaining is not None and remaining.amount is not None:
            statement["usedMoney"] = build_money(benefit.amount - remaining.amount)
    elif benefit.quantity is not None:
        statement |= _build_number("allowed", benefit.quantity)
        if remaining is not None and remaining.quantity is not None:
            statement |= _build_number("used", benefit.quantity - remaining.quantity)
    return statement


def _build_number(name: str, value: float) -> dict[str, Any]:
    """Return `allowed[x]` or `used[x]` with a number. R4 has only whole ones, so any other is written as a text."""
    number = round(float(value), 6)
    return {f"{name}UnsignedInt": int(number)} if number.is_integer() else {f"{name}String": f"{number:g}"}


def _build_benefit_type(benefit: Benefit) -> dict[str, Any]:
    if benefit.kind in _BENEFIT_TYPES:
        return _build_coding("benefit-type", _BENEFIT_TYPES[benefit.kind])
    if benefit.kind == "out_of_pocket_maximum":
        return {"text": OUT_OF_POCKET_TEXT}
    if benefit.unit == "visits":
        return _build_coding("benefit-type", "visit")
    return _build_coding("benefit-type", "benefit") | ({"text": benefit.unit} if benefit.unit is not None else {})


IsInChart = Callable[[str], bool]
"""Returns whether the chart has a resource with a key."""
_STATUS_TEXTS = {
    "active": "The coverage is in force.",
    "terminated": "The coverage has ended.",
    "future": "The coverage has not begun.",
}


def build_response(
    request: Resource, answer: EligibilityAnswer, now: datetime, is_in_chart: IsInChart = lambda key: True
) -> Resource:
    """Return the response to a request, without an id.

    It repeats the patient, provider and insurer of the request. References to resources that the chart does not have
    become references by identifier or display.
    """
    response: Resource = {
        "resourceType": "CoverageEligibilityResponse",
        "status": "active",
        "purpose": list(request["purpose"]),
        "patient": _choose_reference(request.get("patient"), _get_patient_key(answer), is_in_chart),
        "created": now.isoformat(timespec="seconds"),
        "request": {"reference": f"{REQUEST_TYPE}/{request['id']}"},
        "outcome": "complete" if answer.rejection is None else "error",
        "disposition": _describe(answer),
        "insurer": _choose_reference(request.get("insurer"), "", is_in_chart),
        **_repeat_service_date(request, answer),
    }
    if "provider" in request:
        response["requestor"] = _choose_reference(request["provider"], "", is_in_chart)
    if answer.rejection is not None:
        response["error"] = [{"code": build_error_code(answer.rejection)}]
    elif answer.coverage is not None:
        response["insurance"] = _build_insurance(request, answer, answer.coverage, is_in_chart)
    return response


def build_error_code(rejection: Rejection) -> dict[str, Any]:
    """Return the reason of a rejection as a CodeableConcept."""
    coding = {"system": REJECTION_SYSTEM, "code": get_rejection_code(rejection)}
    return {"coding": [coding], "text": rejection.text or rejection.reason.replace("_", " ")}


def _get_patient_key(answer: EligibilityAnswer) -> str:
    return answer.member.patient if answer.member is not None else ""


def _describe(answer: EligibilityAnswer) -> str:
    """Return the disposition: what the payer found, in a sentence."""
    if answer.rejection is not None:
        return answer.rejection.text or answer.rejection.reason.replace("_", " ")
    sentences = [_STATUS_TEXTS[answer.status]] if answer.status is not None else []
    for other in answer.other_coverages:
        order = "first" if other.order == 1 else "second" if other.order == 2 else f"number {other.order}"
        sentences.append(f"{other.payer_name or other.payer_id} also covers the patient, and pays {order}.")
    return " ".join(sentences) or "The request was processed."


def _repeat_service_date(request: Resource, answer: EligibilityAnswer) -> dict[str, Any]:
    for name in ("servicedDate", "servicedPeriod"):
        if name in request:
            return {name: request[name]}
    return {"servicedDate": answer.service_date.isoformat()} if answer.service_date is not None else {}


def _choose_reference(stated: Any, known_key: str, is_in_chart: IsInChart) -> dict[str, Any]:
    """Return the reference of the request, or to what the payer knows, or one that only identifies."""
    reference = dict(stated) if isinstance(stated, Mapping) else {}
    target = reference.get("reference")
    if isinstance(target, str) and not target.startswith("#") and is_in_chart(target):
        return reference
    if known_key and is_in_chart(known_key):
        return {"reference": known_key}
    logical = {name: value for name, value in reference.items() if name != "reference"}
    is_key = isinstance(target, str) and not target.startswith("#")
    return logical or {"display": target if is_key else "see the request"}


def _build_insurance(
    request: Resource, answer: EligibilityAnswer, coverage: Coverage, is_in_chart: IsInChart
) -> list[dict[str, Any]]:
    in_force = answer.status == "active"
    is_known = coverage.id.startswith("Coverage/") and is_in_chart(coverage.id)
    coverage_reference = {"reference": coverage.id} if is_known else find_asked_coverage(request)
    insurance: dict[str, Any] = {
        "coverage": {
            **_choose_reference(coverage_reference, "", is_in_chart),
            "display": coverage.plan_name or coverage.plan,
        },
        "inforce": in_force,
        "benefitPeriod": _build_period(coverage.start, coverage.end),
    }
    items = _select_items(request, answer) if in_force else []
    return [insurance | {"item": items} if items else insurance]


def _select_items(request: Resource, answer: EligibilityAnswer) -> list[dict[str, Any]]:
    """Return the items that the purposes of a request ask for."""
    purposes = set(request["purpose"])
    if purposes & {"benefits", "discovery"}:
        return build_items(answer.benefits)
    return build_authorization_items(answer.benefits) if "auth-requirements" in purposes else []


def _build_period(start: date, end: date | None) -> dict[str, str]:
    return {"start": start.isoformat()} | ({"end": end.isoformat()} if end is not None else {})


def file_answer(state: FhirState, action: ActionContext, event: Event) -> str | None:
    """Create the response to a request of this chart, and return its key. Answers to other questions are ignored."""
    checked = event.payload
    if not isinstance(checked, EligibilityChecked):
        return None
    key = checked.reference or ""
    request = state.resource(key) if key.startswith(f"{REQUEST_TYPE}/") else None
    if request is None:
        return None
    with Transaction(state, action) as transaction:
        response = build_response(request, checked.read_answer(), transaction.local_time, transaction.exists)
        return create_resource(transaction, response, operation=event.kind)


REACTIONS: Mapping[str, React] = {EligibilityChecked.kind: file_answer}
