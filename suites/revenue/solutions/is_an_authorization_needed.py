"""Ask whether procedures need an authorization, without requesting one."""

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
    ehr, instruction = sandboxes["ehr"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    codes = re.findall(r"CPT (\w+)", instruction)
    inquiry = EligibilityInquiry(
        **describe_parties(ehr, patient), service_date=date(2026, 3, 9), procedure_codes=tuple(codes)
    )
    tree = ask(sandboxes, 1, build_eligibility_request([inquiry], RequestHeader("ELG1", sandboxes.now)), "271")
    [remaining] = find_values(tree, "EB[1=C][2=IND][6=29]*7")
    return {
        "needs_authorization": [code for code in codes if "Y" in find_values(tree, f"EB[13:2={code}]*11")],
        "plan": find_values(tree, "EB[1=1]*5")[0],
        "deductible_remaining": float(remaining),
    }


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
