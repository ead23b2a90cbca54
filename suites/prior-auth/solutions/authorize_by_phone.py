"""Get an order authorized while the portal is down: file it by telephone, fax the record, and ask for the decision."""

import base64
import re
from datetime import datetime

AUTHORIZATION_IDS = "https://riverbend.example/ids/authorization"
MAX_TURNS = 60
MAX_CALLS = 4


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    line = re.search(r"\(800\) [\d-]+", task_item["instruction"])[0]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    orders = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    [order] = [each for each in orders if each["code"].get("text", "").startswith("MRI of the brain")]
    attachment = ehr.read(*order["supportingInfo"][0]["reference"].split("/"))["content"][0]["attachment"]
    if sandboxes["portal"].sign_in().status < 500:
        raise RuntimeError("the portal works: expected it to be down")
    known = list_replies(ehr, patient, order, coverage)
    code = known["procedure code"]
    questions = [
        f"Does procedure code {code} need prior authorization?",
        "The portal is down, can you take a request by phone?",
        "Where do we fax clinical records?",
    ]
    heard = ask_line(sandboxes["phone"], line, known, questions)
    reference = re.sub(r"[^A-Z\d]", "", re.search(r"filed it.*? number is ([A-Z\d, ]+\d)", heard)[1])
    fax_number = re.sub(r"\D", "", re.search(r"records to ([\d, ]+\d)", heard)[1])
    fax_record(sandboxes, fax_number, reference, base64.b64decode(attachment["data"]).decode())
    decision = ask_for_decision(sandboxes, line, known, f"What is the status of our request {' '.join(reference)}?")
    if decision["number"]:
        payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))["identifier"][0]["value"]
        identifier = {"system": f"{AUTHORIZATION_IDS}/{payer}", "value": decision["number"]}
        ehr.update({**order, "identifier": [*order.get("identifier", []), identifier]})
    return {"reference": reference, **decision}


def list_replies(ehr, patient, order, coverage):
    """Return what is answered to the questions of the line, by their words."""
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    npi = clinic["identifier"][0]["value"]
    return {
        "provider identifier": npi,
        "To speak with a representative, press": "0",
        "May I have your NPI": f"It is {' '.join(npi)}.",
        "What is the member ID": f"The member ID is {' '.join(coverage['subscriberId'])}.",
        "date of birth?": f"Born {patient['birthDate']}.",
        "procedure code": " ".join(order["code"]["coding"][0]["code"]),
        "service date": f"{order['occurrenceDateTime']}.",
        "diagnosis code": f"{order['reasonCode'][0]['coding'][0]['code']}.",
    }


def ask_line(phone, number, known, questions):
    """Ask a representative some questions; return all that was heard."""
    questions, call, heard = list(questions), phone.dial(number), []
    for _ in range(MAX_TURNS):
        heard.append(phone.listen(call))
        if phone.show_call(call)["status"] == "ended":
            break
        question = max(known, key=lambda words: heard[-1].rfind(words) if is_question(words, heard[-1]) else -1)
        if re.search(r"How can I help|[Ii]s there anything else", heard[-1]):
            phone.say(call, questions.pop(0) if questions else "No, thank you. Goodbye.")
        elif not is_question(question, heard[-1]):
            continue
        elif known[question].isdigit():
            phone.press(call, known[question])
        else:
            phone.say(call, known[question])
    return " ".join(heard)


def is_question(words, heard):
    """Return whether the other side asks for what some words name."""
    return words in heard and ("press" in words or "identifier" in words or heard.rstrip().endswith("?"))


def fax_record(sandboxes, number, reference, record):
    """Fax a record under its reference number, and wait until it is delivered."""
    fax = sandboxes["fax"]
    sent = fax.send(f"+1{number}", text=record, cover={"subject": reference})
    while fax.status(sent["id"])["status"] in ("queued", "sending", "retrying"):
        sandboxes.wait("1m")


def ask_for_decision(sandboxes, line, known, question):
    """Ask for the status of a request by telephone until it is decided; return the decision."""
    for _ in range(MAX_CALLS):
        sandboxes.wait("90m")
        heard = ask_line(sandboxes["phone"], line, known, [question])
        if "no decision yet" not in heard:
            break
    approved = re.search(r"authorization number is ([A-Z\d, ]+\d), and it is valid through (\w+ \d+, \d{4})", heard)
    if approved is None:
        return {"status": "denied", "number": None, "valid_to": None}
    return {
        "status": "approved",
        "number": re.sub(r"[^A-Z\d]", "", approved[1]),
        "valid_to": datetime.strptime(approved[2], "%B %d, %Y").date().isoformat(),
    }
