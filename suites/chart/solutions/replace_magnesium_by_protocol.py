"""Mind the unit, then the table."""

import re

DOSE = {"value": 400, "unit": "mg", "system": "http://unitsofmeasure.org", "code": "mg"}


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    found = ehr.search(
        "Observation", patient=patient["id"], code="http://loinc.org|19123-9,http://loinc.org|2601-3", _sort="-date"
    )
    quantity = found[0]["valueQuantity"]
    level = quantity["value"] * (2.43 if quantity["code"] == "mmol/L" else 1)
    often = 0 if level >= 1.9 else 1 if level >= 1.5 else 2
    if often:
        ehr.create(
            {
                "resourceType": "MedicationRequest",
                "status": "active",
                "intent": "order",
                "subject": {"reference": f"Patient/{patient['id']}"},
                "medicationCodeableConcept": {
                    "coding": [{"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "198741"}],
                    "text": "magnesium oxide 400 mg",
                },
                "dosageInstruction": [
                    {
                        "timing": {"repeat": {"frequency": often, "period": 1, "periodUnit": "d"}},
                        "doseAndRate": [{"doseQuantity": DOSE}],
                    }
                ],
            }
        )
    return {"mg_per_dl": round(level, 1)}
