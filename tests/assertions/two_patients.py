"""A task in which an agent does the same for two patients, on every kind of sandbox, with another word for each."""

import uuid
from typing import Any

import yaml

from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.cds.handle import Cds, describe_service
from clerkship.simulators.cds_service.exercise import CALL
from clerkship.simulators.cds_service.handle import CdsServices
from clerkship.simulators.fax.handle import Fax
from clerkship.simulators.fhir.handle import Fhir
from clerkship.simulators.files.handle import Files
from clerkship.simulators.hl7.handle import Hl7
from clerkship.simulators.messages.handle import Messages
from clerkship.simulators.portal.handle import Portal
from clerkship.simulators.x12.handle import X12
from tests.simulators.hl7.interface import admission
from tests.simulators.x12.clearinghouse import authorization, eligibility, one

CLINIC, OWN_FAX = "+15550100300", "+15550100200"
PEOPLE = {
    "ana": {"family": "Rivera", "given": "Ana", "born": "1980-02-14", "mrn": "4471902", "phone": "+15550102233"},
    "eva": {"family": "Stone", "given": "Eva", "born": "1961-03-04", "mrn": "4471903", "phone": "+15550102244"},
}
WORDS = {"ana": "alpha", "eva": "beta"}
MEMBERS = {"ana": "NW55501", "eva": "NW55502"}


def _build_patient(id: str) -> dict[str, Any]:
    person = PEOPLE[id]
    return {
        "resourceType": "Patient",
        "id": id,
        "gender": "female",
        "birthDate": person["born"],
        "name": [{"family": person["family"], "given": [person["given"]]}],
        "identifier": [{"value": person["mrn"]}],
        "telecom": [{"system": "phone", "use": "mobile", "value": person["phone"]}],
    }


def _build_coverage(id: str) -> dict[str, Any]:
    return {
        "resourceType": "Coverage",
        "id": f"cover-{id}",
        "status": "active",
        "subscriberId": MEMBERS[id],
        "beneficiary": {"reference": f"Patient/{id}"},
        "payor": [{"reference": "Organization/pay"}],
        "period": {"start": "2026-01-01"},
    }


def _build_result(id: str) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": f"k-{id}",
        "status": "final" if id == "ana" else "preliminary",
        "code": {"text": "Potassium"},
        "subject": {"reference": f"Patient/{id}"},
    }


def _build_order(id: str) -> dict[str, Any]:
    return {
        "resourceType": "MedicationRequest",
        "id": f"o-{id}",
        "status": "draft",
        "intent": "order",
        "medicationCodeableConcept": {"text": "ibuprofen 600 mg"},
        "subject": {"reference": f"Patient/{id}"},
    }


RECORDS = [
    {
        "resourceType": "Organization",
        "id": "pay",
        "name": "North Pay",
        "type": [{"coding": [{"code": "pay"}]}],
        "identifier": [{"value": "NW001"}],
    },
    {"resourceType": "Practitioner", "id": "doc", "name": [{"family": "May", "given": ["Ida"]}]},
    *(build(id) for id in PEOPLE for build in (_build_patient, _build_coverage, _build_result)),
]
ENVIRONMENT = {
    "name": "clinic",
    "now": "2026-03-02T09:00:00-05:00",
    "datasets": ["chart"],
    "simulators": {
        "ehr": {"kind": "fhir"},
        "desk": {"kind": "messages", "config": {"numbers": ["+15550100100"]}},
        "line": {"kind": "fax", "config": {"numbers": [OWN_FAX], "contacts": [{"name": "Clinic", "number": CLINIC}]}},
        "drop": {"kind": "files", "datasets": []},
        "lab": {"kind": "hl7"},
        "clearing": {"kind": "x12"},
        "advisor": {"kind": "cds_service"},
        "emr": {"kind": "cds"},
        "site": {
            "kind": "portal",
            "config": {"organization": {"npi": "1234567893"}, "attachments": {"formats": ["text"]}},
        },
    },
    "domains": {
        "payer": {
            "kind": "payer",
            "config": {
                "providers": {"1234567893": {"name": "Cedar Clinic"}},
                "authorization_required": [{"procedure_codes": ["72148"]}],
                "determinations": [{"match": {"procedure_code": "72148"}, "status": "modified", "validity": "30d"}],
            },
        }
    },
    "reactions": ["emr.* -> ehr"],
}


def _build_steps(id: str) -> list[dict[str, Any]]:
    person = PEOPLE[id]
    who = f"{person['given']} {person['family']}, born {person['born']}"
    fire = {"hook": "order-sign", "patient": id, "user": "Practitioner/doc", "orders": [_build_order(id)]}
    return [
        {"files.drop": {"path": f"in/{WORDS[id]}.txt", "text": f"Referral of {who}."}},
        {"fax.receive": {"from": CLINIC, "id": f"fax_{id}", "text": f"Referral of {who}.", "degradation": {}}},
        {
            "hl7.send": {
                "message": admission(f"IN-{id}", name=f"{person['family']}^{person['given']}", mrn=person["mrn"])
            }
        },
        {"cds.fire": fire},
    ]


