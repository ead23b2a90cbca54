"""The first at once; then the inbox again, until the second is there."""

from clerkship.plugin.hl7 import parse_message


def on_task(task_item, sandboxes):
    ehr, lab = sandboxes["ehr"], sandboxes["lab"]
    [entry] = lab.inbox()
    first = parse_message(entry["message"])
    [patient] = ehr.search("Patient", identifier=first.value("PID.3.1"))
    unit = first.value("OBX.6.1")
    filed = ehr.create(
        {
            "resourceType": "Observation",
            "status": "preliminary",
            "identifier": [{"system": "https://stonegate.example/filler", "value": first.value("OBR.3.1")}],
            "code": {"coding": [{"system": "http://loinc.org", "code": first.value("OBX.3.1")}]},
            "subject": {"reference": f"Patient/{patient['id']}"},
            "effectiveDateTime": "2026-03-02T08:30:00-05:00",
            "valueQuantity": {"value": float(first.value("OBX.5")), "unit": unit},
        }
    )
    lab.acknowledge(entry["id"])
    while not (later := lab.inbox()):
        sandboxes.wait("10m")
    final = parse_message(later[0]["message"])
    ehr.update({**filed, "status": "final", "valueQuantity": {"value": float(final.value("OBX.5")), "unit": unit}})
    lab.acknowledge(later[0]["id"])
    return {"preliminary": float(first.value("OBX.5")), "final": float(final.value("OBX.5"))}
