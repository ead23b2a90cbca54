"""Book a callback from the queue of a payer, take the call, and record what the representative says."""

import re
from datetime import datetime

LINE = "+18005550142"
PHONE = {"system": "http://terminology.hl7.org/CodeSystem/v3-ParticipationMode", "code": "PHONE"}


def on_task(task_item, sandboxes):
    phone, ehr = sandboxes["phone"], sandboxes["ehr"]
    given, family, born = re.search(r"MRI of (\S+) .*?(\S+)\s+\(born (\S+?),", task_item["instruction"]).groups()
    [patient] = ehr.search("Patient", given=given, family=family, birthdate=born)
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    own_number = re.search(r"telephone, \+1(\d+)", task_item["sandboxes"])[1]
    book(phone, clinic["identifier"][0]["value"], own_number)
    reference, missing, by = ask(phone, wait_for_call(sandboxes), coverage["subscriberId"])
    ehr.create(
        {
            "resourceType": "Communication",
            "status": "completed",
            "subject": {"reference": f"Patient/{patient['id']}"},
            "medium": [{"coding": [PHONE]}],
            "payload": [{"contentString": f"Cedar Mutual, reference number {reference}: needs {missing} by {by}."}],
        }
    )
    return {"reference": reference, "missing": missing, "by": by}


def book(phone, npi, number):
    """Call the line, and book a callback when its queue offers one."""
    call = phone.dial(LINE)
    for words, keys in (("NPI", npi), ("representative, press 0", "0"), ("call you back, press 1", "1")):
        listen_for(phone, call, words)
        phone.press(call, keys)
    listen_for(phone, call, "area code")
    phone.press(call, number)
    listen_for(phone, call, "press 1")
    phone.press(call, "1")
    listen_for(phone, call, "Goodbye")


def listen_for(phone, call, words):
    """Listen until the other side has said some words; return all that was heard."""
    heard = ""
    while words not in heard:
        heard += phone.listen(call)
    return heard


def wait_for_call(sandboxes):
    """Wait until the phone rings, and answer."""
    phone = sandboxes["phone"]
    while not (ringing := phone.calls(status="ringing")):
        sandboxes.wait("15s")
    return phone.answer(ringing[0])


def ask(phone, call, member_id):
    """Give the member ID; return the reference number, what is missing, and the day by which it is needed."""
    phone.say(call, "Riverbend Family Health Center, good morning.")
    listen_for(phone, call, "member ID")
    phone.say(call, f"It is {' '.join(member_id)}. What is missing, by when, and what is the reference number?")
    heard = listen_for(phone, call, "anything else")
    phone.say(call, "No, that is all. Thank you, goodbye.")
    phone.hear(call)
    number = re.search(r"reference number is ((?:\d ?)+)", heard)[1].replace(" ", "")
    missing, day = re.search(r"missing (.+?), and we need them by \w+, (\w+ \d+)", heard).groups()
    return number, missing, datetime.strptime(f"{day} 2026", "%B %d %Y").date().isoformat()
