"""Fax two referrals; wait for the retries of the line, and send again only what has failed for good."""

import base64
import re

UNDER_WAY = ("queued", "sending", "retrying")
FAX = {"system": "http://terminology.hl7.org/CodeSystem/v3-ParticipationMode", "code": "FAXWRIT"}
MAX_POSTS = 4


def on_task(task_item, sandboxes):
    found = re.findall(r"(\S+) (?:\S+ )?(\S+)\s+\(born (\S+?)\)\s+to\s+((?:\w+ )+(\w+))", task_item["instruction"])
    faxes = [prepare(sandboxes, *referral) for referral in found]
    for fax in faxes:
        post(sandboxes, fax)
    for fax in faxes:
        deliver(sandboxes, fax)
    return {fax["specialty"].lower(): fax["posts"] for fax in faxes}


def prepare(sandboxes, given, family, born, office, specialty):
    """Return what is faxed to whom: a cover page and the letter of an active referral."""
    ehr = sandboxes["ehr"]
    [patient] = ehr.search("Patient", given=given, family=family, birthdate=born)
    [request] = [
        each
        for each in ehr.search("ServiceRequest", patient=patient["id"], status="active")
        if each["code"]["text"] == f"Referral to {specialty.lower()}"
    ]
    reference = f"ServiceRequest/{request['id']}"
    [letter] = ehr.search("DocumentReference", patient=patient["id"], related=reference)
    [contact] = [each for each in sandboxes["fax"].contacts(name=office) if each["name"] == office]
    cover = f"FAX\n\nTo: {office}\nFrom: Riverbend Family Health Center\nRe: {given} {family}, born {born}\n2 pages"
    text = base64.b64decode(letter["content"][0]["attachment"]["data"]).decode()
    return {
        "office": office,
        "specialty": specialty,
        "to": contact["number"],
        "text": f"{cover}\f{text}",
        "patient": f"Patient/{patient['id']}",
        "referral": reference,
        "posts": 0,
    }


def post(sandboxes, fax):
    """Send a fax."""
    fax["id"] = sandboxes["fax"].send(fax["to"], text=fax["text"])["id"]
    fax["posts"] += 1


def deliver(sandboxes, fax):
    """Wait until a fax was delivered, and record it."""
    while (sent := wait(sandboxes, fax["id"]))["status"] != "delivered":
        if fax["posts"] == MAX_POSTS:
            return
        sandboxes.wait("15m")
        post(sandboxes, fax)
    sandboxes["ehr"].create(
        {
            "resourceType": "Communication",
            "status": "completed",
            "subject": {"reference": fax["patient"]},
            "basedOn": [{"reference": fax["referral"]}],
            "medium": [{"coding": [FAX]}],
            "sent": sent["status_at"],
            "payload": [{"contentString": f"Referral faxed to {fax['office']}"}],
        }
    )


def wait(sandboxes, id):
    """Wait until a fax has a final status; return it."""
    while (sent := sandboxes["fax"].status(id))["status"] in UNDER_WAY:
        sandboxes.wait("1m")
    return sent
