"""Ask for the benefits of an office visit on the day, and write the copay into the appointment."""

import re
from datetime import date

from clerkship.plugin.x12 import (
    EligibilityInquiry,
    OutgoingEnvelope,
    PersonQuery,
    RequestHeader,
    build_eligibility_request,
    find_values,
    parse_interchanges,
    render_requests,
    validate_set,
)


def on_task(task_item, sandboxes):
    ehr, clearing = sandboxes["ehr"], sandboxes["clearing"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    [visit] = ehr.search("Appointment", patient=patient["id"], date="2026-03-03", status="booked")
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
    [practice] = ehr.search("Organization", name="Riverbend Family Health Center")
    inquiry = EligibilityInquiry(
        payer_id=payer["identifier"][0]["value"],
        provider_id=practice["identifier"][0]["value"],
        subscriber=describe(patient, coverage["subscriberId"]),
        service_date=date(2026, 3, 3),
        service_types=("plan", "office_visit"),
    )
    request = build_eligibility_request([inquiry], RequestHeader("ELG1", sandboxes.now))
    reply = clearing.send(render_requests(OutgoingEnvelope("CLINIC01", "CLEARING01", 1, sandboxes.now), [request]))
    [answer] = [each for interchange in parse_interchanges(reply) for each in interchange.sets if each.code == "271"]
    tree = validate_set(answer).tree
    [copay] = find_values(tree, "EB[1=B][3=98][12=Y]*7")
    [remaining] = find_values(tree, "EB[1=C][2=IND][6=29]*7")
    plan = find_values(tree, "EB[1=1]*5")
    ehr.update({**visit, "comment": f"Copay {float(copay):.2f}"})
    return {
        "active": bool(plan),
        "plan": plan[0],
        "copay": float(copay),
        "deductible_remaining": float(remaining),
    }


def describe(patient, member_id=None):
    """Return a person of the chart for a question to a payer."""
    name = next(name for name in patient["name"] if name.get("use") == "official" or len(patient["name"]) == 1)
    return PersonQuery(
        member_id=member_id,
        family=name["family"],
        given=name["given"][0],
        birth_date=date.fromisoformat(patient["birthDate"]),
        gender=patient["gender"],
    )
