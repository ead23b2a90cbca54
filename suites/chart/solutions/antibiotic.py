"""Allergies first; penicillin V, amoxicillin and the class itself all mean a penicillin."""

import re

PENICILLINS = {"7984", "723", "733", "70618", "764146003", "91936005"}


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    found = ehr.search("AllergyIntolerance", {"patient": patient["id"], "clinical-status": "active"})
    codes = {coding["code"] for allergy in found for coding in allergy["code"]["coding"]}
    drug, code = ("doxycycline", "1649988") if codes & PENICILLINS else ("amoxicillin", "308191")
    ehr.create(
        {
            "resourceType": "MedicationRequest",
            "status": "active",
            "intent": "order",
            "subject": {"reference": f"Patient/{patient['id']}"},
            "medicationCodeableConcept": {
                "coding": [{"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": code}],
                "text": drug,
            },
        }
    )
    return {"drug": drug}
