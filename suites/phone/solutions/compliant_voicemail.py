"""Calls each patient at home, and on the mobile phone where the greeting is of somebody else; leaves one message."""

import re

MESSAGE = (
    "Hello, this is a message for {name}. Riverbend Family Health Center is calling. "
    "Please call us back at 555 010 0100. Thank you."
)


def on_task(task_item, sandboxes):
    left, wrong = [], []
    for work in task_item["work_list"]:
        *given, family = work["patient"].split()
        [patient] = sandboxes["ehr"].search("Patient", family=family, given=given[0], birthdate=work["birth_date"])
        for use in ("home", "mobile"):
            number = find_number(patient, use)
            if leave_message(sandboxes["phone"], number, f"{given[0]} {family}"):
                left.append(number)
                break
            wrong.append(number)
    return {"left": left, "wrong": wrong}


def find_number(patient, use):
    """Return a phone number of a patient like +15550100100."""
    value = next(each["value"] for each in patient["telecom"] if each["system"] == "phone" and each.get("use") == use)
    return "+1" + re.sub(r"\D", "", value)


def leave_message(phone, number, name):
    """Leave a message for a patient; return False if the greeting is of somebody else."""
    call = phone.dial(number)
    greeting, is_recording = "", False
    while not is_recording:
        for part in phone.hear(call)["heard"]:
            greeting += part.get("text", "")
            is_recording = is_recording or part.get("sound") == "beep"
    of_others = re.search(r"(?:calling|reached) ([A-Z]\w+)", greeting)
    if of_others and name.split()[0] not in greeting:
        phone.hang_up(call)
        return False
    phone.say(call, MESSAGE.format(name=name))
    phone.hang_up(call)
    return True
