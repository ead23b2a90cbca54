"""Each message on its own: whose it is, by number, name and birth date; filed once; then acknowledged."""

from clerkship.plugin.hl7 import parse_message


def on_task(task_item, sandboxes):
    ehr, lab = sandboxes["ehr"], sandboxes["lab"]
    filed, rejected, answer = 0, 0, {}
    for entry in lab.inbox():
        message = parse_message(entry["message"])
        patient, objection = owner(ehr, message)
        if objection:
            rejected += 1
            lab.acknowledge(entry["id"], "AE", objection)
            continue
        filler = message.value("OBR.3.1")
        if not ehr.search("Observation", patient=patient["id"], identifier=filler):
            ehr.create(observation(message, patient))
            filed += 1
        lab.acknowledge(entry["id"], "AA")
        answer = {"patient": patient["id"], "value": float(message.value("OBX.5"))}
    answer = {"filed": filed, "rejected": rejected, **answer}
    return {key: value for key, value in answer.items() if f'"{key}":' in task_item["instruction"]}


def owner(ehr, message):
    number, family, born = (message.value(path) for path in ("PID.3.1", "PID.5.1", "PID.7"))
    found = ehr.search("Patient", identifier=number)
    if len(found) != 1:
        return None, f"no patient has the record number {number}"
    [patient] = found
    if patient["birthDate"].replace("-", "") != born[:8] or all(name["family"] != family for name in patient["name"]):
        return None, f"the record number {number} is not that of {family}, born {born}"
    return patient, ""


def observation(message, patient):
    status = {"P": "preliminary", "F": "final", "C": "corrected"}[message.value("OBX.11")]
    unit = message.value("OBX.6.1")
    return {
        "resourceType": "Observation",
        "status": status,
        "identifier": [{"system": "https://stonegate.example/filler", "value": message.value("OBR.3.1")}],
        "code": {
            "coding": [{"system": "http://loinc.org", "code": message.value("OBX.3.1")}],
            "text": message.value("OBX.3.2"),
        },
        "subject": {"reference": f"Patient/{patient['id']}"},
        "effectiveDateTime": instant(message.value("OBX.14")),
        "valueQuantity": {
            "value": float(message.value("OBX.5")),
            "unit": unit,
            "system": "http://unitsofmeasure.org",
            "code": unit,
        },
    }


def instant(text):
    day, time, zone = text[:8], text[8:14], text[14:]
    return f"{day[:4]}-{day[4:6]}-{day[6:]}T{time[:2]}:{time[2:4]}:{time[4:]}{zone[:3]}:{zone[3:]}"
