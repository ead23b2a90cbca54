"""Other ways to file a result."""

from clerkship.plugin import override_methods

TERMINOLOGY = "http://terminology.hl7.org/CodeSystem"


def file_with_report(task_item, sandboxes, reference):
    """File everything in the message, with a report."""

    def create(original, resource):
        low, high = ({"value": value, "unit": "mmol/L"} for value in (3.5, 5.1))
        category = {"system": f"{TERMINOLOGY}/observation-category", "code": "laboratory"}
        flag = {"system": f"{TERMINOLOGY}/v3-ObservationInterpretation", "code": "H"}
        more = {
            "category": [{"coding": [category], "text": "Laboratory"}],
            "issued": "2026-03-02T08:30:00-05:00",
            "performer": [{"reference": "Organization/org-lab", "display": "Stonegate Clinical Laboratory"}],
            "interpretation": [{"coding": [flag], "text": "High"}],
            "referenceRange": [{"low": low, "high": high, "text": "3.5-5.1 mmol/L"}],
            "note": [{"text": "Potassium 5.9 mmol/L (reference 3.5-5.1), filed from message SG0302-0117."}],
        }
        created = original(resource | more)
        report = {key: resource[key] for key in ("status", "code", "subject", "effectiveDateTime")}
        result = [{"reference": f"Observation/{created['id']}"}]
        conclusion = "Potassium is high"
        return original({"resourceType": "DiagnosticReport", **report, "result": result, "conclusion": conclusion})

    return reference(task_item, override_methods(sandboxes, {"ehr.create": create}))
