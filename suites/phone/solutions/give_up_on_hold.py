"""Wait twenty minutes in the queue of a payer, hang up, and write a Task to call again."""

import re
from datetime import datetime, timedelta

LINE = "+18005550143"
MAX_HOLD = timedelta(minutes=20)
PART = 30


def on_task(task_item, sandboxes):
    phone, ehr = sandboxes["phone"], sandboxes["ehr"]
    given, family, born = re.search(r"MRI of (\S+) .*?(\S+)\s+\(born (\S+?)\)", task_item["instruction"]).groups()
    [patient] = ehr.search("Patient", given=given, family=family, birthdate=born)
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    call = phone.dial(LINE)
    listen_for(phone, call, "NPI")
    phone.press(call, clinic["identifier"][0]["value"])
    listen_for(phone, call, "representative, press 0")
    phone.press(call, "0")
    position, answered = hold(phone, call)
    phone.hang_up(call)
    if not answered:
        ehr.create(
            {
                "resourceType": "Task",
                "status": "requested",
                "intent": "order",
                "code": {"text": "Call payer again"},
                "for": {"reference": f"Patient/{patient['id']}"},
                "executionPeriod": {"start": "2026-03-02T14:00:00-05:00"},
                "description": f"Call Harborlight Health again for a peer-to-peer review. "
                f"After twenty minutes on hold we were number {position} in line.",
            }
        )
    return {"reached": answered, "position": position}


def listen_for(phone, call, words):
    """Listen until the line has said some words."""
    heard = ""
    while words not in heard:
        heard += phone.listen(call)
    return heard


def hold(phone, call):
    """Wait in the queue as long as allowed; return the last place in line, and whether a representative answered."""
    position, since = None, None
    while True:
        reply = phone.hear(call, PART)
        now = datetime.fromisoformat(reply["now"])
        for part in reply["heard"]:
            text = part.get("text", "")
            if "connecting you" in text:
                return position, True
            if place := re.search(r"number (\d+) in line", text):
                position = int(place[1])
                since = since or datetime.fromisoformat(part["start"])
        if since and now >= since + MAX_HOLD:
            return position, False
