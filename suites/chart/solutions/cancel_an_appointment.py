"""Patch both: what is not named stays as it is."""

import re

REASONS = "http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason"


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    said = re.match(r"(.+?), born (\S+), is moving", task_item["instruction"])
    [patient] = ehr.search("Patient", [*(("name", n) for n in said[1].split()), ("birthdate", said[2])])
    today = f"ge{sandboxes.now.date()}"
    [visit] = ehr.search("Appointment", patient=patient["id"], status="booked", date=today)
    reason = {"coding": [{"system": REASONS, "code": "pat"}]}
    cancelled = [
        {"op": "replace", "path": "/status", "value": "cancelled"},
        {"op": "add", "path": "/cancelationReason", "value": reason},
    ]
    ehr.patch("Appointment", visit["id"], cancelled)
    freed = [{"op": "replace", "path": "/status", "value": "free"}]
    for slot in visit["slot"]:
        ehr.patch("Slot", slot["reference"].split("/")[1], freed)
