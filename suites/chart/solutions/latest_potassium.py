"""Newest first, within the window; the first is it."""

import re
from datetime import timedelta


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    said = re.search(r"LOINC ([\d-]+)\).*MRN (\d+)", task_item["instruction"], re.DOTALL)
    [patient] = ehr.search("Patient", identifier=said[2])
    since = (sandboxes.now - timedelta(days=365)).date()
    code = f"http://loinc.org|{said[1]}"
    found = ehr.search("Observation", patient=patient["id"], code=code, date=f"ge{since}", _sort="-date", _count=1)
    if not found:
        return {"value": None}
    quantity = found[0]["valueQuantity"]
    return {"value": quantity["value"], "unit": quantity["unit"], "date": found[0]["effectiveDateTime"][:10]}
