"""All booked appointments of the day by patient, without those who cannot be texted or do not want to be."""

import re
from datetime import datetime, timedelta


def on_task(task_item, sandboxes):
    ehr, inbox = sandboxes["ehr"], sandboxes["inbox"]
    day = sandboxes.now.date() + timedelta(days=1)
    visits = {}
    for visit in ehr.search("Appointment", date=f"{day}", status="booked", _sort="date"):
        [patient] = [
            each["actor"]["reference"] for each in visit["participant"] if "Patient/" in each["actor"]["reference"]
        ]
        visits.setdefault(patient, []).append(datetime.fromisoformat(visit["start"]))
    flags = ehr.search("Flag")
    refused = {
        flag["subject"]["reference"]
        for flag in flags
        if flag["status"] == "active" and flag["code"].get("text") == "No text messages"
    }
    opted_out = {digits(each["number"]) for each in inbox.consents() if each["consent"] == "opted_out"}
    to_call, texts = [], {}
    for reference, times in visits.items():
        patient = ehr.read(*reference.split("/"))
        mobile = next((each["value"] for each in patient["telecom"] if each.get("use") == "mobile"), None)
        if mobile is None or reference in refused or digits(mobile) in opted_out:
            to_call.append(next(each["value"] for each in patient["identifier"] if each["system"].endswith("/mrn")))
            continue
        said = " and ".join(f"{time:%H:%M}" for time in times)
        texts[mobile] = f"Riverbend Family Health Center: we expect you tomorrow, {day:%A, %B} {day.day}, at {said}."
    for mobile, text in texts.items():
        inbox.send("sms", mobile, text)
    return {"reminded": len(texts), "to_call": sorted(to_call)}


def digits(number):
    return re.sub(r"\D", "", number)[-10:]
