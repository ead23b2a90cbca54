"""Hears all voicemails, sorts them by what they are about, and writes the urgent Task first."""

import re

DIGITS = dict(
    zip(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], "0123456789", strict=True)
)
KINDS = [
    ("Urgent symptom", "stat", r"breath|no air|chest"),
    ("Refill request", "routine", r"renew|refill"),
    ("Reschedule", "routine", r"cannot come|another time"),
]


def on_task(task_item, sandboxes):
    ehr, phone = sandboxes["ehr"], sandboxes["phone"]
    heard = [phone.read_voicemail(each["id"]) for each in phone.voicemails(mailbox="front_office")]
    matters = {}
    for message in heard:
        if "billing" in message["text"]:
            phone.mark_voicemail(message["id"], read=False)
            continue
        kind = next((kind for kind in KINDS if re.search(kind[2], message["text"])), None)
        if kind:
            add_to_matter(ehr, matters, kind, message)
    answer = {"urgent": [], "routine": []}
    for matter in sorted(matters.values(), key=lambda each: each["priority"] != "stat"):
        write_task(ehr, matter)
        patient = f"Patient/{matter['patient']['id']}"
        answer["urgent" if matter["priority"] == "stat" else "routine"].append(patient)
    return answer


def add_to_matter(ehr, matters, kind, message):
    """Add a voicemail to the matter of its patient, or begin a new one."""
    patient = find_patient(ehr, message)
    number = find_number(message["text"])
    if patient is None:  # a relative, who calls from the number at which the patient wants to be called
        [matter] = [each for each in matters.values() if each["number"] == digits(message["from"])]
    else:
        code, priority, _ = kind
        new = {"code": code, "priority": priority, "patient": patient, "number": number, "messages": []}
        matter = matters.setdefault((patient["id"], code), new)
    matter["messages"].append(message)


def find_patient(ehr, message):
    """Return the patient whose number the voicemail came from, and whose name it has."""
    last = digits(message["from"])
    [*found] = ehr.search("Patient", phone=f"({last[:3]}) {last[3:6]}-{last[6:]}")
    return next((each for each in found if each["name"][0]["family"] in message["text"]), None)


def find_number(text):
    """Return the number that is said digit by digit."""
    spoken = "".join(DIGITS.get(word, " ") for word in re.findall(r"\w+", text.lower()))
    found = re.search(r"\d{10}", spoken)
    return found and found[0]


def digits(number):
    return re.sub(r"\D", "", number)[-10:]


def write_task(ehr, matter):
    """Write the Task of a matter."""
    patient, number = matter["patient"], matter["number"]
    texts = " / ".join(f"{each['id']}: {sum_up(each['text'])}" for each in matter["messages"])
    task = {
        "resourceType": "Task",
        "status": "requested",
        "intent": "order",
        "priority": matter["priority"],
        "code": {"text": matter["code"]},
        "for": {"reference": f"Patient/{patient['id']}"},
        "owner": {"reference": patient["generalPractitioner"][0]["reference"]},
        "description": f"{texts} Call back at ({number[:3]}) {number[3:6]}-{number[6:]}.",
    }
    if matter["code"] == "Reschedule":
        visits = ehr.search("Appointment", patient=patient["id"], status="booked", date="ge2026-03-02", _sort="date")
        task["focus"] = {"reference": f"Appointment/{visits[0]['id']}"}
    ehr.create(task)


def sum_up(text):
    """Return the sentences of a voicemail that say what it is about."""
    about = re.compile(r"air|breath|swollen|gray|atorvastatin|renew|cannot come|morning in")
    kept = [each for each in re.split(r"(?<=[.?!]) ", text) if about.search(each)]
    return " ".join(kept).replace("I have four of my cholesterol tablets left, the", "Renew the")
