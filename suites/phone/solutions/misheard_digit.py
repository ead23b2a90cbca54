"""Book a call on a line that mishears digits: confirm only what was read back right."""

import re

MAX_TURNS = 30


def on_task(task_item, sandboxes):
    ehr, phone, instruction = sandboxes["ehr"], sandboxes["phone"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    [coverage] = ehr.search("Coverage", beneficiary=patient["id"], status="active")
    [order] = [
        each
        for each in ehr.search("ServiceRequest", patient=patient["id"], status="active")
        if "MRI of the heart" in each["code"]["text"]
    ]
    line, direct = re.findall(r"\(\d{3}\)\s\d{3}-\d{4}", instruction)
    answers = {
        "member ID": " ".join(coverage["subscriberId"]),
        "date of birth": patient["birthDate"],
        "number of the request": order["identifier"][0]["value"],
        "10-digit phone number": re.sub(r"\D", "", direct),
    }
    call, entered, heard = phone.dial(line), "", ""
    for _ in range(MAX_TURNS):
        heard = phone.listen(call)
        if "confirmation number" in heard:
            break
        question = max(answers, key=heard.rfind)
        if question in heard:
            entered = answers[question]
            reply(phone, call, entered)
        elif "You entered" in heard:
            read_back = re.sub(r"\D", "", re.search(r"You entered ([\d, ]+)\.", heard)[1])
            phone.press(call, "1" if read_back == entered else "2")
    phone.hang_up(call)
    [booked] = re.findall(
        r"(Dr\. \w+ \w+) will call .* between ([\d:]+) and ([\d:]+) this afternoon.* number is ([\d, ]+)\.", heard
    )
    physician, start, end, number = booked
    return {
        "confirmation": re.sub(r"\D", "", number),
        "physician": physician,
        "from": to_24_hours(start),
        "to": to_24_hours(end),
    }


def reply(phone, call, answer):
    """Answer by keys if that is possible."""
    if answer.isdigit():
        phone.press(call, answer)
    else:
        phone.say(call, answer)


def to_24_hours(time):
    """Return a time of the afternoon as in 15:40."""
    hours, minutes = time.split(":")
    return f"{int(hours) + 12}:{minutes}"
