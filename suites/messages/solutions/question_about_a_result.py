"""Tell a released result; pass on the question about any other."""

TESTS = {"a1c": "4548-4", "potassium": "2823-3"}
RELEASED = ("final", "amended", "corrected")


def on_task(task_item, sandboxes):
    ehr, inbox = sandboxes["ehr"], sandboxes["inbox"]
    told, passed_on = [], []
    for listed in inbox.inbox(channel="portal"):
        message = inbox.read(listed["id"])
        patient = ehr.read(*message["from"].split("/"))
        [code] = [code for name, code in TESTS.items() if name in message["text"].lower()]
        latest = ehr.search("Observation", patient=patient["id"], code=code, _sort="-date")[0]
        if latest["status"] in RELEASED:
            value, day = latest["valueQuantity"], latest["effectiveDateTime"][:10]
            inbox.reply(message["id"], f"The result of the sample of {day} is {value['value']} {value['unit']}.")
            inbox.close(message["thread"])
            told.append(message["from"])
            continue
        clinician = patient["generalPractitioner"][0]
        ehr.create(
            {
                "resourceType": "Task",
                "status": "requested",
                "intent": "order",
                "code": {"text": "Result question"},
                "for": {"reference": message["from"]},
                "focus": {"reference": f"Observation/{latest['id']}"},
                "owner": {"reference": clinician["reference"]},
            }
        )
        inbox.reply(message["id"], f"The result is not released yet. {clinician['display']} will write to you.")
        passed_on.append(message["from"])
    return {"told": told, "passed_on": passed_on}
