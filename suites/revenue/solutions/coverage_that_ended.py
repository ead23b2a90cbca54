"""Ask about the day of the visit; the payer states when the policy ended."""

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
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
    [practice] = ehr.search("Organization", name="Riverbend Family Health Center")
    inquiry = EligibilityInquiry(
        payer_id=payer["identifier"][0]["value"],
        provider_id=practice["identifier"][0]["value"],
        subscriber=describe(patient, coverage["subscriberId"]),
        service_date=date(2026, 3, 20),
    )
    request = build_eligibility_request([inquiry], RequestHeader("ELG2", sandboxes.now))
    reply = clearing.send(render_requests(OutgoingEnvelope("CLINIC01", "CLEARING01", 2, sandboxes.now), [request]))
    [answer] = [each for interchange in parse_interchanges(reply) for each in interchange.sets if each.code == "271"]
    tree = validate_set(answer).tree
    plan = find_values(tree, "EB*5")[0]
    if not find_values(tree, "EB[1=6]*1"):
        return {"covered": True, "last_day": None, "plan": plan}
    [ended] = find_values(tree, "2100C/DTP[1=347]*3")
    last_day = f"{ended[:4]}-{ended[4:6]}-{ended[6:]}"
    ehr.update({**coverage, "status": "cancelled", "period": {**coverage["period"], "end": last_day}})
    return {"covered": False, "last_day": last_day, "plan": plan}


def describe(patient, member_id):
    """Return a person of the chart for a question to a payer."""
    [name] = [name for name in patient["name"] if name.get("use") == "official" or len(patient["name"]) == 1]
    return PersonQuery(
        member_id=member_id,
        family=name["family"],
        given=name["given"][0],
        birth_date=date.fromisoformat(patient["birthDate"]),
        gender=patient["gender"],
    )
