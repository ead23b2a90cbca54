"""File a request for what is ordered: look the member up, fill in the form, and answer the questions from the chart."""

import re
from datetime import date

CONTACT = {"contact_name": "Maya Okafor", "contact_phone": "555-010-0140", "attest": "yes"}
FACTS = {
    "spine_region": r"(?i)(cervical|thoracic|lumbar) spine",
    "red_flags": r"Warning signs[^.:]*: (none|\w+)",
    "conservative_therapy_weeks": r"(?:for|:) (\d+) weeks",
    "conservative_therapy_kind": r"(?i)(physical therapy|home exercise program|injection)",
    "prior_spine_imaging": r"Imaging of the lumbar spine in the past 12 months: (none|\w+)",
    "head_indication": r"Reason: (headache|seizure)",
    "headache_features": r"The headache is (new after the age of 50|worse than before|unchanged for months)",
    "neurological_deficit": r"New deficit: (none|\w+)",
    "prior_head_imaging": r"Imaging of the head in the past 6 months: (none|\w+)",
    "prior_head_imaging_date": r"Imaging of the head in the past 6 months: (\d{4}-\d\d-\d\d)",
    "joint": r"(?i)\b(shoulder|knee|hip|elbow)",
    "joint_side": r"(?i)\b(left|right)",
    "acute_injury": r"Injury in the past 6 weeks: (none|\w+)",
    "joint_x_ray": r"X-rays? (?:of the \w+ \w+ )?on (\S+)",
    "joint_x_ray_date": r"X-rays? (?:of the \w+ \w+ )?on (\d{4}-\d\d-\d\d)",
    "surgery_planned": r"Operation: (none|\w+)",
    "sleep_indication": r"Reason: (suspected obstructive sleep apnea|narcolepsy)",
    "epworth_score": r"Epworth[^.\d]*(\d+)",
    "witnessed_apneas": r"Pauses in breathing seen by others: (\w+)",
    "home_test": r"Home sleep test: (not done|not conclusive|positive|negative)",
    "home_test_date": r"Home sleep test: [^.]* on (\d{4}-\d\d-\d\d)",
}
"""Where the answer to a question stands in a document."""


def on_task(task_item, sandboxes):
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    patient, order, coverage = find_order(ehr, task_item["instruction"])
    sign_in(sandboxes)
    denied = find_denied(portal, coverage, order) if "denied" in task_item["instruction"].partition(".")[0] else {}
    begin_draft(portal, ehr, patient, coverage)
    fill_in(portal, ehr, order)
    answer_questions(portal, wait_for_documents(sandboxes, patient, order))
    portal.send("next")
    portal.send("next")
    portal.send("submit", CONTACT)
    if "/requests/" not in portal.page.path:
        portal.open("/requests", {"member_id": coverage["subscriberId"]})
        portal.open(next(path for path in list_paths(portal) if re.search(r"/requests/R\w+$", path)))
    return {**read_decision(portal), **denied}


def sign_in(sandboxes):
    """Sign in, with the code of the newest message if the portal asks for one."""
    portal = sandboxes["portal"]
    portal.sign_in()
    if portal.page.path.endswith("/code"):
        newest = sandboxes["inbox"].messages()[-1]
        text = sandboxes["inbox"].read(newest["id"])["text"]
        portal.send("Continue", {"code": re.search(r"\b\d{6}\b", text)[0]})


def find_denied(portal, coverage, order):
    """Look at the request that was denied earlier."""
    portal.open("/requests", {"member_id": coverage["subscriberId"], "status": "denied"})
    for path in [path for path in list_paths(portal) if re.search(r"/requests/R\w+$", path)]:
        portal.open(path)
        if order["code"]["coding"][0]["code"] in portal.page.text:
            return {"earlier": path.rpartition("/")[2]}
    raise LookupError("no request was denied")


def list_paths(portal):
    """Return the links of the page, without the address of the sandbox."""
    return [re.sub(r"^.*(?=/requests/)", "", path) for path, _ in portal.page.links]


def find_order(ehr, instruction):
    """Return the patient whom the task names, the order, and the coverage."""
    number = re.search(r"MRN (\d+)", instruction)
    if number:
        [patient] = ehr.search("Patient", identifier=number[1])
    else:
        family, born = re.search(r"(\w+), born (\S+?)\.", instruction).groups()
        [patient] = ehr.search("Patient", family=family, birthdate=born)
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


def wait_for_documents(sandboxes, patient, order):
    """Return the words of the documents about the complaint of the order, and wait for a report that will follow."""
    ehr, portal, path = sandboxes["ehr"], sandboxes["portal"], sandboxes["portal"].page.path
    diagnosis = order["reasonCode"][0]["coding"][0]["code"]
    while True:
        documents = ehr.search("DocumentReference", patient=patient["id"])
        texts = [" ".join(each.get("description", "").split()) for each in documents]
        text = " ".join(text for text in texts if f"Diagnosis: {diagnosis}" in text)
        if "will follow" not in text or "REPORT" in text:
            return text
        sandboxes.wait("45m")
        sign_in(sandboxes)
        portal.open(path)


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
