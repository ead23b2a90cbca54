"""Two have that name: it is not for us to guess."""

import re


def on_task(task_item, sandboxes):
    name = re.search(r"appointment of (.+?)\. If", task_item["instruction"])[1]
    found = sandboxes["ehr"].search("Patient", [("name", part) for part in name.split()])
    return {"status": "ambiguous", "candidates": [mrn_of(patient) for patient in found]}


def mrn_of(patient):
    return next(i["value"] for i in patient["identifier"] if i["type"]["coding"][0]["code"] == "MR")
