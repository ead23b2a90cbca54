"""Read every page of a report; file it if all of them are about one patient, else report it and ask again."""

import base64
import re
from datetime import datetime

FORMATS = ("%m/%d/%Y", "%B %d, %Y")


def on_task(task_item, sandboxes):
    ehr, inbox = sandboxes["ehr"], sandboxes["inbox"]
    [listed] = inbox.inbox(channel="email")
    message = inbox.read(listed["id"])
    [file] = message["attachments"]
    content = inbox.attachment(file["id"])
    number = re.search(r"[A-Z]{2}-\d+", message["subject"])[0]
    people = find_people(content.decode())
    if len(people) > 1:
        office = inbox.contacts(address=message["from"])[0]["name"]
        leave_task(ehr, "Privacy incident", f"{number} from {office} has pages about more than one person")
        answer = f"{number} has pages about more than one person. Please send each report again separately."
    else:
        [(given, family, born)] = people
        [patient] = ehr.search("Patient", given=given, family=family, birthdate=born)
        reference = f"Patient/{patient['id']}"
        file_report(ehr, reference, number, file["name"], content)
        owner = patient["generalPractitioner"][0]["reference"]
        leave_task(ehr, "Review report", number, **{"for": {"reference": reference}, "owner": {"reference": owner}})
        answer = f"Thank you. We have received and filed {number}."
    inbox.reply(message["id"], answer, **{"from": "records@riverbend.example"})
    return {"report": number, "filed": len(people) == 1, "birth_dates": sorted(born for _, _, born in people)}


def find_people(text):
    """Return the people whom the pages are about: given name, family name, birth date."""
    found = re.findall(
        r"(?:Patient:|Re:) (\S+)(?: \S+)? ([^\s,]+),? +(?:Date of birth:|born) (\w+ \d+, \d{4}|\S+)", text
    )
    return {(given, family, parse_date(born)) for given, family, born in found}


def parse_date(text):
    """Return a date as the chart writes it."""
    for form in FORMATS:
        try:
            return datetime.strptime(text, form).date().isoformat()
        except ValueError:
            continue
    raise ValueError(text)


def file_report(ehr, patient, number, name, content):
    """Put a specialist's letter into a chart."""
    attachment = {"contentType": "text/plain", "title": name, "data": base64.b64encode(content).decode()}
    ehr.create(
        {
            "resourceType": "DocumentReference",
            "status": "current",
            "identifier": [{"value": number}],
            "type": {"coding": [{"system": "http://loinc.org", "code": "11488-4", "display": "Consult note"}]},
            "subject": {"reference": patient},
            "content": [{"attachment": attachment}],
        }
    )


def leave_task(ehr, code, description, **more):
    """Leave work for a colleague."""
    task = {"status": "requested", "intent": "order", "code": {"text": code}, "description": description, **more}
    ehr.create({"resourceType": "Task", **task})
