"""`family` finds every name a person has had; the birth date says which of them is meant."""

import re


def on_task(task_item, sandboxes):
    said = re.search(r"record of (\S+) (\S+), born (\S+)\.", task_item["instruction"].replace("\n", " "))
    [patient] = sandboxes["ehr"].search("Patient", given=said[1], family=said[2], birthdate=said[3])
    today = next(name for name in patient["name"] if name.get("use") == "official")
    mrn = next(i["value"] for i in patient["identifier"] if i["type"]["coding"][0]["code"] == "MR")
    return {"family": today["family"], "mrn": mrn}
