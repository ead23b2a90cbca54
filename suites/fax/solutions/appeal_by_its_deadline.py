"""Read a denial letter, wait for the record that answers its reason, and appeal before the deadline."""

import re
from datetime import datetime, timedelta, timezone

EASTERN = timezone(timedelta(hours=-5))


def on_task(task_item, sandboxes):
    fax = sandboxes["fax"]
    [letter] = fax.inbox()
    text = fax.read_text(letter["id"])
    reference = re.search(r"PA-\d{7}", text)[0]
    service = re.search(r"^\W*(\d{5}) MRI", text, re.M)[1]
    diagnosis = re.search(r"[A-Z]\d\d\.\d+", text)[0]
    day = re.search(r"received by: (\w+ \d+, ?\d{4}), 12:00 noon", text)[1].replace(", ", ",")
    deadline = datetime.strptime(day, "%B %d,%Y").replace(hour=12, tzinfo=EASTERN)
    number = "+1" + re.sub(r"\D", "", re.search(r"Fax to: (\(\d{3}\) \d{3}-\d{4})", text)[1])
    patient = find_patient(sandboxes["ehr"], text)
    [coverage] = sandboxes["ehr"].search("Coverage", patient=patient["id"], status="active")
    report = wait_for_report(sandboxes, patient, diagnosis, deadline)
    page = [
        "APPEAL",
        "To: Cedar Mutual Appeals",
        "From: Riverbend Family Health Center",
        f"Authorization no.: {reference}",
        f"Patient: {patient['name'][0]['text']}, born {patient['birthDate']}",
        f"Member ID: {coverage['subscriberId']}",
        f"Service: {service}",
        "",
        "You denied it because there was no report of supervised physical therapy.",
        "The report of the therapist is enclosed. It answers this reason.",
    ]
    files = {f"{number}.tif": fax.download(id, "tiff") for number, id in enumerate([letter["id"], report], 1)}
    sent = fax.send(number, text="\n".join(page), files=files)
    while fax.status(sent["id"])["status"] in ("queued", "sending", "retrying"):
        sandboxes.wait("1m")
    return {"reference": reference, "deadline": deadline.strftime("%Y-%m-%dT%H:%M")}


def find_patient(ehr, text):
    """Return the patient whose birth date and family name are both on a page."""
    for born in re.findall(r"(\d\d)/(\d\d)/(\d{4})", text):
        for patient in ehr.search("Patient", birthdate="{2}-{0}-{1}".format(*born)):
            if patient["name"][0]["family"].lower() in text.lower():
                return patient
    return None


def wait_for_report(sandboxes, patient, diagnosis, deadline):
    """Return the id of the fax with the report of physical therapy about this patient and this diagnosis."""
    fax, seen = sandboxes["fax"], set()
    while True:
        for arrived in fax.inbox(unread=False):
            if arrived["id"] in seen:
                continue
            seen.add(arrived["id"])
            text = fax.read_text(arrived["id"])
            is_report = re.search("report of physical therapy", text, re.I) and diagnosis in text
            if is_report and find_patient(sandboxes["ehr"], text) == patient:
                return arrived["id"]
        if sandboxes.now > deadline - timedelta(minutes=15):
            raise TimeoutError("the report has not come")
        sandboxes.wait("5m")
