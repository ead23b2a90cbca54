"""The birth date tells them apart."""

import re


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    said = re.match(r"(.+), born (\S+), was weighed: ([\d.]+) kg", task_item["instruction"])
    names = [("name", name) for name in said[1].split()]
    [patient] = ehr.search("Patient", [*names, ("birthdate", said[2])])
    ehr.create(
        {
            "resourceType": "Observation",
            "status": "final",
            "code": {"coding": [{"system": "http://loinc.org", "code": "29463-7"}], "text": "Body weight"},
            "subject": {"reference": f"Patient/{patient['id']}"},
            "effectiveDateTime": sandboxes.now.isoformat(),
            "valueQuantity": {
                "value": float(said[3]),
                "unit": "kg",
                "system": "http://unitsofmeasure.org",
                "code": "kg",
            },
        }
    )
