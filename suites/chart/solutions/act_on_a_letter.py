"""The newest letter; of the tests it names, the one that is still needed."""

import base64
import re


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    letter = ehr.search("DocumentReference", patient=patient["id"], _sort="-date")[0]
    text = base64.b64decode(letter["content"][0]["attachment"]["data"]).decode()
    code = re.search(r"still need.*?LOINC ([\d-]+)", text)[1]
    ehr.create(
        {
            "resourceType": "ServiceRequest",
            "status": "active",
            "intent": "order",
            "priority": "urgent" if "urgent" in text else "routine",
            "code": {"coding": [{"system": "http://loinc.org", "code": code}]},
            "subject": {"reference": f"Patient/{patient['id']}"},
            "authoredOn": sandboxes.now.isoformat(),
            "supportingInfo": [{"reference": f"DocumentReference/{letter['id']}"}],
        }
    )
    return {"code": code}
