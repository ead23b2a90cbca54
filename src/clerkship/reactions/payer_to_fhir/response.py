"""The answer of a payer as a CoverageEligibilityResponse (R4 CoverageEligibilityResponse)."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

from clerkship.formats.fhir.resource import Resource
from clerkship.payer.answer import Coverage, EligibilityAnswer, Rejection
from clerkship.reactions.eligibility_request import REQUEST_TYPE, find_asked_coverage
from clerkship.reactions.payer_codes import REJECTION_SYSTEM, get_rejection_code
from clerkship.reactions.payer_to_fhir.items import build_authorization_items, build_items

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


def _choose_reference(asked: Any, known_key: str, is_in_chart: IsInChart) -> dict[str, Any]:
    """Return the reference of the request, or to what the payer knows, or one that only identifies."""
    reference = dict(asked) if isinstance(asked, Mapping) else {}
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
    asked = {"reference": coverage.id} if is_known else find_asked_coverage(request)
    insurance: dict[str, Any] = {
        "coverage": {**_choose_reference(asked, "", is_in_chart), "display": coverage.plan_name or coverage.plan},
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
