"""Find the open request for what is ordered among the requests of a patient."""

import re
from datetime import date


def on_task(task_item, sandboxes):
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    [order] = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    code, day = order["code"]["coding"][0]["code"], date.fromisoformat(order["occurrenceDateTime"])
    portal.sign_in()
    portal.open("/requests", {"member_id": coverage["subscriberId"]})
    links = dict.fromkeys(
        re.findall(r"/requests/(R\d+)$", "\n".join(path for path, _ in portal.page.links), re.MULTILINE)
    )
    for reference in links:
        portal.open(f"/requests/{reference}")
        text = portal.page.text
        if code in text and f"{day:%m/%d/%Y}" in text and "In review" in text:
            return {"filed": False, "reference": reference, "status": "in review"}
    raise LookupError("there is no open request")
