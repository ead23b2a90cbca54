"""Ask the payer portal whether a plan needs an authorization for what is ordered."""

import re
from datetime import date


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
    plan = re.search(r"Evergreen Senior \w+", portal.page.text)[0]
    number = portal.page.path.rpartition("/")[2]
    portal.open("/authorization-check", {"member": number, "code": order["code"]["coding"][0]["code"]})
    is_needed = "No authorization is needed" not in portal.page.text
    return {"needed": is_needed, "plan": plan, "reference": None}
