"""Call a patient while the call to a payer is in the queue, and be back when a representative answers."""

import re
from datetime import datetime, timedelta


def on_task(task_item, sandboxes):
    phone, ehr, instruction = sandboxes["phone"], sandboxes["ehr"], task_item["instruction"]
    payer_part, patient_part = instruction.split("Second:")
    member = find_patient(ehr, *re.search(r"MRI of (\S+) .*?(\S+)\s+\(born (\S+?)\)", payer_part).groups())
    patient = find_patient(ehr, *re.search(r"(\S+)(?: \S+)? (\S+)\s+\(born (\S+?)\)", patient_part).groups())
    [coverage] = ehr.search("Coverage", patient=member["id"], status="active")
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    npi = clinic["identifier"][0]["value"]

    payer_call = phone.dial("+18005550142")
    for words, keys in (("NPI", npi), ("representative, press 0", "0")):
        listen_for(phone, payer_call, words)
        phone.press(payer_call, keys)
    listen_for(phone, payer_call, "in line")
    wait_until(phone, payer_call, "09:05")
    visit, brought_by = ask_patient(phone, patient)
    reference, fax = ask_representative(phone, payer_call, npi, coverage["subscriberId"], member["birthDate"])
    return {"reference": reference, "fax": fax, "visit": visit, "brought_by": brought_by}


def find_patient(ehr, given, family, born):
    """Return the patient with a name and a birth date."""
    [patient] = ehr.search("Patient", given=given, family=family, birthdate=born)
    return patient


def listen_for(phone, call, words, seconds=60):
    """Listen until the other side has said some words; return all that was heard."""
    heard = ""
    while words not in heard:
        heard += phone.listen(call, seconds)
    return heard


def wait_until(phone, call, clock):
    """Stay on the line until a time of the day."""
    now = datetime.fromisoformat(phone.hear(call, 1)["now"]) - timedelta(hours=5)  # New York in winter
    hour, minute = map(int, clock.split(":"))
    left = now.replace(hour=hour, minute=minute, second=5, microsecond=0) - now
    if left > timedelta(0):
        phone.wait(call, left.total_seconds())


def ask_patient(phone, patient):
    """Ask a patient for the birth date, and then which time they take; return it, and who brings them."""
    [number] = [each["value"] for each in patient["telecom"] if each["system"] == "phone"]
    call = phone.dial("+1" + re.sub(r"\D", "", number))
    listen_for(phone, call, "Hello")
    phone.say(call, "This is Riverbend Family Health Center. May I have your date of birth?")
    listen_for(phone, call, "born")
    phone.say(call, "Thank you. Your visit of today moves: to 11:15 a.m. or 2:45 p.m. Which one, and who brings you?")
    heard = listen_for(phone, call, "brings me")
    phone.say(call, "Thank you, goodbye.")
    phone.hear(call)
    hour, minute = map(int, re.search(r"take (\d+):(\d+)", heard).groups())
    return f"{hour + 12 if hour < 8 else hour:02}:{minute:02}", re.search(r"neighbor ([A-Z]\w+ [A-Z]\w+)", heard)[1]


def ask_representative(phone, call, npi, member_id, born):
    """Wait for a representative, and ask for the reference number and the number for records."""
    listen_for(phone, call, "my name is")
    phone.say(call, f"Our NPI is {' '.join(npi)}. The member ID is {' '.join(member_id)}, the date of birth {born}.")
    listen_for(phone, call, "help you")
    phone.say(call, "What is the status of the authorization?")
    heard = listen_for(phone, call, "anything else")
    reference = re.search(r"reference number is ([^.]+)\.", heard)[1]
    phone.say(call, "Where do I fax records?")
    heard = listen_for(phone, call, "anything else")
    fax = re.search(r"fax records to ([\d, ]+)\.", heard)[1]
    phone.say(call, "No, thank you. Goodbye.")
    phone.hear(call)
    return re.sub(r"\W", "", reference), re.sub(r"\W", "", fax)
