"""Request an authorization for an order, and write its number and validity into the order."""

import re
from datetime import date

from clerkship.plugin.x12 import (
    AuthorizationQuery,
    OutgoingEnvelope,
    PersonQuery,
    RequestedService,
    RequestHeader,
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
    query = AuthorizationQuery(
        **describe_parties(ehr, patient),
        services=(RequestedService(procedure_code=procedure, start=date.fromisoformat(order["occurrenceDateTime"])),),
        diagnoses=(order["reasonCode"][0]["coding"][0]["code"].replace(".", ""),),
    )
    tree = ask(sandboxes, 1, build_authorization_request(query, RequestHeader("AUTH1", sandboxes.now)))
    number = find_values(tree, "2000E/HCR[1=A1]*2")[0]
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


def ask(sandboxes, number, request, code="278"):
    """Send a request under a control number, and return the loops of the answer."""
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", number, sandboxes.now)
    reply = sandboxes["clearing"].send(render_requests(envelope, [request]))
    [answer] = [each for interchange in parse_interchanges(reply) for each in interchange.sets if each.code == code]
    return validate_set(answer).tree
