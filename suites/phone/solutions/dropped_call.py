"""Have a case opened, and call again about the same case when the line drops."""

import re
from datetime import datetime

from clerkship.plugin import Refused

MAX_CALLS = 4
MAX_TURNS = 30


def on_task(task_item, sandboxes):
    ehr, phone, instruction = sandboxes["ehr"], sandboxes["phone"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    [coverage] = ehr.search("Coverage", beneficiary=patient["id"], status="active")
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    [order] = [
        each
        for each in ehr.search("ServiceRequest", patient=patient["id"], status="active")
        if "Sleep study" in each["code"]["text"]
    ]
    answers = {
        "10-digit NPI": clinic["identifier"][0]["value"],
        "your NPI, please": " ".join(clinic["identifier"][0]["value"]),
        "member ID": " ".join(coverage["subscriberId"]),
        "date of birth": patient["birthDate"],
        "a request that was denied, press 1": "1",
        "number of the request": " ".join(order["identifier"][0]["value"]),
        "To open a case": "1",
        "What can I do for you": "What is the case number, please?",
    }
    number = re.search(r"\(800\) [\d-]+", instruction)[0]
    for _ in range(MAX_CALLS):
        heard = call_line(phone, number, answers)
        told = re.search(r"case number is ([\d, ]+)\. .* due on ([A-Z]\w+ \d+, \d+)", heard)
        if told:
            due = datetime.strptime(told[2], "%B %d, %Y").date().isoformat()
            return {"case": re.sub(r"\D", "", told[1]), "decision_due": due}
        if "Your case is open" in heard:
            answers["a request that was denied, press 1"] = "2"
    return {"case": None, "decision_due": None}


def call_line(phone, number, answers):
    """Call the line, answer its questions until it tells the case number or hangs up, and return all words."""
    call, words = phone.dial(number), ""
    for _ in range(MAX_TURNS):
        heard = phone.hear(call)
        text = " ".join(part["text"] for part in heard["heard"] if "text" in part)
        words = f"{words} {text}"
        if heard["status"] == "ended":
            return words
        if "case number is" in text:
            break
        question = max(answers, key=text.rfind)
        if question in text:
            try:
                reply(phone, call, answers[question])
            except Refused:  # the line dropped meanwhile
                return words
    phone.hang_up(call)
    return words


def reply(phone, call, answer):
    """Answer by keys if that is possible."""
    if answer.isdigit():
        phone.press(call, answer)
    else:
        phone.say(call, answer)
