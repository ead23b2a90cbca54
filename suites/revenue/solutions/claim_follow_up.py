"""Ask for the status of a claim (276), and leave a Task for what the office does next."""

import csv
import re
from datetime import date
from io import StringIO

from clerkship.plugin.x12 import (
    ClaimQuery,
    OutgoingEnvelope,
    PartyQuery,
    PersonQuery,
    RequestHeader,
    build_authorization_inquiry,
    build_claim_status_request,
    find_values,
    parse_interchanges,
    render_requests,
    validate_set,
)

NOTES, MISSING_AUTHORIZATION, UNKNOWN_CLAIM = "297", "84", "35"
"""STC01-2: what the payer waits for, why it denied a claim, or that it has none."""


def on_task(task_item, sandboxes):
    ehr, drop = sandboxes["ehr"], sandboxes["drop"]
    account = re.search(r"claim (C\d+)", task_item["instruction"])[1]
    [claim] = ehr.search("Claim", identifier=account)
    patient = ehr.read(*claim["patient"]["reference"].split("/"))
    coverage = ehr.read(*claim["insurance"][0]["coverage"]["reference"].split("/"))
    payer = ehr.read(*claim["insurer"]["reference"].split("/"))
    [practice] = ehr.search("Organization", name="Riverbend Family Health Center")
    first_day, last_day = (date.fromisoformat(claim["billablePeriod"][end]) for end in ("start", "end"))
    query = ClaimQuery(
        payer_id=payer["identifier"][0]["value"],
        provider_id=practice["identifier"][0]["value"],
        subscriber=describe(patient, coverage["subscriberId"]),
        account=account,
        start=first_day,
        end=last_day,
    )
    answer = exchange(sandboxes, 31, build_claim_status_request([query], RequestHeader("STATUS1", sandboxes.now)))
    [found] = answer.find_all("2200D")
    category, status = find_values(found, "2200D/STC*1:1")[0], find_values(found, "2200D/STC*1:2")[0]
    if (category, status) == ("D0", UNKNOWN_CLAIM):
        leave_task(ehr, claim, "File claim", f"{account} was not received")
        return {"status": "not on file", "claim_number": None, "status_date": None, "paid": 0}
    [number] = find_values(found, "2200D/REF[1=1K]*2")
    result = {
        "claim_number": number,
        "status_date": to_iso(find_values(found, "2200D/STC*2")[0]),
        "paid": float(find_values(found, "2200D/STC*5")[0]),
    }
    if category == "F1":
        [payment] = find_values(found, "2200D/STC*9")
        leave_task(ehr, claim, "Bill patient", f"Patient owes {find_debt(drop, number, payment):.2f} after {payment}")
        return {"status": "paid", **result}
    if category == "F2" and status == MISSING_AUTHORIZATION:
        authorization = find_authorization(sandboxes, query, claim)
        leave_task(ehr, claim, "Correct claim", f"Authorization {authorization} for {number}")
        return {"status": "denied", **result}
    if status == NOTES:
        leave_task(ehr, claim, "Send notes", f"Notes of {first_day} for {number}")
        return {"status": "pended", **result}
    return {"status": "in process", **result}


def exchange(sandboxes, number, request):
    """Send a request and return the loops of its answer."""
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", number, sandboxes.now)
    reply = sandboxes["clearing"].send(render_requests(envelope, [request]))
    sets = [each for interchange in parse_interchanges(reply) for each in interchange.sets]
    [answer] = [each for each in sets if each.code in ("277", "278")]
    return validate_set(answer).tree


def find_authorization(sandboxes, query, claim):
    """Return the number of the approved authorization for the service and the day of a claim."""
    parties = PartyQuery(payer_id=query.payer_id, provider_id=query.provider_id, subscriber=query.subscriber)
    answer = exchange(sandboxes, 32, build_authorization_inquiry(parties, RequestHeader("AUTHS1", sandboxes.now)))
    code, day = claim["item"][0]["productOrService"]["coding"][0]["code"], f"{query.start:%Y%m%d}"
    [number] = [
        find_values(event, "HCR*2")[0]
        for event in answer.find_all("2000E")
        if find_values(event, "HCR*1")[0] == "A1"
        and code in find_values(event, "SV1*1:2")
        and find_values(event, "DTP[1=007]*3")[0] <= day <= find_values(event, "DTP[1=036]*3")[0]
    ]
    return number


def find_debt(drop, number, payment):
    """Return what the patient owes of a claim after a payment, by the remittance lists."""
    texts = [drop.read_text(path) for path in drop.list("inbound") if path.endswith(".csv")]
    rows = [row for text in texts for row in csv.DictReader(StringIO(text))]
    return sum(
        float(row["amount"])
        for row in rows
        if (row["claim_number"], row["payment_number"], row["group"]) == (number, payment, "patient_responsibility")
    )


def leave_task(ehr, claim, code, description):
    """Write what the office has to do about a claim."""
    ehr.create(
        {
            "resourceType": "Task",
            "status": "requested",
            "intent": "order",
            "code": {"text": code},
            "description": description,
            "focus": {"reference": f"Claim/{claim['id']}"},
            "for": {"reference": claim["patient"]["reference"]},
        }
    )


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


def to_iso(day):
    """Return a day of X12 as the chart writes it."""
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"
