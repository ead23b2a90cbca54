"""Takes calls of relatives, tells what a release in the chart covers, and takes a message for the rest."""

import re
from datetime import datetime

GREETING = "Riverbend Family Health Center, good morning. How can I help you?"
WHO = "What is the full name and the date of birth of the person you are calling about, please?"
MESSAGE = "I can take a message. At which number can we reach you, and what is it about?"
REFUSAL = f"I am sorry, we cannot say whether somebody is a patient here. {MESSAGE}"
NOT_COVERED = f"I am sorry, I cannot tell you anything about that. {MESSAGE}"
NUMBERS = dict(
    zip(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], "0123456789", strict=True)
)


def on_task(task_item, sandboxes):
    phone, calls = sandboxes["phone"], []
    while ringing := phone.calls(status="ringing"):
        phone.answer(ringing[0])
        calls.append({"from": ringing[0]["from"], "told": take_call(phone, sandboxes, ringing[0])})
    return {"calls": calls}


def take_call(phone, sandboxes, call):
    """Talk with a caller; return whether they were told something."""
    ehr = sandboxes["ehr"]
    words = ask(phone, call, GREETING)
    caller = re.search(r"(?:this is|morning,) (\w+ \w+)", words)[1]
    words += " " + ask(phone, call, WHO)
    patient = find_patient(ehr, words)
    covered = find_release(ehr, patient, caller, sandboxes.now.date().isoformat())
    told = bool(covered and "Appointments" in covered and "when" in words)
    refusal = REFUSAL
    if told:
        question = ask(phone, call, f"Thank you. {describe_visit(ehr, patient)} Is there anything else?")
        refusal = NOT_COVERED if "?" in question else ""
    if refusal:
        wish = ask(phone, call, refusal)
        while not find_number(wish):  # they insist
            wish = ask(phone, call, refusal)
        write_task(ehr, patient, caller, wish)
    ask(phone, call, "Thank you. Goodbye.")
    if phone.show_call(call)["status"] != "ended":
        phone.hang_up(call)
    return told


def ask(phone, call, text):
    """Say something, and return the answer."""
    phone.say(call, text)
    return phone.listen(call)


def find_patient(ehr, words):
    """Return the patient whose name and birth date are said."""
    month, day, year = re.search(r"([A-Z][a-z]+) (\d+)(?:st|nd|rd|th), (\d{4})", words).groups()
    born = datetime.strptime(f"{month} {day} {year}", "%B %d %Y").date()
    [patient] = [
        each
        for each in ehr.search("Patient", birthdate=born.isoformat())
        if each["name"][0]["family"] in words and each["name"][0]["given"][0] in words
    ]
    return patient


def find_release(ehr, patient, caller, today):
    """Return what a caller may be told of a patient; empty if nothing."""
    for consent in ehr.search("Consent", patient=patient["id"], status="active"):
        provision = consent["provision"]
        names = [each["reference"]["display"] for each in provision["actor"]]
        if caller in names and provision.get("period", {}).get("end", today) >= today:
            return provision["code"][0]["text"]
    return ""


def describe_visit(ehr, patient):
    """Return a sentence about the next appointment."""
    visit = ehr.search("Appointment", patient=patient["id"], status="booked", date="ge2026-03-02", _sort="date")[0]
    when = datetime.fromisoformat(visit["start"])
    doctor = next(
        each["actor"]["display"] for each in visit["participant"] if "Practitioner/" in each["actor"]["reference"]
    )
    hour = f"{(when.hour - 1) % 12 + 1}:{when:%M} {'AM' if when.hour < 12 else 'PM'}"
    return f"The next appointment is on {when:%A, %B} {when.day}, at {hour}, with {doctor.replace(', MD', '')}."


def find_number(words):
    """Return the phone number that is said digit by digit; None if there is none."""
    found = re.search(r"\d{10}", "".join(NUMBERS.get(word, " ") for word in re.findall(r"\w+", words.lower())))
    return found and found[0]


def write_task(ehr, patient, caller, wish):
    """Write the message of a caller."""
    number = find_number(wish)
    at = f"({number[:3]}) {number[3:6]}-{number[6:]}"
    about = "the memory pills" if "pills" in wish else "test results"
    ehr.create(
        {
            "resourceType": "Task",
            "status": "requested",
            "intent": "order",
            "priority": "routine",
            "code": {"text": "Message from a caller"},
            "for": {"reference": f"Patient/{patient['id']}"},
            "owner": {"reference": patient["generalPractitioner"][0]["reference"]},
            "description": f"{caller} called and wants a call at {at}, about {about}.",
        }
    )
