"""Send what an authorization covers to an organization that asks for records, or refuse."""

import base64
import re

BEHAVIORAL_HEALTH = re.compile(r"\bF\d\d(\.\d+)?\b")


def on_task(task_item, sandboxes):
    fax, answer = sandboxes["fax"], {"sent": [], "refused": []}
    requests = [fax.read_text(each["id"]) for each in fax.inbox()]
    ids = []
    for text in requests:
        reference = re.search(r"CR-?\s?(\d{5})", text)[1]
        number = "+1" + re.sub(r"\D", "", re.search(r"records to:\W*(\(\d{3}\) ?\d{3}-\d{4})", text)[1])
        [office] = fax.contacts(number=number)
        patient = find_patient(sandboxes["ehr"], text)
        permit = find_authorization(sandboxes, patient, office["name"])
        if permit:
            notes = list_notes(sandboxes["ehr"], patient, permit)
            pages = [build_cover(office, reference, patient, len(notes) + 1), *notes]
        else:
            pages = [f"To: {office['name']}\nYour request CR-{reference}: there is no valid authorization."]
        ids.append(fax.send(number, text="\f".join(pages))["id"])
        answer["sent" if permit else "refused"].append(f"CR-{reference}")
    while any(fax.status(id)["status"] in ("queued", "sending", "retrying") for id in ids):
        sandboxes.wait("1m")
    return answer


def build_cover(office, reference, patient, pages):
    """Return the cover page."""
    name = patient["name"][0]
    person = f"{name['given'][0]} {name['family']}, born {patient['birthDate']}"
    return f"To: {office['name']}\nYour request: CR-{reference}\nPatient: {person}\n{pages} pages"


def find_patient(ehr, text):
    """Return the patient whose birth date and family name are both on a page."""
    for born in re.findall(r"(\d\d)/(\d\d)/(\d{4})", text):
        for patient in ehr.search("Patient", birthdate="{2}-{0}-{1}".format(*born)):
            if patient["name"][0]["family"].lower() in text.lower():
                return patient
    return None


def find_authorization(sandboxes, patient, office):
    """Return what the patient permits this organization today, if anything."""
    today = sandboxes.now.date().isoformat()
    for consent in sandboxes["ehr"].search("Consent", patient=patient["id"], status="active"):
        permit = consent["provision"]
        recipients = [actor["reference"].get("display") for actor in permit["actor"]]
        if office in recipients and permit["period"]["start"] <= today <= permit["period"]["end"]:
            return permit
    return None


def list_notes(ehr, patient, permit):
    """Return the notes that an authorization covers, oldest first."""
    allowed, notes = permit["dataPeriod"], []
    for document in ehr.search("DocumentReference", patient=patient["id"], _sort="date"):
        text = base64.b64decode(document["content"][0]["attachment"]["data"]).decode()
        day = document["context"]["period"]["start"][:10]
        if allowed["start"] <= day <= allowed["end"] and not BEHAVIORAL_HEALTH.search(text):
            notes.append(text)
    return notes
