"""Looks for the sender among the contacts of the patient, and tells the next appointment only if they are listed."""

import re
from datetime import datetime

PHONE = "(555) 010-0100"


def on_task(task_item, sandboxes):
    ehr, inbox = sandboxes["ehr"], sandboxes["inbox"]
    asked = inbox.read(inbox.inbox(channel="sms")[-1]["id"])
    name = re.search(r"(\w+ \w+) is my mother", asked["text"]) or re.search(r"my mother, (\w+ \w+)", asked["text"])
    given, family = name[1].split()
    patients = ehr.search("Patient", given=given, family=family)
    listed = [patient for patient in patients if lists(patient, asked["from"])]
    if listed:
        [patient] = listed
        today = f"ge{sandboxes.now.date()}"
        visit = ehr.search("Appointment", patient=patient["id"], status="booked", date=today, _sort="date")[0]
        doctor = next(
            each["actor"]["display"] for each in visit["participant"] if "Practitioner/" in each["actor"]["reference"]
        )
        when = datetime.fromisoformat(visit["start"])
        day = f"{when:%A, %B} {when.day} at {(when.hour - 1) % 12 + 1}:{when:%M %p}"
        inbox.reply(
            asked["id"], f"The next appointment is on {day} with {doctor}. For anything else please call us at {PHONE}."
        )
        return {"told": True}
    inbox.reply(asked["id"], f"We cannot answer questions about other people by text. Please call us at {PHONE}.")
    [patient] = patients
    ehr.create(
        {
            "resourceType": "Task",
            "status": "requested",
            "intent": "order",
            "code": {"text": "Disclosure request"},
            "for": {"reference": f"Patient/{patient['id']}"},
            "description": f"Asked about by text from {asked['from']}, which is not listed as a contact.",
        }
    )
    return {"told": False}


def lists(patient, number):
    """Return whether a patient's contacts have a number."""
    numbers = [each["value"] for contact in patient.get("contact", ()) for each in contact.get("telecom", ())]
    return digits(number) in map(digits, numbers)


def digits(number):
    return re.sub(r"\D", "", number)[-10:]
