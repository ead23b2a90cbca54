"""By `telecom`, as it is written."""

import re


def on_task(task_item, sandboxes):
    number = re.search(r"calling from (.+?)\. Whose", task_item["instruction"])[1]
    [patient] = sandboxes["ehr"].search("Patient", telecom=number)
    mrn = next(i["value"] for i in patient["identifier"] if i["type"]["coding"][0]["code"] == "MR")
    return {"mrn": mrn, "name": patient["name"][0]["text"], "birth_date": patient["birthDate"]}
