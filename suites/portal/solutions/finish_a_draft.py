"""Check a draft of a colleague against the chart, correct it, and submit it."""

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
    patient, order, _ = find_order(ehr, task_item["instruction"])
    portal.sign_in()
    portal.open("/drafts")
    links = "\n".join(path for path, _ in portal.page.links)
    draft = re.search(r"/drafts/draft_[^/\s]+", links)[0]
    portal.open(f"{draft}/request")
    check_steps(portal, ehr, order)
    corrected = correct_answers(portal, read_documents(ehr, patient, order))
    portal.send("next")
    portal.send("next")
    portal.send("submit", CONTACT)
    return {**read_decision(portal), "corrected": corrected}


def check_steps(portal, ehr, order):
    """Go through the steps before the clinical questions, and write what the order says."""
    performer = ehr.read(*order["performer"][0]["reference"].split("/"))
    place = order["locationCode"][0]["coding"][0]["code"]
    portal.send("next", {"review": "services", "urgency": "standard", "place": place})
    portal.send("next", {"servicing_npi": performer["identifier"][0]["value"]})
    for expected in (order["reasonCode"][0]["coding"][0]["code"], order["code"]["coding"][0]["code"]):
        if expected not in portal.page.text:
            raise LookupError(f"the draft does not have {expected}")
        portal.send("next")


def correct_answers(portal, text):
    """Correct the answers that differ from the document; return the one that did."""
    form = portal.page.find_form("update")
    right = {
        name: find_answer(name.removeprefix("answer_"), form.choices.get(name), text)
        for name in {**form.fields, **form.choices}
        if name.startswith("answer_")
    }
    [(name, to)] = [(name, answer) for name, answer in right.items() if form.fields[name] != answer]
    portal.send("update", {name: to})
    return {"from": form.fields[name], "to": to}


def find_order(ehr, instruction):
    """Return the patient whom the task names, the order, and the coverage."""
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    [order] = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    return patient, order, coverage


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


def read_decision(portal):
    """Return what the page of a request says."""
    text = portal.page.text
    number = re.search(r"Authorization number:?\s+(\S+)", text)
    return {
        "status": next(word for word in ("approved", "denied", "in review") if re.search(rf"(?i)\b{word}\b", text)),
        "number": number and number[1],
    }


def write_day(day):
    """Return a day as the forms write it."""
    return f"{date.fromisoformat(day[:10]):%m/%d/%Y}"
