"""Ask the order safety service about draft prescriptions, and sign or cancel each."""

import re
from uuid import NAMESPACE_URL, uuid5

SERVICE, HOOK = "order-safety", "order-sign"


def on_task(task_item, sandboxes):
    ehr, advisor = sandboxes["ehr"], sandboxes["advisor"]
    [service] = [each for each in advisor.services() if each["id"] == SERVICE]
    user = re.search(r"Practitioner/[\w-]+", task_item["instruction"])[0]
    done = {"signed": [], "cancelled": []}
    for mrn in re.findall(r"MRN (\d+)", task_item["instruction"]):
        [patient] = ehr.search("Patient", identifier=mrn)
        for order in ehr.search("MedicationRequest", patient=patient["id"], status="draft"):
            instance = str(uuid5(NAMESPACE_URL, order["id"]))
            context = {"userId": user, "patientId": patient["id"], "draftOrders": bundle([order], "collection")}
            cards = advisor.call_service(SERVICE, HOOK, instance, context, fetch(ehr, service, patient["id"]))
            critical = [card for card in cards if card["indicator"] == "critical"]
            if critical:
                reason = {"text": critical[0]["summary"]}
                ehr.update({**order, "status": "cancelled", "statusReason": reason})
                report(advisor, cards, sandboxes.now, accept)
            else:
                ehr.update({**order, "status": "active"})
                report(advisor, cards, sandboxes.now, override)
            done["cancelled" if critical else "signed"].append(order["id"])
    return {outcome: sorted(orders) for outcome, orders in done.items()}


def fetch(ehr, service, patient):
    """Return what the prefetch templates of the service ask for."""
    values = {}
    for key, template in service["prefetch"].items():
        type, _, query = template.replace("{{context.patientId}}", patient).partition("?")
        found = ehr.search(type, dict(pair.split("=") for pair in query.split("&")))
        values[key] = bundle(found, "searchset") if found else None
    return values


def bundle(resources, type):
    """Return a Bundle of resources."""
    return {"resourceType": "Bundle", "type": type, "entry": [{"resource": each} for each in resources]}


def report(advisor, cards, now, decide):
    """Tell the service what became of its cards."""
    if cards:
        advisor.feedback(SERVICE, *({**decide(card), "outcomeTimestamp": now.isoformat()} for card in cards))


def accept(card):
    """Return feedback that accepts the suggestion to cancel the order."""
    [cancel] = [each for each in card["suggestions"] if any(action["type"] == "delete" for action in each["actions"])]
    return {"card": card["uuid"], "outcome": "accepted", "acceptedSuggestions": [{"id": cancel["uuid"]}]}


def override(card):
    """Return feedback that overrides a card because of the benefit."""
    [reason] = [each for each in card["overrideReasons"] if each["code"] == "benefit"]
    return {"card": card["uuid"], "outcome": "overridden", "overrideReason": {"reason": reason}}
