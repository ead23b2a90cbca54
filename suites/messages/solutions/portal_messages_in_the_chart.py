"""Answers through the inbox; the chart files the answers by itself."""

import re
from datetime import datetime


def on_task(task_item, sandboxes):
    ehr, inbox = sandboxes["ehr"], sandboxes["inbox"]
    messages = [inbox.read(each["id"]) for each in inbox.inbox(channel="portal")]
    for message in messages:
        patient = ehr.read(*message["from"].split("/"))
        address = re.search(r"[\w.]+@[\w.]*\w", message["text"])
        if address:
            new = {"system": "email", "use": "home", "value": address[0]}
            telecom = [new if each["system"] == "email" else each for each in patient["telecom"]]
            ehr.update({**patient, "telecom": telecom}, patient["meta"]["versionId"])
            inbox.reply(message["id"], f"Thank you, we will write to {address[0]} from now on.")
            continue
        today = f"ge{sandboxes.now.date()}"
        visit = ehr.search("Appointment", patient=patient["id"], status="booked", date=today, _sort="date")[0]
        when = datetime.fromisoformat(visit["start"])
        actors = [each["actor"] for each in visit["participant"]]
        doctor = next(actor["display"] for actor in actors if "Practitioner/" in actor["reference"])
        day = f"{when:%A, %B} {when.day} at {(when.hour - 1) % 12 + 1}:{when:%M %p}"
        inbox.reply(message["id"], f"Your next appointment is on {day} with {doctor}.")
    return {"answered": len(messages)}
