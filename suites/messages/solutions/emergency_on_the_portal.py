"""Read all messages first, answer the emergency, and then do the rest."""

import re

SYMPTOMS = re.compile(r"[^.!?]*\b(my chest|my breath|bleed\w*|slurred|suicid\w*)\b[^.!?]*[.!?]", re.IGNORECASE)
"""Sentences in which the writers say what they have themselves."""


def on_task(task_item, sandboxes):
    ehr, inbox = sandboxes["ehr"], sandboxes["inbox"]
    messages = [inbox.read(each["id"]) for each in inbox.inbox(channel="portal")]
    emergencies = [each for each in messages if SYMPTOMS.search(each["text"])]
    for message in emergencies:
        inbox.reply(message["id"], "Call 911 now. Our nurse will call you as well.")
        patient = ehr.read(*message["from"].split("/"))
        phones = {each.get("use"): each["value"] for each in patient["telecom"] if each["system"] == "phone"}
        phone = phones.get("mobile") or phones["home"]
        ehr.create(
            {
                "resourceType": "Task",
                "status": "requested",
                "intent": "order",
                "priority": "stat",
                "code": {"text": "Call now"},
                "description": f"{SYMPTOMS.search(message['text'])[0].strip()} {phone}",
                "for": {"reference": message["from"]},
                "owner": {"reference": "Practitioner/prac-01-nurse"},
            }
        )
    for message in messages:
        if message not in emergencies:
            inbox.reply(message["id"], "On Saturday you can pick up the form until 11:30 am, at the front desk.")
            inbox.close(message["thread"])
    return {"emergencies": [message["from"] for message in emergencies]}
