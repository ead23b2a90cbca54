"""The schedule's free slots in order of time; both changes in one transaction, and only if the slot is still free."""

import re


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    said = re.search(r"MRN (\d+)\).* of ([^,]+?)(?:, MD)? on or after (\S+):", task_item["instruction"], re.DOTALL)
    [patient] = ehr.search("Patient", identifier=said[1])
    names = [("actor:Practitioner.name", name) for name in said[2].split()]
    [schedule] = ehr.search("Schedule", names)
    query = {"schedule": schedule["id"], "status": "free", "start": f"ge{said[3]}", "_sort": "start", "_count": 1}
    slot = ehr.bundle("Slot", query)["entry"][0]["resource"]
    doctor = next(actor for actor in schedule["actor"] if actor["reference"].startswith("Practitioner/"))
    appointment = {
        "resourceType": "Appointment",
        "status": "booked",
        "slot": [{"reference": f"Slot/{slot['id']}"}],
        "start": slot["start"],
        "end": slot["end"],
        "participant": [
            {"actor": {"reference": f"Patient/{patient['id']}"}, "status": "accepted"},
            {"actor": {"reference": doctor["reference"]}, "status": "accepted"},
        ],
    }
    taken = {**slot, "status": "busy"}
    unchanged = f'W/"{slot["meta"]["versionId"]}"'
    ehr.transaction(
        {
            "resourceType": "Bundle",
            "type": "transaction",
            "entry": [
                {"resource": appointment, "request": {"method": "POST", "url": "Appointment"}},
                {
                    "resource": taken,
                    "request": {"method": "PUT", "url": f"Slot/{slot['id']}", "ifMatch": unchanged},
                },
            ],
        }
    )
    return {"start": slot["start"]}
