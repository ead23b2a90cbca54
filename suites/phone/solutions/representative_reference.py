"""Wait for a representative of a payer, ask for a peer-to-peer review, and record the number of its case."""

import re

PHONE = {"system": "http://terminology.hl7.org/CodeSystem/v3-ParticipationMode", "code": "PHONE"}
MAX_TURNS = 60


def on_task(task_item, sandboxes):
    ehr, phone, instruction = sandboxes["ehr"], sandboxes["phone"], task_item["instruction"]
    [patient] = ehr.search("Patient", identifier=re.search(r"MRN (\d+)", instruction)[1])
    [coverage] = ehr.search("Coverage", beneficiary=patient["id"], status="active")
    [clinic] = ehr.search("Organization", name="Riverbend Family Health Center")
    [order] = [
        each
        for each in ehr.search("ServiceRequest", patient=patient["id"], status="active")
        if "MRI of the lumbar spine" in each["code"]["text"]
    ]
    npi = clinic["identifier"][0]["value"]
    answers = {
        "national provider identifier": npi,
        "To speak with a representative, press": "0",
        "May I have your NPI": f"It is {' '.join(npi)}.",
        "What is the member ID": f"The member ID is {' '.join(coverage['subscriberId'])}.",
        "date of birth?": f"Born {patient['birthDate']}.",
        "How can I help": "I would like to ask for a peer to peer review of a denial.",
    }
    call = phone.dial(re.search(r"\(800\) [\d-]+", instruction)[0])
    opened = None
    for _ in range(MAX_TURNS):
        heard = phone.listen(call)
        opened = re.search(r"case number is ([\d, ]+)\.", heard)
        if opened:
            break
        reply(phone, call, answers, heard)
    number = re.sub(r"\D", "", opened[1])
    phone.say(call, "No, thank you. Goodbye.")
    phone.listen(call)
    if phone.show_call(call)["status"] != "ended":
        phone.hang_up(call)
    ehr.create(
        {
            "resourceType": "Communication",
            "status": "completed",
            "subject": {"reference": f"Patient/{patient['id']}"},
            "basedOn": [{"reference": f"ServiceRequest/{order['id']}"}],
            "medium": [{"coding": [PHONE]}],
            "sent": sandboxes.now.isoformat(),
            "payload": [{"contentString": f"Peer-to-peer review requested, case HL-{number}"}],
        }
    )
    return {"case": number}


def reply(phone, call, answers, heard):
    """Answer the last question of the other side, by keys if the line asks for them; otherwise go on listening."""
    question = max(answers, key=heard.rfind)
    if question not in heard:
        return
    if answers[question].isdigit():
        phone.press(call, answers[question])
    else:
        phone.say(call, answers[question])
