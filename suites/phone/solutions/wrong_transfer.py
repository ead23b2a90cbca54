"""Have provider services open a case; tell a wrong department nothing, and call again."""

import re

MAX_CALLS = 4
MAX_TURNS = 40


def on_task(task_item, sandboxes):
    ehr, phone, instruction = sandboxes["ehr"], sandboxes["phone"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    [coverage] = ehr.search("Coverage", beneficiary=patient["id"], status="active")
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    npi = clinic["identifier"][0]["value"]
    answers = {
        "10-digit national provider identifier": npi,
        "representative, press 0": "0",
        "your NPI, please": " ".join(npi),
        "What is the member ID?": " ".join(coverage["subscriberId"]),
        "date of birth?": patient["birthDate"],
        "How can I help you today": "Please open a case for a peer to peer review.",
    }
    wrong, number = None, re.search(r"\(800\)\s[\d-]+", instruction)[0]
    for _ in range(MAX_CALLS):
        heard = call_line(phone, number, answers)
        told = re.search(r"case number is ([\d, ]+)\.", heard)
        if told:
            return {"case": re.sub(r"\D", "", told[1]), "wrong_department": wrong}
        department = re.search(r"holding\. ([\w ]+), this is", heard)
        wrong = department[1] if department else wrong
    return {"case": None, "wrong_department": wrong}


def call_line(phone, number, answers):
    """Call the line until a case is open; hang up when another department answers. Return the words since the last
    answer: one sentence may be heard in two parts.
    """
    call, text = phone.dial(number), ""
    for _ in range(MAX_TURNS):
        heard = phone.hear(call)
        text = " ".join([text, *(part["text"] for part in heard["heard"] if "text" in part)])
        if heard["status"] == "ended":
            return text
        if "case number is" in text or ("this is" in text and "rovider services" not in text):
            break
        question = max(answers, key=text.rfind)
        if question in text:
            reply(phone, call, answers[question])
            text = ""
    phone.hang_up(call)
    return text


def reply(phone, call, answer):
    """Answer by keys if that is possible."""
    if answer.isdigit():
        phone.press(call, answer)
    else:
        phone.say(call, answer)
