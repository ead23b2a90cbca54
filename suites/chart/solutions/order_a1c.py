"""How old the last result is, and whether the next is under way."""

import re
from datetime import datetime, timedelta

CODE = "http://loinc.org|4548-4"


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    results = ehr.search("Observation", patient=patient["id"], code=CODE, _sort="-date")
    last = results[0]["effectiveDateTime"]
    overdue = sandboxes.now - datetime.fromisoformat(last) > timedelta(days=92)
    under_way = ehr.search("ServiceRequest", patient=patient["id"], code=CODE, status="active")
    if overdue and not under_way:
        ehr.create(
            {
                "resourceType": "ServiceRequest",
                "status": "active",
                "intent": "order",
                "code": {"coding": [{"system": "http://loinc.org", "code": "4548-4"}], "text": "Hemoglobin A1c"},
                "subject": {"reference": f"Patient/{patient['id']}"},
                "authoredOn": sandboxes.now.isoformat(),
            }
        )
    return {"last": last[:10], "ordered": overdue and not under_way}
