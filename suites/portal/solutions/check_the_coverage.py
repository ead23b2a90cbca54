"""Look up on the payer portal whether a member is covered on the day of a service."""

import re
from datetime import date, datetime


def on_task(task_item, sandboxes):
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    [order] = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
    portal.sign_in()
    portal.open("/members")
    member = {
        "payer": payer["identifier"][0]["value"],
        "member_id": coverage["subscriberId"],
        "birth_date": f"{date.fromisoformat(patient['birthDate']):%m/%d/%Y}",
    }
    portal.send("Find member", member)
    period = re.search(r"(\d\d/\d\d/\d{4}) (?:to|–|-|through) (\d\d/\d\d/\d{4})", portal.page.text)
    last = datetime.strptime(period[2], "%m/%d/%Y").date()
    is_covered = last >= date.fromisoformat(order["occurrenceDateTime"])
    return {"covered": is_covered, "last_day": f"{last}", "reference": None}
