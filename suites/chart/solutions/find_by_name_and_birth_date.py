"""By name and birth date, whatever the instruction calls them; the MRN is the identifier of type MR."""

import re


def on_task(task_item, sandboxes):
    said = re.search(r"\(MRN\) of (.+), born (\S+)\?", task_item["instruction"])
    names = [("name", name) for name in said[1].split()]
    found = sandboxes["ehr"].search("Patient", [*names, ("birthdate", said[2])])
    return {"mrn": mrn_of(found[0]) if len(found) == 1 else None}


def mrn_of(patient):
    return next(i["value"] for i in patient["identifier"] if i["type"]["coding"][0]["code"] == "MR")
