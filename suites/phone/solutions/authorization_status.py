"""Ask a payer's provider line for an authorization, by the number of the request."""

import re
from datetime import datetime

MAX_TURNS = 20


def on_task(task_item, sandboxes):
    ehr, phone, instruction = sandboxes["ehr"], sandboxes["phone"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    [coverage] = ehr.search("Coverage", beneficiary=patient["id"], status="active")
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    [order] = [
        each
        for each in ehr.search("ServiceRequest", patient=patient["id"], status="active")
        if "MRI of the brain" in each["code"]["text"]
    ]
    answers = {
        "date of birth": patient["birthDate"],
        "member ID": spell(coverage["subscriberId"]),
        "your 10-digit national provider identifier": clinic["identifier"][0]["value"],
        "status of an authorization, press": "2",
        "If you have a reference number, press": "2",
        "say the reference number": spell(order["identifier"][0]["value"]),
        "You entered": "1",
    }
    call = phone.dial(re.search(r"\(800\) [\d-]+", instruction)[0])
    heard = ""
    for _ in range(MAX_TURNS):
        heard = phone.listen(call)
        decision = re.search(r"(?:authorization|request) for .+ is (\w+)\. .* number is ([^.]+)\.", heard)
        if decision:
            break
        reply(phone, call, answers, heard)
    phone.hang_up(call)
    until = re.search(r"valid through ([A-Z]\w+ \d+, \d+)", heard)
    return {
        "status": decision[1],
        "number": re.sub(r"\W", "", decision[2]),
        "valid_until": datetime.strptime(until[1], "%B %d, %Y").date().isoformat() if until else None,
    }


def reply(phone, call, answers, heard):
    """Answer the last question of the line, by keys if that is possible."""
    question = max(answers, key=heard.rfind)
    if question not in heard:
        return
    if answers[question].isdigit():
        phone.press(call, answers[question])
    else:
        phone.say(call, answers[question])


def spell(code):
    """Return a code as it is read to a machine: letters and digits apart."""
    return " ".join(code)
