"""Have a denial reviewed: answer the medical director from a note, fax the note, and record the decision."""

import base64
import re
from datetime import datetime

AUTHORIZATION_IDS = "https://riverbend.example/ids/authorization"
FACTS = (r"(\d+) weeks of", r"(\d+) visits", r"strength of the leg (\d) of 5", r"(?i)bladder[^.]*: (\w+)")
"""Where the answers to the questions stand in a note."""
MAX_TURNS = 60
MAX_WAITS = 8


def on_task(task_item, sandboxes):
    ehr = sandboxes["ehr"]
    line = re.search(r"\(800\) [\d-]+", task_item["instruction"])[0]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", task_item["instruction"])[1])
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    orders = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    [order] = [each for each in orders if "lumbar" in each["code"].get("text", "")]
    reference = find_denial(sandboxes["portal"])
    note = read_note(ehr, order["supportingInfo"][0]["reference"])
    heard = answer_director(sandboxes, line, reference, note, patient, coverage)
    fax_number = re.sub(r"\D", "", re.search(r"fax .*? to ([\d, ]+\d)", heard)[1])
    fax_note(sandboxes, fax_number, reference, note)
    decision = wait_for_decision(sandboxes, reference)
    if decision["number"]:
        payer = ehr.read(*coverage["payor"][0]["reference"].split("/"))["identifier"][0]["value"]
        identifier = {"system": f"{AUTHORIZATION_IDS}/{payer}", "value": decision["number"]}
        ehr.update({**order, "identifier": [*order.get("identifier", []), identifier]})
    return {"reference": reference, **decision}


def find_denial(portal):
    """Return the reference number of the only denied request on the portal."""
    portal.sign_in()
    portal.open("/requests")
    paths = {path.rpartition("/")[2] for path, _ in portal.page.links if re.search(r"/requests/R\d+$", path)}
    [reference] = [each for each in sorted(paths) if "Denied" in portal.open(f"/requests/{each}").text]
    return reference


def read_note(ehr, reference):
    """Return the text of a note of the chart."""
    attachment = ehr.read(*reference.split("/"))["content"][0]["attachment"]
    return base64.b64decode(attachment["data"]).decode()


def answer_director(sandboxes, number, reference, note, patient, coverage):
    """Answer the questions of the peer-to-peer line; return all that was heard."""
    [clinic] = sandboxes["ehr"].search("Organization", name="Riverbend Family Health Center")
    facts = [re.search(pattern, note) for pattern in FACTS]
    weeks, visits, strength, bladder = (f"{each[1]}." if each else "The note does not say." for each in facts)
    replies = {
        "NPI": f"{' '.join(clinic['identifier'][0]['value'])}.",
        "member ID as": f"{' '.join(coverage['subscriberId'])}.",
        "date of birth": f"{patient['birthDate']}.",
        "reference number of the request": f"{' '.join(reference)}.",
        "how many weeks": weeks,
        "How many visits": visits,
        "weakest muscle": strength,
        "bladder and bowel": bladder,
    }
    phone = sandboxes["phone"]
    call, heard = phone.dial(number), []
    for _ in range(MAX_TURNS):
        heard.append(phone.listen(call))
        if phone.show_call(call)["status"] == "ended":
            break
        question = max(replies, key=heard[-1].rfind)
        if question in heard[-1]:
            phone.say(call, replies[question])
    return " ".join(heard)


def fax_note(sandboxes, number, reference, note):
    """Fax the note under its reference number, and wait until it is delivered."""
    fax = sandboxes["fax"]
    sent = fax.send(f"+1{number}", text=note, cover={"subject": reference})
    while fax.status(sent["id"])["status"] in ("queued", "sending", "retrying"):
        sandboxes.wait("1m")


def wait_for_decision(sandboxes, reference):
    """Wait until the payer has decided again; return its decision."""
    portal = sandboxes["portal"]
    for _ in range(MAX_WAITS):
        sandboxes.wait("1h")
        portal.sign_in()
        text = portal.open(f"/requests/{reference}").text
        if re.search(r"\b(Approved|Denied)\b", text):
            break
    number = re.search(r"Authorization number:?\s+(\S+)", text)
    days = re.findall(r"\d\d/\d\d/\d{4}", text[text.index("Valid") :])[:2] if number else []
    return {
        "status": "approved" if number else "denied",
        "number": number and number[1],
        "valid_to": max(datetime.strptime(day, "%m/%d/%Y").date() for day in days).isoformat() if days else None,
    }
