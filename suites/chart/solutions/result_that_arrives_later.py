"""Looks, waits ten minutes, looks again."""

import re

CODE = "http://loinc.org|2823-3"


def on_task(task_item, sandboxes):
    ehr, today = sandboxes["ehr"], sandboxes.now.date()
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    query = {"patient": patient["id"], "code": CODE, "date": f"ge{today}", "status": "final"}
    while not (found := ehr.search("Observation", query)):
        sandboxes.wait("10m")
    value = found[0]["valueQuantity"]["value"]
    if value < 3.5:
        ehr.create(
            {
                "resourceType": "MedicationRequest",
                "status": "active",
                "intent": "order",
                "subject": {"reference": f"Patient/{patient['id']}"},
                "medicationCodeableConcept": {
                    "coding": [{"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "1801294"}],
                    "text": "potassium chloride 20 mEq",
                },
            }
        )
    return {"potassium": value, "ordered": value < 3.5}
