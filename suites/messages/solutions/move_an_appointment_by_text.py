"""Offers two times at a time, and moves the appointment when the patient has accepted one."""

import re
from datetime import datetime, time


def on_task(task_item, sandboxes):
    ehr, inbox = sandboxes["ehr"], sandboxes["inbox"]
    asked = inbox.read(inbox.inbox(channel="sms")[-1]["id"])
    number = asked["from"]
    patient = find_by_mobile(ehr, number)
    today = f"ge{sandboxes.now.date()}"
    visit = ehr.search("Appointment", patient=patient["id"], status="booked", date=today, _sort="date")[0]
    old = ehr.read(*visit["slot"][0]["reference"].split("/"))
    doctor = next(each["actor"] for each in visit["participant"] if "Practitioner/" in each["actor"]["reference"])
    asked_for = [("start", "ge2026-03-12"), ("start", "lt2026-03-13")]
    query = [("schedule", old["schedule"]["reference"]), ("status", "free"), ("_sort", "start"), *asked_for]
    slots = [slot for slot in ehr.search("Slot", query) if starts(slot).time() >= time(12)]
    said = ""
    while not (accepted := [slot for slot in slots[:2] if spoken(slot) in said and "works" in said]):
        if "until a quarter past two" in said:
            slots = [slot for slot in slots if starts(slot).time() >= time(14, 15)]
        first, second = slots[:2]
        said = ask(
            sandboxes,
            number,
            f"We have Thursday, March 12 at {spoken(first)} or {spoken(second)}. Which one suits you?",
        )
    [new] = accepted
    move(ehr, visit, old, new)
    name = doctor["display"].split(",")[0]
    inbox.send("sms", number, f"Done: your visit is now on Thursday, March 12 at {spoken(new)} PM with Dr. {name}.")
    return {"start": new["start"]}


def find_by_mobile(ehr, number):
    """Return the patient whose mobile number it is."""
    digits = re.sub(r"\D", "", number)[-10:]
    written = f"({digits[:3]}) {digits[3:6]}-{digits[6:]}"
    [patient] = ehr.search("Patient", phone=written)
    return patient


def starts(slot):
    return datetime.fromisoformat(slot["start"])


def spoken(slot):
    at = starts(slot)
    return f"{(at.hour - 1) % 12 + 1}:{at:%M}"


def ask(sandboxes, number, text):
    """Send a text, and return what was answered to it."""
    inbox = sandboxes["inbox"]
    sent = inbox.send("sms", number, text)
    while True:
        sandboxes.wait("5m")
        thread = inbox.thread(sent["thread"])["messages"]
        if thread[-1]["from"] == number:
            return thread[-1]["text"]


def move(ehr, visit, old, new):
    moved = {**visit, "start": new["start"], "end": new["end"], "slot": [{"reference": f"Slot/{new['id']}"}]}
    changed = [moved, {**old, "status": "free"}, {**new, "status": "busy"}]
    ehr.transaction({"resourceType": "Bundle", "type": "transaction", "entry": [put(each) for each in changed]})


def put(resource):
    url = f"{resource['resourceType']}/{resource['id']}"
    unchanged = f'W/"{resource["meta"]["versionId"]}"'
    return {"resource": resource, "request": {"method": "PUT", "url": url, "ifMatch": unchanged}}
