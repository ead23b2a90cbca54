"""Hand an order over whose record contradicts itself: call, save a draft, ask the specialist, and leave a Task."""

import base64
import re
from datetime import date, timedelta

SPECIALIST_FAX = "+15550177121"
RULE = "FED-PA-001"
MAX_TURNS = 60


def on_task(task_item, sandboxes):
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    patient, order, coverage = find_order(ehr, task_item["instruction"])
    record = read_record(ehr, order["supportingInfo"][0]["reference"])
    line = re.search(r"\(800\) [\d-]+", task_item["instruction"])[0]
    ask_line(sandboxes, line, patient, order, coverage)
    portal.sign_in()
    until = find_last_day(portal, date.fromisoformat(order["occurrenceDateTime"])).isoformat()
    draft = save_draft(ehr, portal, patient, order, coverage, record)
    imaged = re.search(r"MRI of the lumbar spine of (\S+)", record)[1]
    fax_office(sandboxes, patient, imaged)
    ehr.create(build_task(patient, order, draft, imaged, until))
    unclear = f"whether the lumbar spine was imaged in the past 12 months: the note says no, and an MRI of {imaged}"
    return {"status": "handed over", "draft": draft, "unclear": unclear, "until": until}


def find_order(ehr, instruction):
    """Return the patient whom the task names, the order, and the coverage."""
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    orders = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    [order] = [each for each in orders if each["code"]["text"].startswith("MRI of the lumbar spine")]
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    return patient, order, coverage


def read_record(ehr, reference):
    """Return the text of a document of the chart."""
    attachment = ehr.read(*reference.split("/"))["content"][0]["attachment"]
    return base64.b64decode(attachment["data"]).decode()


def find_last_day(portal, service):
    """Return the last day on which a request leaves the payer all of its time before the day of service."""
    listed = portal.open("/policies", {"text": "expedited standard calendar days"}).text
    version = re.search(rf"{RULE} version (\S+) .{{0,120}}? Federal rule \1 1 [\d/ ]+In force", listed)[1]
    text = portal.open(f"/policies/{RULE}/{version}").text
    days = int(re.search(r"Standard (\d+) calendar days", text)[1])
    return service - timedelta(days=1 + days)


def save_draft(ehr, portal, patient, order, coverage, record):
    """Save all that is known of the request; return the number of the draft."""
    lookup = {"payer": "EV004", "member_id": coverage["subscriberId"], "birth_date": patient["birthDate"]}
    performer = ehr.read(*order["performer"][0]["reference"].split("/"))
    service = {"code": order["code"]["coding"][0]["code"], "units": order["quantityQuantity"]["value"]}
    day = order["occurrenceDateTime"]
    fields = {
        "member": portal.api("POST", "/members/lookup", lookup)["ref"],
        "review": "services",
        "urgency": "standard",
        "place": order["locationCode"][0]["coding"][0]["code"],
        "servicing_npi": performer["identifier"][0]["value"],
        "diagnoses": [order["reasonCode"][0]["coding"][0]["code"]],
        "services": [{**service, "start": day, "end": day}],
        "answers": {
            "spine_region": "Lumbar",
            "red_flags": False,
            "conservative_therapy_weeks": int(re.search(r"(\d+) weeks of", record)[1]),
            "conservative_therapy_kind": "Physical therapy",
        },
        "contact_name": "Maya Okafor",
        "contact_phone": "555-010-0140",
    }
    return portal.api("POST", "/drafts", fields)["id"]


def fax_office(sandboxes, patient, imaged):
    """Ask the office of the specialist what is right, and wait until the fax is delivered."""
    fax = sandboxes["fax"]
    text = (
        f"Patient: {patient['name'][0]['text']}, born {patient['birthDate']}\n"
        "Your note of 2026-02-18 says that the lumbar spine was not imaged in the past 12 months. It also\n"
        f"names an MRI of the lumbar spine of {imaged}. Which of the two is right? Please correct the note."
    )
    sent = fax.send(SPECIALIST_FAX, text=text, cover={"subject": "Question about your order"})
    while fax.status(sent["id"])["status"] in ("queued", "sending", "retrying"):
        sandboxes.wait("1m")


def build_task(patient, order, draft, imaged, until):
    """Return the Task for the person who goes on."""
    description = (
        f"Draft {draft} on the portal lacks one answer: was the lumbar spine imaged in the past 12 months? The "
        f"note says no, and names an MRI of {imaged}. Orthopedics was asked by fax. File by {until}."
    )
    return {
        "resourceType": "Task",
        "status": "requested",
        "intent": "order",
        "priority": "routine",
        "code": {"text": "Finish authorization request"},
        "focus": {"reference": f"ServiceRequest/{order['id']}"},
        "for": {"reference": f"Patient/{patient['id']}"},
        "owner": {"reference": patient["generalPractitioner"][0]["reference"]},
        "restriction": {"period": {"end": until}},
        "description": description,
    }


# The telephone


def ask_line(sandboxes, number, patient, order, coverage):
    """Ask a representative about the procedure."""
    ehr, phone = sandboxes["ehr"], sandboxes["phone"]
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    npi, code = clinic["identifier"][0]["value"], " ".join(order["code"]["coding"][0]["code"])
    known = {
        "provider identifier": npi,
        "To speak with a representative, press": "0",
        "May I have your NPI": f"It is {' '.join(npi)}.",
        "What is the member ID": f"The member ID is {' '.join(coverage['subscriberId'])}.",
        "date of birth?": f"Born {patient['birthDate']}.",
        "How can I help": f"Does procedure code {code} need prior authorization?",
        "Is there anything else": "No, thank you. Goodbye.",
    }
    call = phone.dial(number)
    for _ in range(MAX_TURNS):
        heard = phone.listen(call)
        question = max(known, key=heard.rfind)
        if question in heard:
            reply = phone.press if known[question].isdigit() else phone.say
            reply(call, known[question])
        if "Is there anything else" in heard:
            break
    phone.listen(call)
    if phone.show_call(call)["status"] != "ended":
        phone.hang_up(call)
