"""Request an authorization with a 278, wait for the review, and ask for the decision."""

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
    find_values,
    parse_interchanges,
    render_requests,
    validate_set,
)


def on_task(task_item, sandboxes):
    ehr, instruction = sandboxes["ehr"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    procedure = re.search(r"CPT (\w+)", instruction)[1]
    [order] = ehr.search("ServiceRequest", patient=patient["id"], code=procedure, status="active")
    parties = describe_parties(ehr, patient)
    query = AuthorizationQuery(
        **parties,
        services=(RequestedService(procedure_code=procedure, start=date.fromisoformat(order["occurrenceDateTime"])),),
        diagnoses=(order["reasonCode"][0]["coding"][0]["code"].replace(".", ""),),
    )
    tree = ask(sandboxes, 1, build_authorization_request(query, RequestHeader("AUTH1", sandboxes.now)))
    if not find_values(tree, "2000E/HCR[1=A1]*2"):
        reference = find_values(tree, "2000E/REF[1=NT]*2")[0]
        sandboxes.wait("8h")
        header = RequestHeader("ASK2", sandboxes.now)
        tree = ask(sandboxes, 2, build_authorization_inquiry(PartyQuery(**parties), header, payer_reference=reference))
    approved = find_values(tree, "2000E/HCR[1=A1]*2")
    if not approved:
        return {"number": None, "valid_from": None, "valid_to": None}
    [number, *_] = approved
    start, end = read_day(tree, "007"), read_day(tree, "036")
    ehr.update({**order, "note": [{"text": f"Authorization {number}, valid {start} to {end}"}]})
    return {"number": number, "valid_from": start, "valid_to": end}


def read_day(loop, qualifier):
    """Return a day of a decision."""
    return str(date.fromisoformat(find_values(loop, f"DTP[1={qualifier}]*3")[0]))


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


def ask(sandboxes, number, request):
    """Send a request under a control number, and return the loops of the answer."""
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", number, sandboxes.now)
    reply = sandboxes["clearing"].send(render_requests(envelope, [request]))
    [answer] = [each for interchange in parse_interchanges(reply) for each in interchange.sets if each.code == "278"]
    return validate_set(answer).tree
