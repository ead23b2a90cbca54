"""Three changes that belong together: one transaction."""

import re


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    today = f"ge{sandboxes.now.date()}"
    visit = ehr.search("Appointment", patient=patient["id"], status="booked", date=today, _sort="date")[0]
    old = ehr.read(*visit["slot"][0]["reference"].split("/"))
    schedule = old["schedule"]["reference"]
    query = {"schedule": schedule, "status": "free", "start": f"gt{old['start']}", "_sort": "start", "_count": 1}
    new = ehr.bundle("Slot", query)["entry"][0]["resource"]
    moved = {
        **visit,
        "start": new["start"],
        "end": new["end"],
        "slot": [{"reference": f"Slot/{new['id']}"}],
    }
    changed = [moved, {**old, "status": "free"}, {**new, "status": "busy"}]
    ehr.transaction({"resourceType": "Bundle", "type": "transaction", "entry": [put(one) for one in changed]})
    return {"start": new["start"]}


def put(resource):
    url = f"{resource['resourceType']}/{resource['id']}"
    unchanged = f'W/"{resource["meta"]["versionId"]}"'
    return {"resource": resource, "request": {"method": "PUT", "url": url, "ifMatch": unchanged}}
