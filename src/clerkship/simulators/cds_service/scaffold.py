"""The scaffold of a new task with CDS services that the agent calls."""

from clerkship.simulators.spec import TaskScaffold

SCAFFOLD = TaskScaffold(
    task_item="""\
instruction: >-
  Patient pat-1 takes warfarin 5 mg. You are about to sign an order of ibuprofen 600 mg as Practitioner/doc-1. Ask the
  CDS service order-safety first. If it suggests to cancel the order, accept that.
""",
    criteria="""\
- label: The service was asked
  # If a gate fails, the task fails, whatever the other criteria say.
  gate: true
  assertion:
    event_occurred: {event: cds_service.called, sandbox: «sandbox», where: {service: order-safety}}
- label: The suggestion was accepted
  weight: 1
  assertion:
    event_occurred: {event: cds_service.feedback.received, sandbox: «sandbox», where: {outcome: accepted}}
""",
    solution="""\
def bundle(*resources):
    return {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": each} for each in resources]}

def prescription(id, status, drug):
    subject, concept = {"reference": "Patient/pat-1"}, {"text": drug}
    return {"resourceType": "MedicationRequest", "id": id, "status": status, "intent": "order", "subject": subject,
            "medicationCodeableConcept": concept}

services = sandboxes[«sandbox»]
order = prescription("draft-1", "draft", "ibuprofen 600 mg")
context = {"userId": "Practitioner/doc-1", "patientId": "pat-1", "draftOrders": bundle(order)}
prefetch = {"allergies": None, "medications": bundle(prescription("m-1", "active", "warfarin 5 mg")), "orders": None}
instance = "0f5b8f2e-3c5d-4b7a-9a51-6f1f4f0e7c11"
[card] = services.call_service("order-safety", "order-sign", instance, context, prefetch)
accepted = [{"id": card["suggestions"][0]["uuid"]}]
services.feedback("order-safety", {"card": card["uuid"], "outcome": "accepted", "acceptedSuggestions": accepted,
                                   "outcomeTimestamp": "2026-03-02T09:00:00Z"})
""",
)
