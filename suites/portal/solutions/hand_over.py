"""Fill in a request, and hand it over to a person when the portal asks for one."""

import re
from datetime import date

CONTACT = {"contact_name": "Maya Okafor", "contact_phone": "555-010-0140", "attest": "yes"}
FACTS = {
    "spine_region": r"(?i)(cervical|thoracic|lumbar) spine",
    "red_flags": r"Warning signs[^.:]*: (none|\w+)",
    "conservative_therapy_weeks": r"(?:for|:) (\d+) weeks",
    "conservative_therapy_kind": r"(?i)(physical therapy|home exercise program|injection)",
    "prior_spine_imaging": r"Imaging of the lumbar spine in the past 12 months: (none|\w+)",
}
"""Where the answer to a question stands in a document."""


def on_task(task_item, sandboxes):
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    patient, order, coverage = find_order(ehr, task_item["instruction"])
    portal.sign_in()
    begin_draft(portal, ehr, patient, coverage)
    fill_in(portal, ehr, order)
    answer_questions(portal, read_documents(ehr, patient, order))
    portal.send("next")
    portal.send("next")
    portal.send("submit", CONTACT)
    if "person" not in portal.page.heading:
        return {"filed": True}
    task = {
        "resourceType": "Task",
        "status": "requested",
        "intent": "order",
        "code": {"text": "Finish a request on the payer portal"},
        "focus": {"reference": f"ServiceRequest/{order['id']}"},
        "for": {"reference": f"Patient/{patient['id']}"},
        "description": "Please submit the draft on the payer portal: it asks to verify that a person is there.",
    }
    ehr.create(task)
    return {"filed": False}


def find_order(ehr, instruction):
    """Return the patient whom the task names, the order, and the coverage."""
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    [order] = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    return patient, order, coverage


def begin_draft(portal, ehr, patient, coverage):
    """Begin a request for a member."""
    name = next(name for name in patient["name"] if name.get("use") == "official")
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))
    member = {
        "payer": payer["identifier"][0]["value"],
        "member_id": coverage["subscriberId"],
        "birth_date": write_day(patient["birthDate"]),
        "family": name["family"],
        "given": name["given"][0],
    }
    portal.post("/drafts", {})
    portal.send("find_member", member)
    portal.send("next")


def fill_in(portal, ehr, order):
    """Fill in the steps of the form between the patient and the clinical questions."""
    performer = ehr.read(*order["performer"][0]["reference"].split("/"))
    urgency = "urgent" if order["priority"] == "urgent" else "standard"
    place = order["locationCode"][0]["coding"][0]["code"]
    portal.send("next", {"review": "services", "urgency": urgency, "place": place})
    portal.send("next", {"servicing_npi": performer["identifier"][0]["value"]})
    portal.send("add_diagnosis", {"diagnosis_code": order["reasonCode"][0]["coding"][0]["code"]})
    portal.send("next")
    service = {
        "procedure_code": order["code"]["coding"][0]["code"],
        "units": str(order["quantityQuantity"]["value"]),
        "unit": "units",
        "frequency": "total",
        "start": write_day(order["occurrenceDateTime"]),
        "end": write_day(order["occurrenceDateTime"]),
    }
    portal.send("add_service", service)
    portal.send("next")


def answer_questions(portal, text):
    """Answer the questions of the page, and those that follow from the answers."""
    known = set()
    while True:
        form = portal.page.find_form("update")
        asked = {name for name in {**form.fields, **form.choices} if name.startswith("answer_")} - known
        if not asked:
            return
        answers = {name: find_answer(name.removeprefix("answer_"), form.choices.get(name), text) for name in asked}
        portal.send("update", dict(sorted(answers.items())))
        known |= asked


def find_answer(question, choices, text):
    """Return what a document says about a question, in the words of the form."""
    found = re.search(FACTS[question], text)
    value = found[1] if found else "none"
    if choices and {"yes", "no"} <= {each for each in choices if each}:
        return "no" if value.lower() in ("none", "no") else "yes"
    if choices:
        return next(each for each in choices if each.lower() == value.lower())
    return write_day(value) if re.fullmatch(r"\d{4}-\d\d-\d\d", value) else value


def read_documents(ehr, patient, order):
    """Return the words of the document about the complaint of the order."""
    diagnosis = order["reasonCode"][0]["coding"][0]["code"]
    documents = ehr.search("DocumentReference", patient=patient["id"])
    texts = [" ".join(each.get("description", "").split()) for each in documents]
    return next(text for text in texts if f"Diagnosis: {diagnosis}" in text)


def write_day(day):
    """Return a day as the forms write it."""
    return f"{date.fromisoformat(day[:10]):%m/%d/%Y}"
