"""Find out which of two authorizations is for a revoked order, and cancel that one."""

import re
from datetime import date

from clerkship.plugin.x12 import (
    AuthorizationQuery,
    OutgoingEnvelope,
    PartyQuery,
    PersonQuery,
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
    orders = ehr.search("ServiceRequest", patient=patient["id"], code=procedure)
    days = {order["status"]: order["occurrenceDateTime"].replace("-", "") for order in orders}
    parties = describe_parties(ehr, patient)
    inquiry = build_authorization_inquiry(PartyQuery(**parties), RequestHeader("ASK1", sandboxes.now))
    events = ask(sandboxes, 1, inquiry).find_all("2000E")
    found = {}
    for event in events:
        if procedure in find_values(event, "2000F/SV1*1:2"):
            found[find_values(event, "2000F/DTP[1=472]*3")[0][:8]] = event
    revoked, kept = found[days["revoked"]], found[days["active"]]
    number = find_values(revoked, "HCR[1=A1]*2")[0]
    header = RequestHeader("CANCEL1", sandboxes.now)
    cancellation = AuthorizationQuery(**parties)
    ask(sandboxes, 2, build_authorization_request(cancellation, header, "cancel", authorization_number=number))
    return {
        "cancelled": number,
        "kept": find_values(kept, "HCR[1=A1]*2")[0],
        "kept_valid_to": read_day(kept, "036"),
    }


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
