"""Ask the order safety service about draft orders of tests, and sign or revoke each."""

import re
from uuid import NAMESPACE_URL, uuid5

SERVICE, HOOK = "order-safety", "order-sign"


def on_task(task_item, sandboxes):
    ehr, advisor = sandboxes["ehr"], sandboxes["advisor"]
    [service] = [each for each in advisor.services() if each["id"] == SERVICE]
    user = re.search(r"Practitioner/[\w-]+", task_item["instruction"])[0]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    done = {"signed": [], "revoked": []}
    for order in ehr.search("ServiceRequest", patient=patient["id"], status="draft"):
        instance = str(uuid5(NAMESPACE_URL, order["id"]))
        context = {"userId": user, "patientId": patient["id"], "draftOrders": bundle([order], "collection")}
        cards = advisor.call_service(SERVICE, HOOK, instance, context, fetch(ehr, service, patient["id"]))
        reason = find_reason(order)
        if cards and reason is None:
            ehr.update({**order, "status": "revoked"})
        else:
            ehr.update({**order, "status": "active"})
        for card in cards:
            outcome = accept(card) if reason is None else override(reason)
            advisor.feedback(SERVICE, {"card": card["uuid"], "outcomeTimestamp": sandboxes.now.isoformat(), **outcome})
        done["revoked" if cards and reason is None else "signed"].append(order["id"])
    return done


def find_reason(order):
    """Return the note that says why a test is repeated; None without one."""
    return next((note["text"] for note in order.get("note", ()) if re.search(r"(?i)repeat|again", note["text"])), None)


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


def accept(card):
    """Return feedback that accepts the suggestion to cancel the order."""
    [cancel] = [each for each in card["suggestions"] if any(action["type"] == "delete" for action in each["actions"])]
    return {"outcome": "accepted", "acceptedSuggestions": [{"id": cancel["uuid"]}]}


def override(reason):
    """Return feedback that overrides a card for a reason."""
    return {"outcome": "overridden", "overrideReason": {"userComment": reason}}
