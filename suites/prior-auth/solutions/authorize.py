"""Get an order authorized: ask by telephone, file on the payer portal, fax the records, wait, and record the number."""

import base64
import re
from datetime import date, datetime, timedelta

CONTACT = {"contact_name": "Maya Okafor", "contact_phone": "555-010-0140", "attest": "yes"}
AUTHORIZATION_IDS = "https://riverbend.example/ids/authorization"
MAX_TURNS = 200
MAX_WAITS = 6
FACTS = {
    "spine_region": r"(?i)(cervical|thoracic|lumbar) spine",
    "red_flag_kind": r"Warning signs[^:]*: ([\w ]+)",
    "red_flags": r"Warning signs[^:]*: (none|\w+)",
    "conservative_therapy_weeks": r"(\d+) weeks of",
    "conservative_therapy_kind": r"(?i)(physical therapy|home exercise program|injection|medication)",
    "prior_spine_imaging": r"Imaging of the \w+ spine in the past 12 months: (none|\w+)",
    "knee_side": r"(?m)^(Left|Right) knee",
    "joint_infection": r"Active infection[^:]*: (none|\w+)",
    "arthritis_grade": r"Kellgren-Lawrence grade (\d)",
    "weight_bearing_x_ray_date": r"Weight-bearing X-ray of the \w+ knee on (\S+):",
    "bmi": r"Body mass index: ([\d.]*\d)",
    "sleep_indication": r"Reason for a study: ([^.]+)\.",
    "epworth_score": r"Epworth Sleepiness Scale: (\d+)",
    "witnessed_apneas": r"Pauses of breathing[^:]*: (\w+)",
    "home_test": r"Home sleep test on \S+: (Not conclusive|Negative|Positive)",
    "home_test_date": r"Home sleep test on (\S+):",
}
"""Where the answer to a question stands in a record."""


def on_task(task_item, sandboxes):
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    line = re.search(r"\(800\) [\d-]+", task_item["instruction"])[0]
    patient, order, coverage, payer = find_order(ehr, task_item["instruction"])
    records = [read_record(ehr, each["reference"]) for each in order["supportingInfo"]]
    is_denied = "denied" in task_item["instruction"]
    told = ask_line(sandboxes, line, patient, order, coverage, is_denied=is_denied)
    fax_number = re.search(r"records to ([\d, ]+\d)", told)[1]
    portal.sign_in()
    source = find_source(task_item, portal, fax_number)
    begin_draft(portal, patient, coverage, payer)
    fill_in(portal, ehr, order)
    answer_questions(portal, " ".join(records))
    for button, fields in (("next", {}), ("next", {}), ("submit", CONTACT)):
        portal.send(button, fields)
    reference, filed = portal.page.path.rpartition("/")[2], sandboxes.now
    fax_records(sandboxes, re.sub(r"\D", "", fax_number), reference, records)
    decision = wait_for_decision(sandboxes, reference)
    if decision["number"]:
        record_number(ehr, order, payer, decision["number"])
    if "decide_by" in str(task_item):
        source["decide_by"] = f"{filed + timedelta(hours=72):%Y-%m-%dT%H:%M}"
    return {"reference": reference, **decision, **source, **(find_denial(told) if is_denied else {})}


# The chart


def find_order(ehr, instruction):
    """Return the patient whom the task names, the order, the coverage that pays first, and its payer."""
    number, born = re.search(r"MRN (\d+)", instruction), re.search(r"(\w+), born (\d{4}-\d\d-\d\d)", instruction)
    person = {"identifier": number[1]} if number else {"family": born[1], "birthdate": born[2]}
    [patient] = ehr.search("Patient", **person)
    treatment = re.search(r"An? (.+?) is ordered", instruction)[1]
    orders = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    [order] = [each for each in orders if treatment.lower() in each["code"].get("text", "").lower()]
    coverages = ehr.search("Coverage", patient=patient["id"], status="active")
    coverage = min(coverages, key=lambda each: each.get("order", 1))
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


# The telephone


def ask_line(sandboxes, number, patient, order, coverage, *, is_denied):
    """Ask a representative about the procedure, a denial and the fax number; return all that was heard."""
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
    questions = [f"Does procedure code {code} need prior authorization?", "Where do we fax clinical records?"]
    if is_denied:
        questions.insert(0, f"Why was our request for procedure code {code} denied?")
    call, heard = phone.dial(number), []
    for _ in range(MAX_TURNS):
        heard.append(phone.listen(call))
        if re.search(r"How can I help|[Ii]s there anything else", heard[-1]):
            phone.say(call, questions.pop(0) if questions else "No, thank you. Goodbye.")
            if not questions and "records to" in heard[-1]:
                break
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


def find_denial(told):
    """Return the number of the denied request, and why it was denied."""
    denial = re.search(r"reason on file is: .*?(place of service).+? The reference number is ([R\d, ]+\d)", told)
    return {"reason": denial[1], "earlier": re.sub(r"[^R\d]", "", denial[2])} if denial else {}


# The portal


def find_source(task_item, portal, fax_number):
    """Return which policy in force has a fax number, or the time for urgent requests, if the task asks for one."""
    if "practices" in str(task_item):
        digits = re.sub(r"\D", "", fax_number)
        return {"fax": f"+1{digits}", "source": find_policy(portal, "CM-ADM", r"\D*".join(digits))}
    if "decide_by" in str(task_item):
        return {"source": find_policy(portal, "FED-PA", r"Expedited,? 72 hours")}
    return {}


def find_policy(portal, prefix, pattern):
    """Return the id and the version in force of a policy with a text."""
    portal.open("/policies")
    versions = {tuple(path.split("/")[-2:]) for path, _ in portal.page.links if f"/policies/{prefix}" in path}
    for policy, version in sorted(versions):
        text = portal.open(f"/policies/{policy}/{version}").text
        if "version is in force" in text and re.search(pattern, text):
            return f"{policy} {version}"
    raise LookupError(f"no policy {prefix} in force has {pattern}")


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
    day = write_day(order["occurrenceDateTime"])
    service = {
        "procedure_code": order["code"]["coding"][0]["code"],
        "units": str(order["quantityQuantity"]["value"]),
        "unit": "units",
        "frequency": "total",
        "start": day,
        "end": day,
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
