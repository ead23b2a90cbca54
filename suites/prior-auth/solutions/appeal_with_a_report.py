"""Appeal against a denial: read why, call, fax a request for the missing report, appeal with it, and wait."""

import base64
import re
from datetime import datetime

AUTHORIZATION_IDS = "https://riverbend.example/ids/authorization"
MAX_TURNS = 200
MAX_WAITS = 6
REQUEST = """Request for records
Riverbend Family Health Center, fax (555) 010-0200
Patient: {name}, born {born}
Please send us the report of the {report}.
"""


def on_task(task_item, sandboxes):
    ehr, portal, instruction = sandboxes["ehr"], sandboxes["portal"], task_item["instruction"]
    reference = re.search(r"R\d{9}", instruction)[0]
    patient, order, coverage, payer = find_order(ehr, instruction)
    note = " ".join(read_record(ehr, each["reference"]) for each in order["supportingInfo"])
    portal.sign_in()
    portal.open(f"/requests/{reference}")
    questions = [f"Why was our request {' '.join(reference)} denied?"]
    call_line(sandboxes, re.search(r"\(800\) [\d-]+", instruction)[0], patient, coverage, questions)
    report = re.search(r"(X-ray of the \w+ knee) on (\S+) at", note)
    [hospital] = sandboxes["fax"].contacts(name="General Hospital, medical records")
    name = next(each for each in patient["name"] if each.get("use") == "official")
    fields = {
        "name": f"{' '.join(name['given'])} {name['family']}",
        "born": patient["birthDate"],
        "report": f"{report[1]} of {report[2]}",
    }
    sandboxes["fax"].send(hospital["number"], text=REQUEST.format(**fields))
    file = wait_for_report(sandboxes, "x-ray")
    portal.sign_in()
    portal.open(f"/requests/{reference}/appeal")
    reason = f"The denial says that the report of the X-ray was missing. That of the {fields['report']} is attached."
    portal.send("File the appeal", {"reason": reason, "file_type": "imaging_report"}, [("x-ray-report.pdf", file)])
    decision = wait_for_decision(sandboxes, reference)
    if decision["number"]:
        record_number(ehr, order, payer, decision["number"])
    return {"reference": reference, **decision}


def find_order(ehr, instruction):
    """Return the patient whom the task names, the order, the active coverage, and its payer."""
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    treatment = re.search(r"the (replacement of the \w+ knee) of", instruction)[1]
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


def wait_for_report(sandboxes, words):
    """Wait until a new file is in the inbox of the file server; return its contents."""
    drop = sandboxes["drop"]
    before = set(drop.list("inbox"))
    for _ in range(MAX_WAITS):
        sandboxes.wait("2h")
        for path in set(drop.list("inbox")) - before:
            if words in path:
                return drop.read(path)
    raise LookupError(f"no file about {words} arrived")


def wait_for_decision(sandboxes, reference):
    """Wait until the payer has decided; return its decision."""
    portal = sandboxes["portal"]
    for _ in range(MAX_WAITS):
        portal.sign_in()
        text = portal.open(f"/requests/{reference}").text
        if find_number(text) or "Upheld" in text:
            break
        sandboxes.wait("1d")
    number = find_number(text)
    days = re.findall(r"\d\d/\d\d/\d{4}", text[text.index("Valid") :])[:2] if number else []
    return {
        "status": "approved" if number else "denied",
        "number": number and number[1],
        "valid_to": max(datetime.strptime(day, "%m/%d/%Y").date() for day in days).isoformat() if days else None,
    }


def find_number(text):
    """Return the match of the authorization number on the page of a request; None if there is none."""
    return re.search(r"Authorization number:?\s+([A-Z]+\d+)", text)
