"""A patch of two elements, on the version that was read."""

import re


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    [drug] = ehr.search("MedicationRequest", patient=patient["id"], status="active", code__text="warfarin")
    stopped = [
        {"op": "replace", "path": "/status", "value": "stopped"},
        {"op": "add", "path": "/statusReason", "value": {"text": "Bleeding"}},
    ]
    ehr.patch("MedicationRequest", drug["id"], stopped, if_match=drug["meta"]["versionId"])
    return {"id": drug["id"]}
