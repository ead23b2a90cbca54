"""In the old one's place, or at the end."""

import re


def on_task(task_item, sandboxes):
    ehr, told = sandboxes["ehr"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", told)[1])
    number = re.search(r"mobile number: (.+?)\. The", told)[1]
    kept = patient["telecom"]
    at = next((n for n, one in enumerate(kept) if (one["system"], one.get("use")) == ("phone", "mobile")), None)
    place = "/telecom/-" if at is None else f"/telecom/{at}"
    new = {"system": "phone", "use": "mobile", "value": number}
    operation = {"op": "add" if at is None else "replace", "path": place, "value": new}
    ehr.patch("Patient", patient["id"], [operation], if_match=patient["meta"]["versionId"])
