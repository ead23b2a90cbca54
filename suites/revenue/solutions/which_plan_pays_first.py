"""Ask both payers; each states whether the other pays before or after it."""

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
    coverages = {each["subscriberId"]: each for each in ehr.search("Coverage", patient=patient["id"], status="active")}
    [practice] = ehr.search("Organization", name="Riverbend Family Health Center")
    answers = {}
    for number, (member_id, coverage) in enumerate(coverages.items(), 1):
        payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
        inquiry = EligibilityInquiry(
            payer_id=payer["identifier"][0]["value"],
            provider_id=practice["identifier"][0]["value"],
            subscriber=describe(patient, member_id),
            service_date=sandboxes.now.date(),
        )
        request = build_eligibility_request([inquiry], RequestHeader(f"COB{number}", sandboxes.now))
        envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", 30 + number, sandboxes.now)
        answers[member_id] = read_answer(clearing.send(render_requests(envelope, [request])))
    [first] = [id for id, tree in answers.items() if messages(tree) == ["Secondary payer"]]
    [second] = [id for id in coverages if id != first]
    for order, member_id in enumerate((first, second), 1):
        if coverages[member_id].get("order") != order:
            ehr.update({**coverages[member_id], "order": order})
    key, code = (
        ("deductible_remaining", "C") if "deductible" in task_item["instruction"] else ("out_of_pocket_remaining", "G")
    )
    [remaining] = find_values(answers[first], f"EB[1={code}][2=IND][6=29]*7")
    return {
        "first": first,
        "second": second,
        "first_plan": find_values(answers[first], "EB[1=1]*5")[0],
        key: float(remaining),
    }


def read_answer(reply):
    """Return the loops of the 271 in a reply."""
    [answer] = [each for interchange in parse_interchanges(reply) for each in interchange.sets if each.code == "271"]
    return validate_set(answer).tree


def messages(tree):
    """Return what the payer says about other payers, in words."""
    loops = [loop for loop in tree.find_all("2110C") if find_values(loop, "EB[1=R]*1")]
    return [text for loop in loops for text in find_values(loop, "MSG*1")]


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
