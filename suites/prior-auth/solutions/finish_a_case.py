"""Finish what a colleague began: check her draft, submit it, call for the status, fax the record, and wait."""

import base64
import re
from datetime import date, datetime

CONTACT = {"contact_name": "Maya Okafor", "contact_phone": "555-010-0140", "attest": "yes"}
AUTHORIZATION_IDS = "https://riverbend.example/ids/authorization"
MAX_TURNS = 200
MAX_WAITS = 6
FACTS = {
    "joint": r"(?mi)^(?:left|right) (knee)",
    "joint_side": r"(?m)^(Left|Right) knee",
    "acute_injury": r"Injury in the past 6 weeks: (none|\w+)",
    "conservative_therapy_weeks": r"(\d+) weeks of",
    "joint_x_ray": r"X-ray of the \w+ knee on (\S+):",
    "joint_x_ray_date": r"X-ray of the \w+ knee on (\S+):",
    "surgery_planned": r"Operation planned: (none|\w+)",
}
"""Where the answer to a question stands in a record."""


def on_task(task_item, sandboxes):
    ehr, portal, instruction = sandboxes["ehr"], sandboxes["portal"], task_item["instruction"]
    patient, order, coverage, payer = find_order(ehr, instruction)
    ehr.search("Communication", patient=patient["id"])
    records = [read_record(ehr, each["reference"]) for each in order["supportingInfo"]]
    portal.sign_in()
    portal.open("/drafts")
    draft = next(path for path, text in portal.page.links if re.search(r"/drafts/draft_[^/]+$", path))
    portal.open(f"{draft}/request")
    check_steps(portal, ehr, order)
    corrected = correct_answers(portal, " ".join(records))
    for button, fields in (("next", {}), ("next", {}), ("submit", CONTACT)):
        portal.send(button, fields)
    reference = portal.page.path.rpartition("/")[2]
    questions = [f"What is the status of our request {' '.join(reference)}?", "Where do we fax clinical records?"]
    heard = call_line(sandboxes, re.search(r"\(800\) [\d-]+", instruction)[0], patient, coverage, questions)
    fax_records(sandboxes, re.sub(r"\D", "", re.search(r"records to ([\d, ]+\d)", heard)[1]), reference, records)
    decision = wait_for_decision(sandboxes, reference)
    if decision["number"]:
        record_number(ehr, order, payer, decision["number"])
    return {"reference": reference, **decision, "corrected": corrected}


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
    """Correct the answers that differ from the record; return the one that did."""
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
    """Return the patient whom the task names, the order, the active coverage, and its payer."""
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    treatment = re.search(r"the (MRI of the \w+ knee) of", instruction)[1]
    orders = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    [order] = [each for each in orders if treatment.lower() in each["code"].get("text", "").lower()]
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))["identifier"][0]["value"]
    return patient, order, coverage, payer


def read_record(ehr, reference):
    """Return the text of a document of the chart."""
    attachment = ehr.read(*reference.split("/"))["content"][0]["attachment"]
    return base64.b64decode(attachment["data"]).decode()


def record_number(ehr, order, payer, number):
    """Write an authorization number into the order."""
    identifiers = [*order.get("identifier", []), {"system": f"{AUTHORIZATION_IDS}/{payer}", "value": number}]
    ehr.update({**order, "identifier": identifiers})


def call_line(sandboxes, number, patient, coverage, questions):
    """Ask a representative these questions; return all that was heard."""
    ehr, phone = sandboxes["ehr"], sandboxes["phone"]
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    npi = clinic["identifier"][0]["value"]
    known = {
        "provider identifier": npi,
        "To speak with a representative, press": "0",
        "May I have your NPI": f"It is {' '.join(npi)}.",
        "What is the member ID": f"The member ID is {' '.join(coverage['subscriberId'])}.",
        "date of birth?": f"Born {patient['birthDate']}.",
    }
    waiting, call, heard, since = [*questions, "No, thank you. Goodbye."], phone.dial(number), [], ""
    for _ in range(MAX_TURNS):
        heard.append(phone.listen(call))
        since = f"{since} {heard[-1]}".strip()
        if re.search(r"How can I help|[Ii]s there anything else", since):
            phone.say(call, waiting.pop(0))
            if not waiting:
                break
        elif not reply(phone, call, known, since):
            continue
        since = ""
    phone.listen(call)
    if phone.show_call(call)["status"] != "ended":
        phone.hang_up(call)
    return " ".join(heard)


def reply(phone, call, known, heard):
    """Answer the last question of the other side, by keys if it is for the menu; return whether there is one."""
    question = max(known, key=heard.rfind)
    if question not in heard:
        return False
    if known[question].isdigit():
        phone.press(call, known[question])
    else:
        phone.say(call, known[question])
    return True


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


def fax_records(sandboxes, number, reference, records):
    """Fax records under a reference number, and wait until they are delivered."""
    fax = sandboxes["fax"]
    sent = fax.send(f"+1{number}", text="\f".join(records), cover={"subject": reference})
    while fax.status(sent["id"])["status"] in ("queued", "sending", "retrying"):
        sandboxes.wait("1m")
