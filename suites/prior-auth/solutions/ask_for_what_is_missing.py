"""Hold an order back that does not meet the policy: call the line, read the policy, and fax the specialist's office."""

import base64
import re
from datetime import timedelta

SPECIALIST_FAX = "+15550177121"
MAX_TURNS = 60


def on_task(task_item, sandboxes):
    ehr, portal = sandboxes["ehr"], sandboxes["portal"]
    patient, order, coverage = find_order(ehr, task_item["instruction"])
    record = read_record(ehr, order["supportingInfo"][0]["reference"])
    line = re.search(r"\(800\) [\d-]+", task_item["instruction"])[0]
    ask_line(sandboxes, line, patient, order, coverage)
    portal.sign_in()
    policy, limit = read_policy(portal, order)
    taken = re.search(r"X-rays[^:]*on (\d{4}-\d\d-\d\d)", record)[1]
    oldest = (sandboxes.now.date() - timedelta(days=limit)).isoformat()
    missing = f"weight-bearing X-rays of the right knee, taken on {oldest} or later"
    fax_office(sandboxes, patient, policy, missing, taken)
    ehr.create(build_task(patient, order, policy, missing, taken))
    return {"status": "not filed", "policy": policy, "missing": missing, "taken": taken, "oldest": oldest}


def find_order(ehr, instruction):
    """Return the patient whom the task names, the order, and the coverage."""
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    orders = ehr.search("ServiceRequest", patient=patient["id"], status="active", intent="order")
    [order] = [each for each in orders if each["code"]["text"].startswith("MRI of the right knee")]
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    return patient, order, coverage


def read_record(ehr, reference):
    """Return the text of a document of the chart."""
    attachment = ehr.read(*reference.split("/"))["content"][0]["attachment"]
    return base64.b64decode(attachment["data"]).decode()


def read_policy(portal, order):
    """Return the policy in force with its version, and how many days old X-rays may be."""
    listed = portal.open("/policies", {"code": order["code"]["coding"][0]["code"]}).text
    row = r"(CM-\w+-\d+) version (\S+) .{0,90}? Medical policy \2 3 [\d/ ]+In force"
    id, version = re.search(row, listed).groups()
    text = portal.open(f"/policies/{id}/{version}").text
    return f"{id} version {version}", int(re.search(r"taken in the (\d+) days before", text)[1])


def fax_office(sandboxes, patient, policy, missing, taken):
    """Tell the office of the specialist what is missing, and wait until the fax is delivered."""
    fax = sandboxes["fax"]
    name = patient["name"][0]["text"]
    text = (
        f"Patient: {name}, born {patient['birthDate']}\n"
        f"The MRI of the right knee (73721) is not filed yet. {policy} of Cedar Mutual asks for {missing}.\n"
        f"Those in your note are of {taken}. Please have new ones taken, and send us the report."
    )
    sent = fax.send(SPECIALIST_FAX, text=text, cover={"subject": "Missing for an authorization"})
    while fax.status(sent["id"])["status"] in ("queued", "sending", "retrying"):
        sandboxes.wait("1m")


def build_task(patient, order, policy, missing, taken):
    """Return the Task for the clinician of the patient."""
    description = f"Not filed: {policy} asks for {missing}. Those on file are of {taken}. Orthopedics was asked by fax."
    return {
        "resourceType": "Task",
        "status": "requested",
        "intent": "order",
        "priority": "routine",
        "code": {"text": "Authorization on hold"},
        "focus": {"reference": f"ServiceRequest/{order['id']}"},
        "for": {"reference": f"Patient/{patient['id']}"},
        "owner": {"reference": patient["generalPractitioner"][0]["reference"]},
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
