"""Find the drug, compare it with allergies and other drugs, and queue the refill or pass the request on."""

import re

CLASSES = (r"cillin\b", r"pril\b", r"ibuprofen|naproxen|aspirin", r"^sulfa")
"""Names of drugs of one class."""
PAIRS = (
    (r"warfarin", r"ibuprofen|naproxen|aspirin"),
    (r"simvastatin", r"amlodipine"),
    (r"potassium chloride", r"pril\b|spironolactone"),
)
"""Drugs that must not be refilled beside each other."""


def on_task(task_item, sandboxes):
    ehr, inbox = sandboxes["ehr"], sandboxes["inbox"]
    [listed] = inbox.inbox(channel="portal")
    message = inbox.read(listed["id"])
    patient = ehr.read(*message["from"].split("/"))
    clinician = patient["generalPractitioner"][0]
    allergies = ehr.search("AllergyIntolerance", patient=patient["id"], **{"clinical-status": "active"})
    drugs = ehr.search("MedicationRequest", patient=patient["id"], status="active")
    [drug] = [each for each in drugs if name_of(each).split()[0] in message["text"].lower()]
    name = re.sub(r" [\d.]+ .*", "", name_of(drug))
    reason = find_reason(name, allergies, [each for each in drugs if each is not drug])
    if reason:
        ehr.create(
            {
                "resourceType": "Task",
                "status": "requested",
                "intent": "order",
                "code": {"text": "Refill review"},
                "description": f"Refill of {name} asked for on the portal: {reason}",
                "for": {"reference": message["from"]},
                "focus": {"reference": f"MedicationRequest/{drug['id']}"},
                "owner": {"reference": clinician["reference"]},
            }
        )
        inbox.reply(message["id"], f"Thank you for your message. {clinician['display']} will look at your request.")
        return {"drug": name, "decision": "passed on"}
    ehr.create(
        {
            "resourceType": "MedicationRequest",
            "status": "draft",
            "intent": "order",
            "subject": {"reference": message["from"]},
            "medicationCodeableConcept": drug["medicationCodeableConcept"],
            "dosageInstruction": drug["dosageInstruction"],
            "dispenseRequest": {"quantity": drug["dispenseRequest"]["quantity"], "numberOfRepeatsAllowed": 0},
            "priorPrescription": {"reference": f"MedicationRequest/{drug['id']}"},
            "requester": {"reference": clinician["reference"]},
        }
    )
    text = f"Thank you for your message. The refill of {name} waits for the signature of {clinician['display']}."
    inbox.reply(message["id"], text)
    inbox.close(message["thread"])
    return {"drug": name, "decision": "queued"}


def name_of(resource):
    """Return the name of a drug or an allergen in small letters."""
    return (resource.get("medicationCodeableConcept") or resource["code"])["text"].lower()


def find_reason(name, allergies, other_drugs):
    """Return why a drug must not be refilled, or None."""
    for allergy in allergies:
        allergen = name_of(allergy)
        if allergen in name or any(re.search(each, allergen) and re.search(each, name) for each in CLASSES):
            return f"allergy to {allergen}"
    for other in other_drugs:
        for pair in (pair for first, second in PAIRS for pair in ((first, second), (second, first))):
            if re.search(pair[0], name) and re.search(pair[1], name_of(other)):
                return f"also takes {re.sub(r' [0-9.]+ .*', '', name_of(other))}"
    return None