def write_task(folder: Any, *criteria: dict[str, Any]) -> None:
    """Write the task with these criteria."""
    entities = [{"id": id, "dataset": "chart", "type": "Patient", "where": {"id": id}} for id in PEOPLE]
    task = {
        "name": "Care for two",
        "environment": "clinic",
        "entities": entities,
        "scenario": {"steps": [step for id in PEOPLE for step in _build_steps(id)]},
        "criteria": [{"label": str(number), **criterion} for number, criterion in enumerate(criteria)],
    }
    data = {"environment": ENVIRONMENT, "dataset": {"name": "chart", "type": "fhir", "records": RECORDS}, "task": task}
    folder.write("task.yml", yaml.safe_dump(data))


def care_for_both(task_item: Any, sandboxes: Sandboxes) -> None:
    """Do the same for both, with another word for each; read, forward and acknowledge only what is about Ana."""

    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        word = WORDS[request["context"]["patientId"]]
        return [{"summary": word, "indicator": "info", "source": {"label": "Checker"}}]

    service = describe_service("order-sign", answer, id="check", description="Checks orders")
    with sandboxes.get_as(Cds).serve([service]):
        for id in PEOPLE:
            _care(id, sandboxes)
        sandboxes.wait("10m")
    line, lab = sandboxes.get_as(Fax), sandboxes.get_as(Hl7)
    line.send(CLINIC, files={"referral.tiff": line.download("fax_ana", "tiff")})
    sandboxes.wait("10m")
    sandboxes.get_as(Files).read("in/alpha.txt")
    [entry] = [each for each in lab.inbox(all=True) if each["control_id"] == "IN-ana"]
    lab.take(entry["id"])
    lab.acknowledge(entry["id"])


def _care(id: str, sandboxes: Sandboxes) -> None:
    person, word = PEOPLE[id], WORDS[id]
    who = f"{person['given']} {person['family']}, born {person['born']}"
    ehr = sandboxes.get_as(Fhir)
    ehr.search("Observation", patient=id)
    ehr.create(
        {
            "resourceType": "Communication",
            "status": "completed",
            "subject": {"reference": f"Patient/{id}"},
            "payload": [{"contentString": word}],
        }
    )
    sandboxes.get_as(Messages).send("sms", person["phone"], f"The word is {word}.")
    sandboxes.get_as(Fax).send(CLINIC, text=f"Report {word} of {who}.")
    sandboxes.get_as(Files).write(f"out/{word}.json", f'{{"mrn": "{person["mrn"]}", "word": "{word}"}}')
    name = f"{person['family']}^{person['given']}"
    sandboxes.get_as(Hl7).send(admission(f"OUT-{id}", name=name, mrn=person["mrn"]))
    number = 200 + 10 * list(PEOPLE).index(id)
    for code, segments in (("270", eligibility(f"E{id}")), ("278", authorization(f"P{id}"))):
        sandboxes.get_as(X12).exchange(one(code, [_adapt(each, id) for each in segments], number))
        number += 1
    faulty = [_adapt(each, id).replace("DMG*D8", "DMG*D9") for each in eligibility(f"F{id}")]
    sandboxes.get_as(X12).exchange(one("270", faulty, number))
    _appeal(sandboxes.get_as(Portal), MEMBERS[id], f"Visit note {word} of {who}.")
    order = {**CALL["context"]["draftOrders"]["entry"][0]["resource"], **_build_order(id)}  # type: ignore[index]
    drafts = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": order}]}
    context = {"userId": "Practitioner/doc", "patientId": id, "draftOrders": drafts}
    empty = {"resourceType": "Bundle", "type": "collection", "entry": []}
    prefetch = {"allergies": empty, "medications": empty, "orders": empty}
    instance = str(uuid.uuid5(uuid.NAMESPACE_OID, id))
    sandboxes.get_as(CdsServices).call_service("order-safety", "order-sign", instance, context, prefetch)


def _appeal(portal: Portal, member_id: str, note: str) -> None:
    """Appeal against the decision on the only request of a member, with a note."""
    [request] = portal.api("GET", "/requests", query={"member_id": member_id})["requests"]
    document = portal.upload("/documents", "note.txt", note.encode(), "clinical_note")["id"]
    appeal = {"reason": "More days are needed.", "documents": [document]}
    portal.api("POST", f"/requests/{request['reference']}/appeal", appeal)


def _adapt(segment: str, id: str) -> str:
    """Return a segment about Ana as one about another person."""
    person = PEOPLE[id]
    name = f"{person['family']}*{person['given']}".upper()
    return (
        segment.replace("RIVERA*ANA", name)
        .replace("NW55501", MEMBERS[id])
        .replace("19800214", person["born"].replace("-", ""))
    )
