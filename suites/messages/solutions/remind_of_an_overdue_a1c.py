"""Remind clinicians of an overdue A1c, and suggest the order."""

from datetime import datetime, timedelta

from clerkship.plugin.cds_hooks import describe_service

A1C = "http://loinc.org|4548-4"
PREFETCH = {
    "diabetes": "Condition?patient={{context.patientId}}&code=http://snomed.info/sct|44054006&clinical-status=active",
    "results": f"Observation?patient={{{{context.patientId}}}}&code={A1C}&status=final",
    "orders": f"ServiceRequest?patient={{{{context.patientId}}}}&code={A1C}&status=active",
}
MAX_AGE = timedelta(days=90)


def on_task(_, sandboxes):
    def check(request):
        """Reminds of an overdue A1c."""
        diabetes, results, orders = (list_resources(request["prefetch"][key]) for key in PREFETCH)
        days = [datetime.fromisoformat(result["effectiveDateTime"]) for result in results]
        is_recent = bool(days) and sandboxes.now - max(days) <= MAX_AGE
        if not diabetes or orders or is_recent:
            return []
        return [build_card(request["context"], f"last result {max(days):%Y-%m-%d}" if days else "no result yet")]

    with sandboxes["hooks"].serve([describe_service("patient-view", check, prefetch=PREFETCH)]):
        sandboxes.wait("1h")


def list_resources(bundle):
    """Return the resources of a Bundle; none without one."""
    return [entry["resource"] for entry in (bundle or {}).get("entry", ())]


def build_card(context, state):
    """Return the reminder, with a suggestion that creates the order."""
    order = {
        "resourceType": "ServiceRequest",
        "status": "active",
        "intent": "order",
        "code": {"coding": [{"system": "http://loinc.org", "code": "4548-4"}], "text": "Hemoglobin A1c"},
        "subject": {"reference": f"Patient/{context['patientId']}"},
        "requester": {"reference": context["userId"]},
    }
    action = {"type": "create", "description": "Order a Hemoglobin A1c", "resource": order}
    return {
        "summary": f"Hemoglobin A1c is overdue: {state}",
        "indicator": "info",
        "source": {"label": "Riverbend diabetes care"},
        "selectionBehavior": "at-most-one",
        "suggestions": [{"label": "Order the test", "isRecommended": True, "actions": [action]}],
    }
