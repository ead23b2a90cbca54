"""Choose the notes that a payer may see by what is written on them, and fax them with a cover sheet."""

import re
from datetime import date, datetime

CPT, ICD, NPI = "http://www.ama-assn.org/go/cpt", "http://hl7.org/fhir/sid/icd-10-cm", "http://hl7.org/fhir/sid/us-npi"
FIRST_DAY = date(2025, 9, 2)


def on_task(task_item, sandboxes):
    ehr, fax = sandboxes["ehr"], sandboxes["fax"]
    given, family, born = re.search(r"for (\S+) (?:\S+ )?(\S+)\s+\(born (\S+?)\)", task_item["instruction"]).groups()
    [patient] = ehr.search("Patient", given=given, family=family, birthdate=born)
    [order] = ehr.search("ServiceRequest", patient=patient["id"], status="active")
    [coverage] = ehr.search("Coverage", patient=patient["id"], status="active")
    clinician = ehr.read("Practitioner", order["requester"]["reference"].split("/")[1])
    diagnosis = get_code(order["reasonCode"][0], ICD)
    notes = sorted(choose_notes(sandboxes["drop"], patient, family, diagnosis))
    cover = [
        "PRIOR AUTHORIZATION REQUEST",
        "To: Cedar Mutual Prior Authorization",
        "From: Riverbend Family Health Center",
        f"Patient: {given} {family}, born {patient['birthDate']}",
        f"Member ID: {coverage['subscriberId']}",
        f"CPT: {get_code(order['code'], CPT)}    ICD-10: {diagnosis}",
        f"Ordered by: {clinician['name'][0]['text']}, NPI {get_value(clinician['identifier'], NPI)}",
        f"{len(notes) + 1} pages",
    ]
    [contact] = fax.contacts(name="Cedar Mutual Prior Authorization")
    sent = fax.send(contact["number"], text="\f".join(["\n".join(cover), *(text for _, text in notes)]))
    while fax.status(sent["id"])["status"] in ("queued", "sending", "retrying"):
        sandboxes.wait("1m")
    return {"member_id": coverage["subscriberId"], "notes": [day.isoformat() for day, _ in notes]}


def choose_notes(drop, patient, family, diagnosis):
    """Yield the day and the text of each note that the payer may see."""
    mrn = next(each["value"] for each in patient["identifier"] if each["system"].endswith("/mrn"))
    for path in drop.list("notes/paredes"):
        text = drop.read_text(path)
        name, born, number = re.search(r"Patient: (.+?)\s+Born: (\S+)\s+MRN: (\S+)", text).groups()
        day = parse_date(re.search(r"^Date: (\S+)", text, re.M)[1])
        is_of_patient = (name.split()[-1], parse_date(born).isoformat(), number) == (family, patient["birthDate"], mrn)
        is_signed = re.search(r"^Signed: \S", text, re.M)
        if is_of_patient and is_signed and day >= FIRST_DAY and f"Diagnosis: {diagnosis} " in text:
            yield day, text


def parse_date(text):
    """Return a date that is written as on the notes."""
    return datetime.strptime(text, "%m/%d/%Y").date()


def get_code(concept, system):
    """Return the code of a concept in a code system."""
    return next(each["code"] for each in concept["coding"] if each["system"] == system)


def get_value(identifiers, system):
    """Return the identifier of a system."""
    return next(each["value"] for each in identifiers if each["system"] == system)
