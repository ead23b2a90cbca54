"""Bundles of the PAS guide for the member of `clearinghouse.MEMBERS`, and what their answers say."""

from copy import deepcopy
from typing import Any

import orjson

from clerkship.sandbox.request import Reply, Request
from tests.simulators.x12.clearinghouse import Clearinghouse

EXTENSION = "http://hl7.org/fhir/us/davinci-pas/StructureDefinition/extension-"
X12 = "https://codesystem.x12.org/005010"
BASE = "http://cedar.example/fhir"


def code(system: str, value: str) -> dict[str, Any]:
    """Return a CodeableConcept."""
    return {"coding": [{"system": system, "code": value}]}


def extension(name: str, **value: Any) -> dict[str, Any]:
    """Return an extension of the guide."""
    return {"url": f"{EXTENSION}{name}", **value}


def item(sequence: int = 1, procedure: str = "72148", certification: str = "I", **elements: Any) -> dict[str, Any]:
    """Return an item of a Claim."""
    return {
        "extension": [
            extension("itemTraceNumber", valueIdentifier={"system": "http://cedar.example/item", "value": "PA1ES"}),
            extension("serviceItemRequestType", valueCodeableConcept=code(f"{X12}/1525", "HS")),
            extension("certificationType", valueCodeableConcept=code(f"{X12}/1322", certification)),
        ],
        "sequence": sequence,
        "category": code(f"{X12}/1365", "62"),
        "productOrService": code("http://www.ama-assn.org/go/cpt", procedure),
        "servicedPeriod": {"start": "2026-03-10", "end": "2026-03-31"},
        "locationCodeableConcept": code("https://www.cms.gov/place-of-service", "11"),
        "quantity": {"value": 1},
        **elements,
    }


RESOURCES: list[dict[str, Any]] = [
    {
        "resourceType": "Patient",
        "id": "ana",
        "name": [{"family": "Rivera", "given": ["Ana"]}],
        "birthDate": "1980-02-14",
        "gender": "female",
    },
    {
        "resourceType": "Coverage",
        "id": "policy",
        "status": "active",
        "subscriberId": "NW55501",
        "beneficiary": {"reference": "Patient/ana"},
        "payor": [{"reference": "Organization/payer"}],
    },
    {
        "resourceType": "Organization",
        "id": "payer",
        "name": "North Pay",
        "identifier": [{"system": "http://payers.example", "value": "NW001"}],
    },
    {
        "resourceType": "Organization",
        "id": "clinic",
        "name": "Cedar Clinic",
        "identifier": [{"system": "http://hl7.org/fhir/sid/us-npi", "value": "1234567893"}],
    },
]


def build_bundle(trace: str = "PA1E", *items: dict[str, Any], **elements: Any) -> dict[str, Any]:
    """Return a Bundle whose Claim requests an MRI; `elements` replace those of the Claim, None removes one."""
    claim = {
        "resourceType": "Claim",
        "id": "claim",
        "identifier": [{"system": "http://cedar.example/trace", "value": trace}],
        "status": "active",
        "type": code("http://terminology.hl7.org/CodeSystem/claim-type", "professional"),
        "use": "preauthorization",
        "patient": {"reference": "Patient/ana"},
        "created": "2026-03-02",
        "insurer": {"reference": "Organization/payer"},
        "provider": {"reference": "Organization/clinic"},
        "priority": code("http://terminology.hl7.org/CodeSystem/processpriority", "normal"),
        "diagnosis": [{"sequence": 1, "diagnosisCodeableConcept": code("http://hl7.org/fhir/sid/icd-10-cm", "M54.16")}],
        "insurance": [{"sequence": 1, "focal": True, "coverage": {"reference": "Coverage/policy"}}],
        "item": list(items) or [item()],
        **elements,
    }
    claim = {name: value for name, value in claim.items() if value is not None}
    return wrap(claim, *RESOURCES)


def wrap(*resources: dict[str, Any]) -> dict[str, Any]:
    """Return a Bundle with resources."""
    return deepcopy(
        {
            "resourceType": "Bundle",
            "identifier": {"system": "http://cedar.example/bundle", "value": "B1"},
            "type": "collection",
            "timestamp": "2026-03-02T09:00:00Z",
            "entry": [
                {"fullUrl": f"{BASE}/{each['resourceType']}/{each['id']}", "resource": each} for each in resources
            ],
        }
    )


def build_inquiry(trace: str = "ASK1", **elements: Any) -> dict[str, Any]:
    """Return a Bundle that inquires about the authorizations of the member."""
    return build_bundle(trace, **{"item": None, "diagnosis": None, **elements})


class PasClearinghouse(Clearinghouse):
    """A clearinghouse that is asked over FHIR."""

    def call(self, operation: str, bundle: Any) -> Reply:
        """Post a Bundle."""
        headers = {"content-type": "application/fhir+json"}
        body = bundle if isinstance(bundle, bytes) else orjson.dumps(bundle)
        return self.rig.send(Request("POST", f"/fhir/Claim/${operation}", {}, headers, body))

    def submit(self, bundle: Any) -> dict[str, Any]:
        """Submit a request, and return the ClaimResponse."""
        reply = self.call("submit", bundle)
        assert reply.status == 200, reply.body
        response: dict[str, Any] = orjson.loads(reply.body)["entry"][0]["resource"]
        return response

    def inquire(self, bundle: Any) -> list[dict[str, Any]]:
        """Inquire, and return each ClaimResponse."""
        reply = self.call("inquire", bundle)
        assert reply.status == 200, reply.body
        parameters = orjson.loads(reply.body).get("parameter", [])
        return [each["resource"]["entry"][0]["resource"] for each in parameters]

    def refuse(self, bundle: Any, operation: str = "submit") -> tuple[str, str]:
        """Send a Bundle that is refused, and return path and text of the first issue."""
        reply = self.call(operation, bundle)
        assert reply.status == 400, reply
        issue = orjson.loads(reply.body)["issue"][0]
        return issue.get("expression", [""])[0], issue["diagnostics"]


def find_extension(element: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an extension of the guide, or one with a short name."""
    return next(each for each in element["extension"] if each["url"] in (f"{EXTENSION}{name}", name))


def action_of(response: dict[str, Any], place: int = 0) -> list[str]:
    """Return the codes of the review action of an item, and its number: `["A1", "AUTH1"]`."""
    action = find_extension(response["item"][place]["adjudication"][0], "reviewAction")
    decision = find_extension(action, "reviewActionCode")["valueCodeableConcept"]["coding"][0]["code"]
    return [decision, *(each["valueString"] for each in action["extension"] if each["url"] == "number")]
