"""Ask a payer's provider line about a claim; if it rejects the birth date of a note, use the one of the chart."""

import re
from datetime import datetime

MAX_TURNS = 20


def on_task(task_item, sandboxes):
    ehr, phone = sandboxes["ehr"], sandboxes["phone"]
    note, instruction = task_item["note"], task_item["instruction"]
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    visit = read_date(re.search(r"visit of (\w+ \d+, \d{4})", instruction)[1])
    answers = {
        "your 10-digit national provider identifier": clinic["identifier"][0]["value"],
        "For the status of a claim, press": "3",
        "say the member ID": " ".join(re.search(r"HL\d+", note)[0]),
        "date of birth, or": read_date(re.search(r"born (\w+ \d+, \d{4})", note)[1]).strftime("%m%d%Y"),
        "say the date of service": visit.strftime("%m%d%Y"),
    }
    call = phone.dial(re.search(r"\(800\) [\d-]+", instruction)[0])
    found = None
    for _ in range(MAX_TURNS):
        heard = phone.listen(call)
        found = re.search(r"Claim number ([^.]+), for .+ (paid|processed).+amount \w+ is \$([\d,]+\.\d\d)", heard)
        if found:
            break
        if "do not match our records" in heard:
            [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", note)[1])
            answers["date of birth, or"] = datetime.fromisoformat(patient["birthDate"]).strftime("%m%d%Y")
        reply(phone, call, answers, heard)
    phone.hang_up(call)
    return {
        "status": "paid" if found[2] == "paid" else "pending",
        "claim": re.sub(r"\W", "", found[1]),
        "amount": float(found[3].replace(",", "")),
        "birth_date": datetime.strptime(answers["date of birth, or"], "%m%d%Y").date().isoformat(),
    }


def read_date(text):
    """Read a date such as March 2, 2026."""
    return datetime.strptime(text, "%B %d, %Y").date()


def reply(phone, call, answers, heard):
    """Answer the last question of the line, by keys if that is possible."""
    question = max(answers, key=heard.rfind)
    if question not in heard:
        return
    if answers[question].isdigit():
        phone.press(call, answers[question])
    else:
        phone.say(call, answers[question])
