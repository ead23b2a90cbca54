"""Hear when an office opens, wait until then, and ask about an authorization."""

import re
from datetime import datetime

MAX_TURNS = 30


def on_task(task_item, sandboxes):
    ehr, phone, instruction = sandboxes["ehr"], sandboxes["phone"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    [coverage] = ehr.search("Coverage", beneficiary=patient["id"], status="active")
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    number = re.search(r"\(800\)\s[\d-]+", instruction)[0]
    call = phone.dial(number)
    recording = phone.hear(call)
    phone.hang_up(call)
    words = " ".join(part["text"] for part in recording["heard"] if "text" in part)
    wait_until_open(sandboxes, words)
    answers = {
        "your NPI": " ".join(clinic["identifier"][0]["value"]),
        "member ID?": " ".join(coverage["subscriberId"]),
        "date of birth?": patient["birthDate"],
        "How can I help you": "What is the status of the authorization?",
    }
    call, heard = phone.dial(number), ""
    for _ in range(MAX_TURNS):
        heard = phone.listen(call)
        if "reference number is" in heard:
            break
        question = max(answers, key=heard.rfind)
        if question in heard:
            phone.say(call, answers[question])
    phone.hang_up(call)
    status = re.search(r"That (?:authorization|request) is (\w+)", heard)
    until = re.search(r"valid through ([A-Z]\w+ \d+, \d+)", heard)
    return {
        "status": status[1],
        "number": re.sub(r"\W", "", re.search(r"reference number is ([\w, ]+?)(?:, and|\.)", heard)[1]),
        "valid_until": datetime.strptime(until[1], "%B %d, %Y").date().isoformat() if until else None,
    }


def wait_until_open(sandboxes, words):
    """Wait until five minutes after the time that the recording names."""
    day, time = re.search(r"again on \w+, (\w+ \d+)\w\w, at ([\d:]+ [ap])\.m\.", words).groups()
    now = sandboxes.now
    opens = datetime.strptime(f"{now.year} {day} {time}m", "%Y %B %d %I:%M %p").replace(tzinfo=now.tzinfo)
    sandboxes.wait(f"{int((opens - now).total_seconds()) + 300}s")
