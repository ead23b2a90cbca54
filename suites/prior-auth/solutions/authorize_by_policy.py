"""Get an order authorized as the policy in force says: read it, ask the plans, file with the one that pays first."""

import base64
import re
from datetime import date, datetime

CONTACT = {"contact_name": "Maya Okafor", "contact_phone": "555-010-0140", "attest": "yes"}
AUTHORIZATION_IDS = "https://riverbend.example/ids/authorization"
MAX_TURNS = 60
MAX_WAITS = 6
FACTS = {
    "spine_region": r"(?i)(cervical|thoracic|lumbar) spine",
    "red_flags": r"Warning signs[^:]*: (none|\w+)",
    "conservative_therapy_weeks": r"(\d+) weeks of",
    "conservative_therapy_kind": r"(?i)(physical therapy|home exercise program|injection|medication)",
    "therapy_phase": r"(First request)",
    "therapy_onset": r"Began on (\S+?)\.",
    "after_surgery": r"After an operation: (\w+)",
    "functional_goal": r"Goal: ([^.]+)\.",
    "home_program": r"Exercises at home: (\w+)",
    "prior_spine_imaging": r"Imaging of the \w+ spine in the past 12 months: (none|\w+)",
}
"""Where the answer to a question stands in a record."""


def on_task(task_item, sandboxes):
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    patient, order, coverages, payers = find_order(ehr, task_item["instruction"])
    coverage, payer = coverages[0], payers[0]
    lines = dict(zip(payers, find_lines(task_item["instruction"], payers), strict=True))
    records = [read_record(ehr, each["reference"]) for each in order["supportingInfo"]]
    told = ask_line(sandboxes, lines[payer], patient, order, coverage, ["Where do we fax clinical records?"])
    for other, number in zip(coverages[1:], payers[1:], strict=True):
        ask_line(sandboxes, lines[number], patient, order, other, [])
    fax_number = re.search(r"records to ([\d, ]+\d)", told)[1]
    portal.sign_in()
    policy = find_policy(portal, order, payer) if "names that document" in task_item["instruction"] else None
    begin_draft(portal, patient, coverage, payer)
    fill_in(portal, ehr, order)
    answer_questions(portal, " ".join(records))
    for button, fields in (("next", {"note": policy} if policy else {}), ("next", {}), ("submit", CONTACT)):
        portal.send(button, fields)
    reference = portal.page.path.rpartition("/")[2]
    fax_records(sandboxes, re.sub(r"\D", "", fax_number), reference, records)
    decision = wait_for_decision(sandboxes, reference)
    if decision["number"]:
        record_number(ehr, order, payer, decision["number"])
    answer = {"reference": reference, **decision}
    if policy:
        weeks = int(re.search(FACTS["conservative_therapy_weeks"], " ".join(records))[1])
        answer |= {"policy": policy, "weeks": weeks}
    if len(payers) > 1:
        answer |= {"first": payers[0], "second": payers[1], "policy": "CM-PLN-101 version 2026.1"}
    return answer


# The chart


def find_order(ehr, instruction):
    """Return the patient whom the task names, the order, the coverages (the first one pays first), and their payers."""
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    treatment = re.search(r"An? (.+?) is ordered", instruction)[1]
    orders = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    [order] = [each for each in orders if treatment.lower() in each["code"].get("text", "").lower()]
    coverages = ehr.search("Coverage", patient=patient["id"], status="active")
    coverages.sort(key=lambda each: each.get("order", 1))
    if len(coverages) > 1 and works_for_large_employer(ehr, patient):
        coverages.sort(key=lambda each: each["type"]["coding"][0]["code"] == "PUBLICPOL")
    payers = [ehr.read(*each["payor"][0]["reference"].split("/"))["identifier"][0]["value"] for each in coverages]
    return patient, order, coverages, payers


def works_for_large_employer(ehr, patient):
    """Return whether the newest registration form says that the patient works where 20 people or more do."""
    documents = ehr.search("DocumentReference", patient=patient["id"], status="current")
    forms = [each for each in documents if each["type"]["text"] == "Registration form"]
    form = read_record(ehr, f"DocumentReference/{max(forms, key=lambda each: each['date'])['id']}")
    employees = re.search(r"Works now: yes.*?(\d+) employees", form, re.DOTALL)
    return employees is not None and int(employees[1]) >= 20


def find_lines(instruction, payers):
    """Return the provider lines of the payers: the only one, or those beside their numbers."""
    if len(payers) == 1:
        return [re.search(r"\(800\) [\d-]+", instruction)[0]]
    return [re.search(rf"{payer}: (\(800\) [\d-]+)", instruction)[1] for payer in payers]


def read_record(ehr, reference):
    """Return the text of a document of the chart."""
    attachment = ehr.read(*reference.split("/"))["content"][0]["attachment"]
    return base64.b64decode(attachment["data"]).decode()


def record_number(ehr, order, payer, number):
    """Write an authorization number into the order."""
    identifiers = [*order.get("identifier", []), {"system": f"{AUTHORIZATION_IDS}/{payer}", "value": number}]
    ehr.update({**order, "identifier": identifiers})


# The telephone


