"""Wait for a letter, and appeal with it against the denial that the notice names."""

import re
from datetime import date, datetime, timedelta

from clerkship.plugin.x12 import (
    AuthorizationQuery,
    OutgoingEnvelope,
    PersonQuery,
    RequestHeader,
    build_authorization_request,
    parse_interchanges,
    render_requests,
    validate_set,
)


def on_task(task_item, sandboxes):
    ehr, instruction = sandboxes["ehr"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    procedure = re.search(r"CPT (\w+)", instruction)[1]
    while not (letters := find_documents(ehr, patient, "Letter of medical necessity")):
        sandboxes.wait("30m")
    letter = letters[0]
    notices = [each["description"] for each in find_documents(ehr, patient, "Notice of denial")]
    [notice] = [each for each in notices if procedure in each]
    decided = datetime.strptime(re.search(r"decision: (.*)", notice)[1], "%B %d, %Y").date()
    reference, weeks = re.search(r"R\d+", notice)[0], re.search(r"(\d+) weeks", letter["description"])[1]
    appeal = AuthorizationQuery(
        **describe_parties(ehr, patient),
        attachments=(letter["identifier"][0]["value"],),
        note=f"Not improved by {weeks} weeks of physical therapy",
    )
    header = RequestHeader("APPEAL1", sandboxes.now)
    ask(sandboxes, 1, build_authorization_request(appeal, header, "appeal", payer_reference=reference))
    deadline = decided + timedelta(days=180)
    return {"reference": reference, "deadline": str(deadline), "attachment": appeal.attachments[0]}


def find_documents(ehr, patient, type):
    """Return the documents of a patient that have a type."""
    documents = ehr.search("DocumentReference", patient=patient["id"])
    return [each for each in documents if each["type"].get("text") == type]


def describe_parties(ehr, patient):
    """Return who asks which payer about a patient of the chart."""
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    [practice] = ehr.search("Organization", name="Riverbend Family Health Center")
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
    name = next(name for name in patient["name"] if name.get("use") == "official")
    subscriber = PersonQuery(
        member_id=coverage["subscriberId"],
        family=name["family"],
        given=name["given"][0],
        birth_date=date.fromisoformat(patient["birthDate"]),
        gender=patient["gender"],
    )
    numbers = {"payer_id": payer["identifier"][0]["value"], "provider_id": practice["identifier"][0]["value"]}
    return {**numbers, "subscriber": subscriber}


def ask(sandboxes, number, request, code="278"):
    """Send a request under a control number, and return the loops of the answer."""
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", number, sandboxes.now)
    reply = sandboxes["clearing"].send(render_requests(envelope, [request]))
    [answer] = [each for interchange in parse_interchanges(reply) for each in interchange.sets if each.code == code]
    return validate_set(answer).tree
