"""The latest value decides."""

import re
from datetime import timedelta

LOINC, RXNORM = "http://loinc.org", "http://www.nlm.nih.gov/research/umls/rxnorm"


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    query = {"patient": patient["id"], "code": f"{LOINC}|2823-3", "_sort": "-date", "_count": 1}
    value = ehr.bundle("Observation", query)["entry"][0]["resource"]["valueQuantity"]["value"]
    if value < 3.5:
        order(ehr, f"Patient/{patient['id']}", sandboxes.now)
    return {"potassium": value, "ordered": value < 3.5}


def order(ehr, patient, now):
    tomorrow = (now + timedelta(days=1)).date().isoformat()
    common = {"status": "active", "intent": "order", "subject": {"reference": patient}, "authoredOn": now.isoformat()}
    tablet = {"coding": [{"system": RXNORM, "code": "1801294"}], "text": "potassium chloride 20 mEq"}
    level = {"coding": [{"system": LOINC, "code": "2823-3"}], "text": "Potassium"}
    entries = [
        {"resourceType": "MedicationRequest", **common, "medicationCodeableConcept": tablet},
        {"resourceType": "ServiceRequest", **common, "code": level, "occurrenceDateTime": tomorrow},
    ]
    ehr.transaction(
        {
            "resourceType": "Bundle",
            "type": "transaction",
            "entry": [
                {"resource": entry, "request": {"method": "POST", "url": entry["resourceType"]}} for entry in entries
            ],
        }
    )
