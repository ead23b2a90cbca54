"""The Observation that has the filler number is the one to change."""

from clerkship.plugin.hl7 import parse_message


def on_task(task_item, sandboxes):
    ehr, lab = sandboxes["ehr"], sandboxes["lab"]
    [entry] = lab.inbox()
    message = parse_message(entry["message"])
    [patient] = ehr.search("Patient", identifier=message.value("PID.3.1"))
    [there] = ehr.search("Observation", patient=patient["id"], identifier=message.value("OBR.3.1"))
    before, after = there["valueQuantity"]["value"], float(message.value("OBX.5"))
    quantity = {**there["valueQuantity"], "value": after}
    note = [{"text": text} for text in message.values("NTE[*].3")]
    ehr.update({**there, "status": "corrected", "valueQuantity": quantity, "note": note})
    lab.acknowledge(entry["id"])
    return {"before": before, "after": after}
