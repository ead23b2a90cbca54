"""The birth date tells the two apart, in the chart and for the payer."""

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
    given, family, born = re.match(r"\s*(\w+) (\w+), born ([\d-]+)", task_item["instruction"]).groups()
    [patient] = ehr.search("Patient", family=family, given=given, birthdate=born)
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    [visit] = ehr.search("Appointment", patient=patient["id"], date="ge2026-03-02", status="booked")
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
    [practice] = ehr.search("Organization", name="Riverbend Family Health Center")
    person = PersonQuery(
        member_id=coverage["subscriberId"],
        family=family,
        given=given,
        birth_date=date.fromisoformat(born),
        gender=patient["gender"],
    )
    inquiry = EligibilityInquiry(
        payer_id=payer["identifier"][0]["value"],
        provider_id=practice["identifier"][0]["value"],
        subscriber=person,
        service_date=date.fromisoformat(visit["start"][:10]),
        service_types=("office_visit",),
    )
    request = build_eligibility_request([inquiry], RequestHeader("ELG4", sandboxes.now))
    reply = clearing.send(render_requests(OutgoingEnvelope("CLINIC01", "CLEARING01", 4, sandboxes.now), [request]))
    [answer] = [each for interchange in parse_interchanges(reply) for each in interchange.sets if each.code == "271"]
    tree = validate_set(answer).tree
    [copay] = find_values(tree, "EB[1=B][3=98][12=Y]*7")
    [remaining] = find_values(tree, "EB[1=G][2=IND][6=29]*7")
    ehr.update({**visit, "comment": f"Copay {float(copay):.2f}"})
    return {
        "member_id": coverage["subscriberId"],
        "plan": find_values(tree, "EB[1=1]*5")[0],
        "copay": float(copay),
        "out_of_pocket_remaining": float(remaining),
    }
