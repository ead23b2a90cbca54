"""Ask about each day; two questions in one request, each with its own day."""

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

SUNDAY, TODAY = date(2026, 3, 1), date(2026, 3, 2)


def on_task(task_item, sandboxes):
    ehr, clearing = sandboxes["ehr"], sandboxes["clearing"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    [visit] = ehr.search("Appointment", patient=patient["id"], date=str(TODAY), status="booked")
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
    [practice] = ehr.search("Organization", name="Riverbend Family Health Center")
    person = PersonQuery(
        member_id=coverage["subscriberId"],
        family=patient["name"][0]["family"],
        given=patient["name"][0]["given"][0],
        birth_date=date.fromisoformat(patient["birthDate"]),
        gender=patient["gender"],
    )
    parties = {
        "payer_id": payer["identifier"][0]["value"],
        "provider_id": practice["identifier"][0]["value"],
        "subscriber": person,
    }
    inquiries = [EligibilityInquiry(**parties, service_date=day) for day in (SUNDAY, TODAY)]
    request = build_eligibility_request(inquiries, RequestHeader("ELG6", sandboxes.now))
    reply = clearing.send(render_requests(OutgoingEnvelope("CLINIC01", "CLEARING01", 6, sandboxes.now), [request]))
    [answer] = [each for interchange in parse_interchanges(reply) for each in interchange.sets if each.code == "271"]
    on_sunday, on_monday = validate_set(answer).tree.find_all("2000C")
    [ended] = find_values(on_monday, "2100C/DTP[1=347]*3")
    last_day = f"{ended[:4]}-{ended[4:6]}-{ended[6:]}"
    is_covered_today = not find_values(on_monday, "EB[1=6]*1")
    if not is_covered_today:
        ehr.update({**visit, "comment": f"Self-pay, coverage ended {last_day}"})
    return {
        "home_visit_covered": not find_values(on_sunday, "EB[1=6]*1"),
        "todays_visit_covered": is_covered_today,
        "last_day": last_day,
    }
