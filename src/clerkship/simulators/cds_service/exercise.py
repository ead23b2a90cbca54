"""Requests that use every operation of a CDS service."""

import orjson

from clerkship.sandbox.request import Request
from clerkship.simulators.cds_service.state import build_uuid

_INSTANCE = "d1577c69-dfbe-44ad-ba6d-3e05e953b2ea"
_ORDER = {
    "resourceType": "MedicationRequest",
    "id": "draft1",
    "status": "draft",
    "intent": "order",
    "medicationCodeableConcept": {"text": "ibuprofen 600 mg"},
    "subject": {"reference": "Patient/p1"},
}
_WARFARIN = {**_ORDER, "id": "m1", "status": "active", "medicationCodeableConcept": {"text": "warfarin 5 mg"}}


def _bundle(*resources: object) -> dict[str, object]:
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": each} for each in resources]}


CALL = {
    "hook": "order-sign",
    "hookInstance": _INSTANCE,
    "context": {"userId": "Practitioner/d1", "patientId": "p1", "draftOrders": _bundle(_ORDER)},
    "prefetch": {"allergies": _bundle(), "medications": _bundle(_WARFARIN), "orders": _bundle()},
}
_FEEDBACK = {
    "card": build_uuid(f"order-safety/{_INSTANCE}/0"),
    "outcome": "overridden",
    "outcomeTimestamp": "2026-03-02T09:00:00Z",
}
_CLIENT = {
    "issuer": "https://ehr.example",
    "jwks": {
        "keys": [
            {
                "kty": "EC",
                "kid": "k1",
                "crv": "P-256",
                "x": "0HWZYKp40Z5Ga8JTpmOY8YO3Fym3xvHuailklSKNq9E",
                "y": "oo0z_hjrALlYVzs6xN665qwNMkNlZfyqwsIZgiGD1s0",
            }
        ]
    },
}
EXERCISE = (
    Request("GET", "/cds-services"),
    Request("POST", "/clients", body=orjson.dumps(_CLIENT)),
    Request("POST", "/cds-services/order-safety", body=orjson.dumps(CALL)),
    Request("POST", "/cds-services/order-safety/feedback", body=orjson.dumps({"feedback": [_FEEDBACK]})),
)
