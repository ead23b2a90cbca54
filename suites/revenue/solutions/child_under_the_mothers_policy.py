"""The mother is the subscriber (HL 22), the child the patient (HL 23)."""

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
    given, family = coverage["subscriber"]["display"].split()
    inquiry = EligibilityInquiry(
        payer_id=payer["identifier"][0]["value"],
        provider_id=practice["identifier"][0]["value"],
        subscriber=PersonQuery(member_id=coverage["subscriberId"], family=family, given=given),
        dependent=PersonQuery(
            family=patient["name"][0]["family"],
            given=patient["name"][0]["given"][0],
            birth_date=date.fromisoformat(patient["birthDate"]),
            gender=patient["gender"],
        ),
        service_date=date(2026, 3, 18),
    )
    request = build_eligibility_request([inquiry], RequestHeader("ELG5", sandboxes.now))
    reply = clearing.send(render_requests(OutgoingEnvelope("CLINIC01", "CLEARING01", 5, sandboxes.now), [request]))
    [answer] = [each for interchange in parse_interchanges(reply) for each in interchange.sets if each.code == "271"]
    tree = validate_set(answer).tree
    plan = find_values(tree, "2110D/EB[1=1]*5")
    [copay] = find_values(tree, "2110D/EB[1=B][3=98][12=Y]*7")
    [own] = find_values(tree, "2110D/EB[1=C][2=IND][6=29]*7")
    [of_family] = find_values(tree, "2110D/EB[1=C][2=FAM][6=29]*7")
    return {
        "active": bool(plan),
        "plan": plan[0],
        "copay": float(copay),
        "deductible_remaining": float(own),
        "family_deductible_remaining": float(of_family),
    }
