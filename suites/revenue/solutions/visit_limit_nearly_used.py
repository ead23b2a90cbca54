"""Ask how many visits of physical therapy are left, and request no more than those."""

import re
from datetime import date

from clerkship.plugin.x12 import (
    AuthorizationQuery,
    EligibilityInquiry,
    OutgoingEnvelope,
    PersonQuery,
    RequestedService,
    RequestHeader,
    build_authorization_request,
    build_eligibility_request,
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
    parties, day = describe_parties(ehr, patient), date.fromisoformat(order["occurrenceDateTime"])
    inquiry = EligibilityInquiry(**parties, service_date=day, service_types=("physical_therapy",))
    tree = ask(sandboxes, 1, build_eligibility_request([inquiry], RequestHeader("ELG1", sandboxes.now)), "271")
    limit, remaining = (int(find_values(tree, f"EB[1=F][6={period}]*10")[0]) for period in ("23", "29"))
    [copay] = find_values(tree, "EB[1=B][12=Y]*7")
    ordered = order["quantityQuantity"]["value"]
    service = RequestedService(procedure_code=procedure, quantity=min(ordered, remaining), start=day)
    diagnosis = order["reasonCode"][0]["coding"][0]["code"].replace(".", "")
    query = AuthorizationQuery(**parties, services=(service,), diagnoses=(diagnosis,))
    tree = ask(sandboxes, 2, build_authorization_request(query, RequestHeader("AUTH1", sandboxes.now)))
    answer = {"limit": limit, "remaining": remaining, "copay": float(copay)}
    number = next(iter(find_values(tree, "2000E/HCR[1=A1]*2")), None)
    if number is None:
        return {**answer, "number": None}
    days = f"{read_day(tree, '007')} to {read_day(tree, '036')}"
    note = f"Authorization {number} for {service.quantity} of {ordered} visits, valid {days}"
    ehr.update({**order, "note": [{"text": note}]})
    return {**answer, "number": number}


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
