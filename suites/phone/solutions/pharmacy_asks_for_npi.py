"""Leave the authorization of a refill on the prescriber line of a pharmacy, with the NPI of the prescriber."""

import re

LINE = "+15550177060"
NPI = "http://hl7.org/fhir/sid/us-npi"
PHONE = {"system": "http://terminology.hl7.org/CodeSystem/v3-ParticipationMode", "code": "PHONE"}


def on_task(task_item, sandboxes):
    phone, ehr = sandboxes["phone"], sandboxes["ehr"]
    words = r"the (\w+) of (\S+) .*?(\S+)\s+\(born (\S+?)\)"
    drug, given, family, born = re.search(words, task_item["instruction"]).groups()
    own_number = re.search(r"telephone, \+1(\d+)", task_item["sandboxes"])[1]
    [patient] = ehr.search("Patient", given=given, family=family, birthdate=born)
    [prescription] = [
        each
        for each in ehr.search("MedicationRequest", patient=patient["id"], status="active")
        if drug in each["medicationCodeableConcept"]["text"]
    ]
    prescriber = ehr.read(*prescription["requester"]["reference"].split("/"))
    [npi] = [each["value"] for each in prescriber["identifier"] if each["system"] == NPI]
    message = word_message(patient, prescription, own_number)
    leave(phone, npi, message)
    ehr.create(
        {
            "resourceType": "Communication",
            "status": "completed",
            "subject": {"reference": f"Patient/{patient['id']}"},
            "basedOn": [{"reference": f"MedicationRequest/{prescription['id']}"}],
            "medium": [{"coding": [PHONE]}],
            "payload": [{"contentString": "Refill authorized by voicemail at Mill Street Pharmacy"}],
        }
    )
    return {
        "npi": npi,
        "medication": prescription["medicationCodeableConcept"]["text"],
        "quantity": prescription["dispenseRequest"]["quantity"]["value"],
        "refills": prescription["dispenseRequest"]["numberOfRepeatsAllowed"],
    }


def word_message(patient, prescription, own_number):
    """Return the message that the greeting of the voicemail asks for."""
    [name, *_] = patient["name"]
    supply, [dosage] = prescription["dispenseRequest"], prescription["dosageInstruction"]
    return (
        f"This is Riverbend Family Health Center with a refill authorization. "
        f"The patient is {name['given'][0]} {name['family']}, {spell(name['given'][0])}, {spell(name['family'])}, "
        f"born {patient['birthDate']}. {prescription['medicationCodeableConcept']['text']}. {dosage['text']} "
        f"Quantity {supply['quantity']['value']} tablets, {supply['numberOfRepeatsAllowed']} refills. "
        f"The prescriber is {prescription['requester']['display']}. Our number is {' '.join(own_number)}."
    )


def spell(word):
    """Return the letters of a word, one by one."""
    return " ".join(word.upper())


def leave(phone, npi, message):
    """Enter the NPI, and leave a message after the beep."""
    call = phone.dial(LINE)
    for words, keys in (("prescriber's office, press 2", "2"), ("10-digit NPI", npi), ("You entered", "1")):
        listen_for(phone, call, words)
        phone.press(call, keys)
    listen_for(phone, call, "message, press 1")
    phone.press(call, "1")
    while not any(part.get("sound") == "beep" for part in phone.hear(call)["heard"]):
        pass
    phone.say(call, message)
    phone.hang_up(call)


def listen_for(phone, call, words):
    """Listen until the line has said some words."""
    heard = ""
    while words not in heard:
        heard += phone.listen(call)
