"""Sort the faxes of the morning: send back what is for others, file what is for a patient of ours, ask if in doubt."""

import re
from difflib import SequenceMatcher
from itertools import pairwise

OFFICE = "Riverbend Family Health Center"
ALIKE = str.maketrans("OQDILSBZ|", "000115821")
FINAL = ("delivered", "partial", "busy", "no_answer", "failed")


def on_task(task_item, sandboxes):
    return {"faxes": [{"fax": fax["id"], "done": sort_fax(sandboxes, fax)} for fax in sandboxes["fax"].inbox()]}


def sort_fax(sandboxes, arrived):
    """Do what the rules say about one fax; return what was done."""
    fax, ehr = sandboxes["fax"], sandboxes["ehr"]
    text = fax.read_text(arrived["id"])
    recipient = find_recipient(text)
    if recipient is None:
        fax.mark(arrived["id"])
        return "discarded"
    if recipient != OFFICE:
        send_back(sandboxes, arrived, text, recipient)
        return "returned"
    named = find_named(ehr, text)
    patients = [patient for patient in named if has_identifier(patient, text)]
    ids = [arrived["id"]]
    if not patients and len(named) > 1:
        answer = ask_for_birth_date(sandboxes, arrived, text)
        patients = [patient for patient in named if has_identifier(patient, fax.read_text(answer["id"]))]
        ids.append(answer["id"])
    if not patients:
        tell(sandboxes, arrived, f"{find_number(text)}: this is not a patient of ours. Nothing was filed.")
        return "refused"
    [patient] = patients
    file_letter(ehr, patient, ids)
    return "filed"


def find_recipient(text):
    """Return the office that a fax is for; None if it is for no office in particular."""
    if likely_ours(text):
        return OFFICE
    to = re.search(r"(?m)^To[:;.]+ *(.+?)[ .]*$", text)
    return to[1] if to else None


def likely_ours(text):
    """Return whether a line is the name of our office, though some letters may be wrong."""
    lines = (re.sub(r"^\W*To\W+", "", line).strip(" .'‘") for line in text.splitlines())
    return any(SequenceMatcher(None, line.lower(), OFFICE.lower()).ratio() > 0.85 for line in lines)


def find_number(text):
    """Return the reference number of a letter."""
    return re.search(r"\b[A-Z]{2}-\d{5}\b", text)[0]


def send_back(sandboxes, arrived, text, recipient):
    """Return a fax to its sender, and keep nothing of it."""
    fax, ehr, drop = sandboxes["fax"], sandboxes["ehr"], sandboxes["drop"]
    [sender] = fax.contacts(number=arrived["sender"])
    number = re.search(r"(?m)^Fax\W+(\(\d{3}\) \d{3}-\d{4})", text)[1]
    words = (
        f"MISDIRECTED\n\nThis fax ({find_number(text)}) is for {recipient}, fax {number}.\n"
        "It reached us by mistake. We return all of its pages, and keep no copy."
    )
    pages = fax.download(arrived["id"], "tiff")
    sent = fax.send(arrived["sender"], text=words, files={"fax.tif": pages}, in_reply_to=arrived["id"])
    wait_until_delivered(sandboxes, sent["id"])
    fax.delete_content(arrived["id"])
    for path in drop.list("inbox"):
        if arrived["sender"].removeprefix("+") in path:
            drop.delete(path)
    leave_task(ehr, "Misdirected fax", f"{arrived['id']} from {sender['name']}")


def tell(sandboxes, arrived, words):
    """Write to the sender of a fax."""
    sent = sandboxes["fax"].send(arrived["sender"], text=words, in_reply_to=arrived["id"])
    wait_until_delivered(sandboxes, sent["id"])


def ask_for_birth_date(sandboxes, arrived, text):
    """Ask the sender whom a letter is about; return the fax that answers."""
    words = f"{find_number(text)}: we cannot tell whom this is about. Please send us the full date of birth."
    tell(sandboxes, arrived, words)
    for _ in range(48):
        sandboxes.wait("10m")
        for answer in sandboxes["fax"].inbox(unread=False, address=arrived["sender"], since=arrived["at"]):
            if answer["id"] != arrived["id"]:
                return answer
    raise TimeoutError("the sender did not answer")


def wait_until_delivered(sandboxes, id):
    """Wait for the end of sending, with all its retries."""
    while (status := sandboxes["fax"].status(id)["status"]) not in FINAL:
        sandboxes.wait("1m")
    if status != "delivered":
        raise RuntimeError(f"{id}: {status}")


def find_named(ehr, text):
    """Return the patients whose given and family name stand side by side on the pages."""
    words = re.findall(r"[A-ZÀ-Ý][a-zß-ÿ'-]+", text)
    families = {family for _, family in pairwise(words)}
    patients = [patient for family in sorted(families) for patient in ehr.search("Patient", {"family:exact": family})]
    plain = " ".join(words)
    return [patient for patient in patients if re.search(build_name(patient), plain)]


def build_name(patient):
    """Return a pattern of a name; further given names may be left out."""
    name = patient["name"][0]
    first, *more = map(re.escape, name["given"])
    return rf"\b{first}" + "".join(rf"( {each})?" for each in more) + rf" {re.escape(name['family'])}\b"


def has_identifier(patient, text):
    """Return whether the birth date, our MRN or the member ID is on the pages."""
    year, month, day = patient["birthDate"].split("-")
    if re.search(rf"\b{month}/{day}/{year}\b", text):
        return True
    words = {normalize(word) for word in text.split()}
    return any(normalize(each["value"]) in words for each in patient["identifier"])


def normalize(text):
    """Return letters and digits only; those that look alike are the same."""
    return re.sub(r"\W", "", text).upper().translate(ALIKE)


def file_letter(ehr, patient, ids):
    """Put a letter into a chart, and ask the clinician to review it."""
    subject = {"reference": f"Patient/{patient['id']}"}
    attachment = {"contentType": "image/tiff", "url": f"/faxes/{ids[0]}"}
    ehr.create(
        {
            "resourceType": "DocumentReference",
            "status": "current",
            "identifier": [{"value": id} for id in ids],
            "type": {"coding": [{"system": "http://loinc.org", "code": "11488-4", "display": "Consult note"}]},
            "subject": subject,
            "content": [{"attachment": attachment}],
        }
    )
    owner = {"reference": patient["generalPractitioner"][0]["reference"]}
    leave_task(ehr, "Review report", ids[0], **{"for": subject, "owner": owner})


def leave_task(ehr, code, description, **more):
    """Leave work for a colleague."""
    task = {"status": "requested", "intent": "order", "code": {"text": code}, "description": description, **more}
    ehr.create({"resourceType": "Task", **task})