def ask_line(sandboxes, number, patient, order, coverage, questions):
    """Ask a representative about the procedure, and these questions; return all that was heard."""
    ehr, phone = sandboxes["ehr"], sandboxes["phone"]
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    npi, code = clinic["identifier"][0]["value"], " ".join(order["code"]["coding"][0]["code"])
    known = {
        "provider identifier": npi,
        "To speak with a representative, press": "0",
        "May I have your NPI": f"It is {' '.join(npi)}.",
        "What is the member ID": f"The member ID is {' '.join(coverage['subscriberId'])}.",
        "date of birth?": f"Born {patient['birthDate']}.",
    }
    questions = [f"Does procedure code {code} need prior authorization?", *questions]
    call, heard = phone.dial(number), []
    for _ in range(MAX_TURNS):
        heard.append(phone.listen(call))
        if re.search(r"How can I help|[Ii]s there anything else", heard[-1]):
            if not questions:
                phone.say(call, "No, thank you. Goodbye.")
                break
            phone.say(call, questions.pop(0))
        else:
            reply(phone, call, known, heard[-1])
    phone.listen(call)
    if phone.show_call(call)["status"] != "ended":
        phone.hang_up(call)
    return " ".join(heard)


def reply(phone, call, known, heard):
    """Answer the last question of the other side, by keys if it is for the menu; otherwise go on listening."""
    question = max(known, key=heard.rfind)
    if question not in heard:
        return
    if known[question].isdigit():
        phone.press(call, known[question])
    else:
        phone.say(call, known[question])


# The portal


def find_policy(portal, order, payer):
    """Return the payer's medical policy about an order that is in force today, with its version, after reading it."""
    listed = portal.open("/policies", {"code": order["code"]["coding"][0]["code"]}).text
    row = rf"({payer[:2]}-\w+-\d+) version (\S+) .{{0,90}}? Medical policy \2 3 [\d/ ]+In force"
    id, version = re.search(row, listed).groups()
    portal.open(f"/policies/{id}/{version}")
    return f"{id} version {version}"


def begin_draft(portal, patient, coverage, payer):
    """Begin a request for a member."""
    name = next(name for name in patient["name"] if name.get("use") == "official")
    member = {
        "payer": payer,
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
    urgency = "urgent" if order["priority"] in ("urgent", "stat") else "standard"
    portal.send(
        "next", {"review": "services", "urgency": urgency, "place": order["locationCode"][0]["coding"][0]["code"]}
    )
    portal.send("next", {"servicing_npi": performer["identifier"][0]["value"]})
    portal.send("add_diagnosis", {"diagnosis_code": order["reasonCode"][0]["coding"][0]["code"]})
    portal.send("next")
    days = order.get("occurrencePeriod") or dict.fromkeys(("start", "end"), order.get("occurrenceDateTime"))
    service = {
        "procedure_code": order["code"]["coding"][0]["code"],
        "units": str(order["quantityQuantity"]["value"]),
        "unit": "units",
        "frequency": "total",
        "start": write_day(days["start"]),
        "end": write_day(days["end"]),
    }
    portal.send("add_service", service)
    portal.send("next")


def answer_questions(portal, text):
    """Answer the questions of the page, and those that follow from the answers."""
    answered = set()
    while True:
        form = portal.page.find_form("update")
        asked = {name for name in {**form.fields, **form.choices} if name.startswith("answer_")} - answered
        if not asked:
            return
        answers = {name: find_answer(name.removeprefix("answer_"), form.choices.get(name), text) for name in asked}
        portal.send("update", dict(sorted(answers.items())))
        answered |= asked


def find_answer(question, choices, text):
    """Return what a record says about a question, in the words of the form."""
    match = re.search(FACTS[question], text)
    value = match[1] if match else "none"
    if choices and {"yes", "no"} <= {each for each in choices if each}:
        return "no" if value.lower() in ("none", "no") else "yes"
    if choices:
        return next(each for each in choices if each.lower() == value.lower())
    return write_day(value) if re.fullmatch(r"\d{4}-\d\d-\d\d", value) else value


def wait_for_decision(sandboxes, reference):
    """Wait until the payer has decided; return its decision."""
    portal = sandboxes["portal"]
    for _ in range(MAX_WAITS):
        portal.sign_in()
        text = portal.open(f"/requests/{reference}").text
        if re.search(r"\b(Approved|Denied)\b", text):
            break
        sandboxes.wait("2h")
    number = re.search(r"Authorization number:?\s+(\S+)", text)
    days = re.findall(r"\d\d/\d\d/\d{4}", text[text.index("Valid") :])[:2] if number else []
    return {
        "status": "approved" if number else "denied",
        "number": number and number[1],
        "valid_to": max(datetime.strptime(day, "%m/%d/%Y").date() for day in days).isoformat() if days else None,
    }


def write_day(day):
    """Return a day as the forms write it."""
    return f"{date.fromisoformat(day[:10]):%m/%d/%Y}"


# The fax


def fax_records(sandboxes, number, reference, records):
    """Fax records under a reference number, and wait until they are delivered."""
    fax = sandboxes["fax"]
    sent = fax.send(f"+1{number}", text="\f".join(records), cover={"subject": reference})
    while fax.status(sent["id"])["status"] in ("queued", "sending", "retrying"):
        sandboxes.wait("1m")
