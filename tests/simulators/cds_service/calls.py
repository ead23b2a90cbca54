"""Calls of the service `order-safety`."""

import copy
import uuid
from typing import Any

import orjson

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.formats.cds_hooks.validation import validate_response
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.cds_service.exercise import CALL

PATH = "/cds-services/order-safety"
RXNORM = "http://www.nlm.nih.gov/research/umls/rxnorm"


def post(rig: SimulatorRig, data: Any, path: str = PATH) -> Reply:
    return rig.send(Request("POST", path, body=orjson.dumps(data)))


def build_bundle(*resources: Any) -> dict[str, Any]:
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": each} for each in resources]}


def build_prescription(id: str, drug: str | dict[str, Any], status: str = "draft") -> dict[str, Any]:
    """Return a MedicationRequest; the drug is a text or a CodeableConcept."""
    order = CALL["context"]["draftOrders"]["entry"][0]["resource"]  # type: ignore[index]
    concept = {"text": drug} if isinstance(drug, str) else drug
    return {**order, "id": id, "status": status, "medicationCodeableConcept": concept}


def build_allergy(substance: str | dict[str, Any], id: str = "a1") -> dict[str, Any]:
    """Return an AllergyIntolerance; the substance is a text or a CodeableConcept."""
    code = {"text": substance} if isinstance(substance, str) else substance
    return {"resourceType": "AllergyIntolerance", "id": id, "code": code, "patient": {"reference": "Patient/p1"}}


def build_orders_call(*orders: Any, allergies: Any = (), medications: Any = (), earlier: Any = ()) -> dict[str, Any]:
    """Return a call with these draft orders and this prefetch."""
    call: dict[str, Any] = copy.deepcopy(CALL)
    call["context"]["draftOrders"] = build_bundle(*orders)
    call["prefetch"] = {
        "allergies": build_bundle(*allergies),
        "medications": build_bundle(*medications),
        "orders": build_bundle(*earlier),
    }
    call["hookInstance"] = str(uuid.uuid5(uuid.NAMESPACE_OID, repr(call)))
    return call


def build_call(drug: str, taken: str = "", allergy: str = "") -> dict[str, Any]:
    """Return a call with one drug, for a patient who takes another and has an allergy."""
    return build_orders_call(
        build_prescription("draft1", drug),
        medications=[build_prescription("m1", taken or "cetirizine", "active")],
        allergies=[build_allergy(allergy)] if allergy else [],
    )


def list_cards(rig: SimulatorRig, call: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cards of a call, which are valid."""
    reply = post(rig, call)
    assert reply.status == 200, reply.body
    assert not validate_response(reply.body).problems
    cards: list[dict[str, Any]] = orjson.loads(reply.body)["cards"]
    return cards


def list_summaries(rig: SimulatorRig, call: dict[str, Any]) -> list[str]:
    """Return the summaries of the cards of a call."""
    return [card["summary"] for card in list_cards(rig, call)]
