"""Request an authorization over FHIR (Da Vinci PAS) and ask for the decision over FHIR, or mix that with X12."""

import re
from datetime import date

from clerkship.plugin.x12 import (
    AuthorizationQuery,
    OutgoingEnvelope,
    PartyQuery,
    PersonQuery,
    RequestedService,
    RequestHeader,
    build_authorization_inquiry,
    build_authorization_request,
    render_requests,
)

GUIDE = "http://hl7.org/fhir/us/davinci-pas/StructureDefinition/extension-"
X12 = "https://codesystem.x12.org/005010"
HL7 = "http://terminology.hl7.org/CodeSystem"
VIKRAM = PersonQuery(member_id="CM561644690", family="Deshmukh", given="Vikram", birth_date=date(1985, 4, 24))
PARTIES = {"payer_id": "CM002", "provider_id": "9999900019", "subscriber": VIKRAM}


def on_task(task_item, sandboxes):
    """Request over FHIR, wait for the review, and ask for the decision over FHIR."""
    patient, order = find_order(task_item, sandboxes["ehr"])
    submit(sandboxes, patient, order)
    sandboxes.wait("8h")
    return inquire_and_record(sandboxes, patient, order)


def inquire_in_x12(task_item, sandboxes):
    """Request over FHIR, and ask for the decision with a 278 inquiry."""
    patient, order = find_order(task_item, sandboxes["ehr"])
    submit(sandboxes, patient, order)
    sandboxes.wait("8h")
    request = build_authorization_inquiry(PartyQuery(**PARTIES), RequestHeader("ASK2", sandboxes.now))
    reply = send_set(sandboxes, request)
    days = [str(date.fromisoformat(re.search(rf"DTP\*{code}\*D8\*(\d+)", reply)[1])) for code in ("007", "036")]
    return record(sandboxes, order, re.search(r"HCR\*A1\*(\w+)", reply)[1], *days)


def request_in_x12(task_item, sandboxes):
    """Request with a 278, and ask for the decision over FHIR."""
    patient, order = find_order(task_item, sandboxes["ehr"])
    service = RequestedService(procedure_code="95810", start=date(2026, 3, 18))
    query = AuthorizationQuery(**PARTIES, services=(service,), diagnoses=("G4733",))
    send_set(sandboxes, build_authorization_request(query, RequestHeader("AUTH1", sandboxes.now)))
    sandboxes.wait("8h")
    return inquire_and_record(sandboxes, patient, order)


def mistype_birth_date(task_item, sandboxes):
    """Request over FHIR with a wrong birth date first, which the payer rejects."""
    patient, order = find_order(task_item, sandboxes["ehr"])
    rejected = submit(sandboxes, {**patient, "birthDate": "1985-04-25"}, order)
    assert rejected["outcome"] == "error"
    return on_task(task_item, sandboxes)


def submit(sandboxes, patient, order):
    """Submit a request for an order, and return the ClaimResponse."""
    bundle = build_bundle(sandboxes, patient, "AUTH1", describe_order(order))
    return sandboxes["clearing"].submit(bundle)["entry"][0]["resource"]


def inquire_and_record(sandboxes, patient, order):
    """Ask what the payer decided, write it into the order, and return the answer."""
    bundles = sandboxes["clearing"].inquire(build_bundle(sandboxes, patient, "ASK2", {}))
    approved = [each["entry"][0]["resource"] for each in bundles if "preAuthRef" in each["entry"][0]["resource"]]
    if not approved:
        return {"number": None, "valid_from": None, "valid_to": None}
    period = approved[0]["preAuthPeriod"]
    return record(sandboxes, order, approved[0]["preAuthRef"], period["start"], period["end"])


def record(sandboxes, order, number, start, end):
    """Write a decision into the order, and return the answer."""
    text = f"Authorization {number}, valid {start} to {end}"
    sandboxes["ehr"].update({**order, "note": [{"text": text}]})
    return {"number": number, "valid_from": start, "valid_to": end}


def send_set(sandboxes, request):
    """Send a transaction set, and return the reply."""
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", 1, sandboxes.now)
    return sandboxes["clearing"].send(render_requests(envelope, [request]))


def find_order(task_item, ehr):
    """Return the patient of a task, and the order."""
    instruction = task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    procedure = re.search(r"CPT (\w+)", instruction)[1]
    [order] = ehr.search("ServiceRequest", patient=patient["id"], code=procedure, status="active")
    return patient, order


def describe_order(order):
    """Return the diagnosis and the item of a Claim for an order."""
    diagnosis = order["reasonCode"][0]["coding"][0]
    item = {
        "extension": [
            {"url": f"{GUIDE}serviceItemRequestType", "valueCodeableConcept": code(f"{X12}/1525", "HS")},
            {"url": f"{GUIDE}certificationType", "valueCodeableConcept": code(f"{X12}/1322", "I")},
        ],
        "sequence": 1,
        "category": code(f"{X12}/1365", "1"),
        "productOrService": {"coding": order["code"]["coding"]},
        "servicedDate": order["occurrenceDateTime"],
        "quantity": {"value": 1},
    }
    return {"diagnosis": [{"sequence": 1, "diagnosisCodeableConcept": {"coding": [diagnosis]}}], "item": [item]}


def build_bundle(sandboxes, patient, trace, elements):
    """Return a Bundle with a Claim for a patient of the chart, and with what the payer needs to know beside it."""
    ehr = sandboxes["ehr"]
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    [practice] = ehr.search("Organization", name="Riverbend Family Health Center")
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
    claim = {
        "resourceType": "Claim",
        "id": trace.lower(),
        "identifier": [{"value": trace}],
        "status": "active",
        "type": code(f"{HL7}/claim-type", "professional"),
        "use": "preauthorization",
        "patient": {"reference": f"Patient/{patient['id']}"},
        "created": f"{sandboxes.now:%Y-%m-%d}",
        "insurer": {"reference": f"Organization/{payer['id']}"},
        "provider": {"reference": f"Organization/{practice['id']}"},
        "priority": code(f"{HL7}/processpriority", "normal"),
        "insurance": [{"sequence": 1, "focal": True, "coverage": {"reference": f"Coverage/{coverage['id']}"}}],
        **elements,
    }
    policy = {"status": "active", "beneficiary": claim["patient"], "payor": [claim["insurer"]]}
    resources = [
        claim,
        keep(patient, "resourceType", "id", "name", "birthDate", "gender"),
        {**keep(coverage, "resourceType", "id", "subscriberId"), **policy},
        keep(payer, "resourceType", "id", "identifier", "name"),
        keep(practice, "resourceType", "id", "identifier", "name"),
    ]
    return {
        "resourceType": "Bundle",
        "identifier": {"value": trace},
        "type": "collection",
        "timestamp": sandboxes.now.isoformat(timespec="seconds"),
        "entry": [
            {"fullUrl": f"https://riverbend.example/fhir/{each['resourceType']}/{each['id']}", "resource": each}
            for each in resources
        ],
    }


def keep(resource, *names):
    """Return a resource with some of its elements."""
    return {name: resource[name] for name in names if name in resource}


def code(system, value):
    """Return a CodeableConcept."""
    return {"coding": [{"system": system, "code": value}]}
