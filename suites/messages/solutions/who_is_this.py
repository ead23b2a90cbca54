"""Asks who has the phone, and compares name and birth date with the chart."""

import re
from datetime import datetime

WHO = "This is Riverbend Family Health Center. Whom do we write to? Please send your full name and date of birth."


def on_task(task_item, sandboxes):
    ehr, inbox = sandboxes["ehr"], sandboxes["inbox"]
    asked = inbox.read(inbox.inbox(channel="sms")[-1]["id"])
    digits = re.sub(r"\D", "", asked["from"])[-10:]
    written = f"({digits[:3]}) {digits[3:6]}-{digits[6:]}"
    [patient] = ehr.search("Patient", phone=written)
    said = ask(sandboxes, asked["from"], WHO)
    if is_patient(said, patient):
        today = f"ge{sandboxes.now.date()}"
        visit = ehr.search("Appointment", patient=patient["id"], status="booked", date=today, _sort="date")[0]
        when = datetime.fromisoformat(visit["start"])
        doctor = next(
            each["actor"]["display"] for each in visit["participant"] if "Practitioner/" in each["actor"]["reference"]
        )
        day = f"{when:%A, %B} {when.day} at {(when.hour - 1) % 12 + 1}:{when:%M %p}"
        inbox.send("sms", asked["from"], f"Thank you! We expect you on {day}, {doctor}.")
        return {"wrong_number": False}
    inbox.send("sms", asked["from"], "We are sorry, we had a wrong number. You will get no more texts from us.")
    kept = [each for each in patient["telecom"] if each["value"] != written]
    ehr.update({**patient, "telecom": kept}, patient["meta"]["versionId"])
    ehr.create(
        {
            "resourceType": "Task",
            "status": "requested",
            "intent": "order",
            "code": {"text": "Find new number"},
            "for": {"reference": f"Patient/{patient['id']}"},
            "description": "The mobile number in the chart belonged to somebody else and was taken out.",
        }
    )
    return {"wrong_number": True}


def is_patient(said, patient):
    """Return whether somebody gave the name and the birth date of a patient."""
    name = patient["name"][0]
    born = datetime.fromisoformat(patient["birthDate"])
    forms = [f"{born.month}/{born.day}/{born.year}", patient["birthDate"], f"{born:%B} {born.day}, {born.year}"]
    return name["family"] in said and name["given"][0] in said and any(form in said for form in forms)


def ask(sandboxes, number, text):
    """Send a text, and return what was answered to it."""
    inbox = sandboxes["inbox"]
    sent = inbox.send("sms", number, text)
    while True:
        sandboxes.wait("10m")
        answers = [each for each in inbox.thread(sent["thread"])["messages"] if each["direction"] == "inbound"]
        if answers and answers[-1]["at"] > sent["at"]:
            return answers[-1]["text"]
