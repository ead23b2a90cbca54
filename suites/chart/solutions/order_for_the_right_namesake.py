"""Of those with the name, the one with the age."""

import re
from datetime import date


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    said = re.search(r"for (\S+) (\S+), the one who is (\d+)", task_item["instruction"].replace("\n", " "))
    today = sandboxes.now.date()
    found = ehr.search("Patient", given=said[1], family=said[2])
    [patient] = [one for one in found if age(one, today) == int(said[3])]
    ehr.create(
        {
            "resourceType": "ServiceRequest",
            "status": "active",
            "intent": "order",
            "code": {"coding": [{"system": "http://loinc.org", "code": "24331-1"}], "text": "Lipid panel"},
            "subject": {"reference": f"Patient/{patient['id']}"},
            "authoredOn": sandboxes.now.isoformat(),
        }
    )
    return {"mrn": next(i["value"] for i in patient["identifier"] if i["type"]["coding"][0]["code"] == "MR")}


def age(patient, today):
    born = date.fromisoformat(patient["birthDate"])
    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))
