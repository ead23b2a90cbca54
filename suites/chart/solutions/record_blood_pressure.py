"""One Observation, two components."""

import re

UCUM, LOINC = "http://unitsofmeasure.org", "http://loinc.org"


def on_task(task_item, sandboxes):
    ehr, told = sandboxes["ehr"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", told)[1])
    systolic, diastolic = map(int, re.search(r"(\d+) over (\d+)", told).groups())
    ehr.create(
        {
            "resourceType": "Observation",
            "status": "final",
            "category": [
                {
                    "coding": [
                        {
                            "system": "http://terminology.hl7.org/CodeSystem/observation-category",
                            "code": "vital-signs",
                        }
                    ]
                }
            ],
            "code": {"coding": [{"system": LOINC, "code": "85354-9"}], "text": "Blood pressure"},
            "subject": {"reference": f"Patient/{patient['id']}"},
            "effectiveDateTime": sandboxes.now.isoformat(),
            "component": [part("8480-6", systolic), part("8462-4", diastolic)],
        }
    )


def part(code, value):
    quantity = {"value": value, "unit": "mmHg", "system": UCUM, "code": "mm[Hg]"}
    return {"code": {"coding": [{"system": LOINC, "code": code}]}, "valueQuantity": quantity}
