"""The placer's number leads to the order; the result is based on it."""

from clerkship.plugin.hl7 import parse_message


def on_task(task_item, sandboxes):
    ehr, lab = sandboxes["ehr"], sandboxes["lab"]
    [entry] = lab.inbox()
    message = parse_message(entry["message"])
    [patient] = ehr.search("Patient", identifier=message.value("PID.3.1"))
    [order] = ehr.search("ServiceRequest", patient=patient["id"], identifier=message.value("OBR.2.1"))
    ehr.create(
        {
            "resourceType": "Observation",
            "status": "final",
            "identifier": [{"system": "https://stonegate.example/filler", "value": message.value("OBR.3.1")}],
            "basedOn": [{"reference": f"ServiceRequest/{order['id']}"}],
            "code": {"coding": [{"system": "http://loinc.org", "code": message.value("OBX.3.1")}]},
            "subject": {"reference": f"Patient/{patient['id']}"},
            "effectiveDateTime": "2026-02-27T09:00:00-05:00",
            "valueQuantity": {"value": float(message.value("OBX.5")), "unit": message.value("OBX.6.1")},
        }
    )
    ehr.update({**order, "status": "completed"})
    lab.acknowledge(entry["id"])
