"""Those of the past week, without the one that was a mistake."""

import re
from datetime import timedelta


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    since = (sandboxes.now - timedelta(days=7)).isoformat()
    query = {"patient": patient["id"], "code": "http://loinc.org|41653-7", "date": f"ge{since}"}
    found = ehr.search("Observation", query, status__not="entered-in-error")
    values = [reading["valueQuantity"]["value"] for reading in found]
    return round(sum(values) / len(values), 1)
