"""Suggest to stop lisinopril when losartan is signed, and report what the clinicians decided."""

from clerkship.plugin.cds_hooks import describe_service

PREFETCH = {
    "active": "MedicationRequest?patient={{context.patientId}}&status=active",
    "patient": "Patient/{{context.patientId}}",
}


def on_task(task_item, sandboxes):
    patients, decisions = {}, {}

    def check(request):
        """Suggests to stop lisinopril when losartan is signed."""
        orders = list_resources(request["context"]["draftOrders"])
        active = list_resources(request["prefetch"]["active"])
        stopped = [each for each in active if "lisinopril" in describe_drug(each)]
        if not stopped or not any("losartan" in describe_drug(order) for order in orders):
            return []
        patients[request["hookInstance"]] = find_mrn(request["prefetch"]["patient"])
        return [build_card(request["hookInstance"], stopped)]

    def take_feedback(_, feedback):
        decisions.update({each["card"]: each for each in feedback})

    with sandboxes["hooks"].serve([describe_service("order-sign", check, prefetch=PREFETCH)], take_feedback):
        sandboxes.wait("1h")
    accepted = [patients[card] for card, each in decisions.items() if each["outcome"] == "accepted"]
    overridden = {
        patients[card]: each["overrideReason"]["userComment"]
        for card, each in decisions.items()
        if each["outcome"] == "overridden"
    }
    return {"accepted": accepted, "overridden": overridden}


def list_resources(bundle):
    """Return the resources of a Bundle; none without one."""
    return [entry["resource"] for entry in (bundle or {}).get("entry", ())]


def describe_drug(prescription):
    """Return all texts of a prescription's drug, in small letters."""
    drug = prescription.get("medicationCodeableConcept", {})
    texts = [drug.get("text", ""), *(coding.get("display", "") for coding in drug.get("coding", ()))]
    return " ".join(texts).lower()


def find_mrn(patient):
    """Return the record number of a patient."""
    return next(
        each["value"]
        for each in patient["identifier"]
        if any(coding["code"] == "MR" for coding in each.get("type", {}).get("coding", ()))
    )


def build_card(uuid, prescriptions):
    """Return a card with the suggestion to stop prescriptions."""
    actions = [
        {
            "type": "update",
            "description": "Stop lisinopril",
            "resource": {**each, "status": "stopped", "statusReason": {"text": "Replaced by losartan"}},
        }
        for each in prescriptions
    ]
    suggestion = {"label": "Stop lisinopril", "uuid": f"stop-{uuid}", "isRecommended": True, "actions": actions}
    return {
        "uuid": uuid,
        "summary": "Losartan replaces lisinopril, which is still active",
        "indicator": "warning",
        "source": {"label": "Riverbend order safety"},
        "selectionBehavior": "at-most-one",
        "suggestions": [suggestion],
    }
