"""Ask a payer's provider line for the extension of an authorization, by what its menus say, not by an old sheet."""

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
        if "hysical therapy" in each["code"]["text"]
    ]
    last_day = datetime.strptime(re.search(r": (\w+ \d+, \d{4})\.", instruction)[1], "%B %d, %Y")
    answers = {
        "date of birth": datetime.fromisoformat(patient["birthDate"]).strftime("%m%d%Y"),
        "say the member ID": " ".join(coverage["subscriberId"]),
        "your 10-digit national provider identifier": clinic["identifier"][0]["value"],
        "say the authorization number": " ".join(order["identifier"][0]["value"]),
        "say the new last day": last_day.strftime("%m%d%Y"),
        "You entered": "1",
    }
    call = phone.dial(re.search(r"\(800\) [\d-]+", instruction)[0])
    key = opened = None
    for _ in range(MAX_TURNS):
        heard = phone.listen(call)
        choice = re.search(r"To extend an authorization, press (\d)", heard)
        opened = re.search(r"case number is ([\d, ]+)\.", heard)
        if opened:
            break
        if choice:
            key = choice[1]
            phone.press(call, key)
        else:
            reply(phone, call, answers, heard)
    phone.hang_up(call)
    return {"case": re.sub(r"\D", "", opened[1]), "key": key}


def reply(phone, call, answers, heard):
    """Answer the last question of the line, by keys if that is possible."""
    question = max(answers, key=heard.rfind)
    if question not in heard:
        return
    if answers[question].isdigit():
        phone.press(call, answers[question])
    else:
        phone.say(call, answers[question])
