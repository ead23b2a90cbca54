"""Read the referrals of a fax by their OCR text, check them against the chart, file them and book the visits."""

import re
from difflib import SequenceMatcher

ICD10 = "http://hl7.org/fhir/sid/icd-10-cm"
LETTERS = str.maketrans({"1": "I", "|": "I", "0": "O", "8": "B", "5": "S", "2": "Z", "6": "G"})
DIGITS = str.maketrans(
    {"O": "0", "o": "0", "Q": "0", "D": "0", "I": "1", "l": "1", "|": "1", "S": "5", "B": "8", "Z": "2"}
)
SPECIALTIES = {
    "cardiology": "Cardiology",
    "endocrinology": "Endocrinology",
    "nephrology": "Nephrology",
    "neurology": "Neurology",
    "orthopedics": "orthopedics",
    "psychiatry": "Psychiatry",
    "pulmonology": "Pulmon",
}
"""Specialty on a form -> a word in the calendar."""
ROUTINE_FROM = "2026-03-16"


def on_task(task_item, sandboxes):
    fax, drop = sandboxes["fax"], sandboxes["drop"]
    files = drop.list("inbox") if "folder" in task_item else []
    answers = []
    for arrived in fax.inbox():
        filed = find_filed(sandboxes["ehr"], arrived["id"])
        if filed is None:
            pages = read_pages(fax, arrived["id"])
            pages += get_missing_pages(sandboxes, arrived, pages)
            answers += [file_referral(sandboxes["ehr"], each) for each in split_referrals(pages)]
            filed = answers[-1]["mrn"]
        for path in files:
            if path.split("_from_")[1].startswith(arrived["sender"].removeprefix("+")):
                drop.rename(path, f"done/{filed}_{arrived['id']}.tif")
    return {"referrals": answers}


def find_filed(ehr, id):
    """Return the MRN of the patient for whom a fax is filed already."""
    for document in ehr.search("DocumentReference", identifier=id):
        patient = ehr.read(*document["subject"]["reference"].split("/"))
        return find_identifier(patient, "MR")
    return None


def read_pages(fax, id):
    """Return number, count, fax and text of each page, by the line at its top."""
    pages = []
    for text in fax.read_text(id).split("\f"):
        number, count = re.search(r"PAGE\s*(\d+)\s*/\s*(\d+)", text).groups()
        pages.append({"number": int(number), "count": int(count), "fax": id, "text": text})
    return pages


def get_missing_pages(sandboxes, arrived, pages):
    """Ask the sender for the pages that did not arrive, and wait for them."""
    fax = sandboxes["fax"]
    missing = sorted(set(range(1, pages[0]["count"] + 1)) - {page["number"] for page in pages})
    if not missing:
        return []
    numbers = " and ".join(map(str, missing))
    count = pages[0]["count"]
    text = f"Your fax of today had {count} pages, but not all of them arrived.\nPlease send page {numbers} again."
    fax.reply(arrived["id"], text=text)
    found = []
    while len(found) < len(missing):
        sandboxes.wait("10m")
        found = [page for answer in fax.inbox(address=arrived["sender"]) for page in read_pages(fax, answer["id"])]
    return found


def split_referrals(pages):
    """Return the pages of each referral."""
    referrals = []
    for page in sorted(pages, key=lambda page: page["number"]):
        if re.search(r"REFERRAL\W+\w", page["text"]):
            referrals.append([page])
        elif re.search(r"Referral of", page["text"]):
            referrals[-1].append(page)
    return referrals


def file_referral(ehr, pages):
    """File one referral, and book its visit."""
    text = "\n".join(page["text"] for page in pages)
    patient = find_patient(ehr, text)
    subject = {"reference": f"Patient/{patient['id']}"}
    specialty = find_specialty(text)
    schedule = find_schedule(ehr, specialty)
    doctor = next(actor for actor in schedule["actor"] if actor["reference"].startswith("Practitioner/"))
    # OCR does not read the ticks of the form; the reason says it in words.
    priority = "urgent" if re.search(r"(?i)within the\s+week", text) else "routine"
    ehr.create(
        {
            "resourceType": "ServiceRequest",
            "status": "active",
            "intent": "order",
            "priority": priority,
            "subject": subject,
            "code": {"text": f"Referral to {specialty}"},
            "performer": [{"reference": doctor["reference"]}],
            "reasonCode": [{"coding": [{"system": ICD10, "code": code}]} for code in find_codes(text)],
        }
    )
    faxes = sorted({page["fax"] for page in pages})
    attachments = [
        {
            "contentType": "image/tiff",
            "url": f"/faxes/{fax}",
            "title": name_pages([page["number"] for page in pages if page["fax"] == fax]),
        }
        for fax in faxes
    ]
    ehr.create(
        {
            "resourceType": "DocumentReference",
            "status": "current",
            "identifier": [{"value": fax} for fax in faxes],
            "type": {"coding": [{"system": "http://loinc.org", "code": "57133-1", "display": "Referral note"}]},
            "subject": subject,
            "content": [{"attachment": attachment} for attachment in attachments],
        }
    )
    start = book(ehr, schedule, doctor, subject, priority)
    return {"mrn": find_identifier(patient, "MR"), "priority": priority, "start": start}


def find_patient(ehr, text):
    """Return the patient of whom two of name, birth date and member ID are on the page."""
    line = re.search(r"(?i)PATIENT NAME[^\n]*\n([^\n]*)", text)
    words = re.findall(r"[^\W\d_]{3,}", line[1]) if line else []
    candidates = {each["id"]: each for word in words for each in ehr.search("Patient", family=word)}
    born = []
    for month, day, year in re.findall(r"\b(\d\d)/(\d\d)/(\d{4})\b", text.translate(str.maketrans("Ool", "001"))):
        if int(month) <= 12 and int(day) <= 31:
            born.append(f"{year}-{month}-{day}")
            candidates.update({each["id"]: each for each in ehr.search("Patient", birthdate=born[-1])})
    plain = normalize(text)
    scored = []
    for patient in candidates.values():
        score = patient["birthDate"] in born
        names = [*patient["name"][0]["given"][:1], patient["name"][0]["family"]]
        score += all(normalize(name) in plain for name in names)
        member = find_identifier(patient, "MB")
        score += bool(member) and normalize(member) in plain
        scored.append((score, patient["id"], patient))
    score, _, patient = max(scored)
    if score < 2:
        raise LookupError("no patient has two of name, birth date and member ID")
    return patient


def normalize(text):
    """Return letters and digits only; those that look alike are the same."""
    return re.sub(r"[^0-9A-Z]", "", text.upper().translate(DIGITS).upper().translate(DIGITS))


def find_identifier(patient, type):
    """Return an identifier of a patient by its type."""
    for each in patient["identifier"]:
        if each["type"]["coding"][0]["code"] == type:
            return each["value"]
    return None


def find_specialty(text):
    """Return the specialty that is most like the one of the heading."""
    heading = re.search(r"REFERRAL\W+(\w+)", text)[1].lower()
    return max(SPECIALTIES, key=lambda name: SequenceMatcher(None, name, heading).ratio())


def find_schedule(ehr, specialty):
    """Return the calendar of a specialty."""
    schedules = ehr.search("Schedule", active="true")
    [schedule] = [each for each in schedules if SPECIALTIES[specialty] in each["specialty"][0]["text"]]
    return schedule


def find_codes(text):
    """Return the ICD-10 codes of the table of diagnoses; a letter comes first, digits follow."""
    codes = re.findall(r"(?m)^\W*([A-Z0-9|][0-9OIlSBZ]{2})[.,]\s?([0-9OIlSBZ]{1,4})\b", text)
    return [
        f"{whole[0].translate(LETTERS)}{whole[1:].translate(DIGITS)}.{part.translate(DIGITS)}" for whole, part in codes
    ]


def name_pages(numbers):
    """Return how the pages of a document are named."""
    first, last = min(numbers), max(numbers)
    return f"page {first}" if first == last else f"pages {first}-{last}"


def book(ehr, schedule, doctor, subject, priority):
    """Book the first free slot that the rules allow; return when it begins."""
    query = {"schedule": schedule["id"], "status": "free", "_sort": "start", "_count": 1}
    if priority == "routine":
        query["start"] = f"ge{ROUTINE_FROM}"
    slot = ehr.bundle("Slot", query)["entry"][0]["resource"]
    ehr.create(
        {
            "resourceType": "Appointment",
            "status": "booked",
            "slot": [{"reference": f"Slot/{slot['id']}"}],
            "start": slot["start"],
            "end": slot["end"],
            "participant": [
                {"actor": subject, "status": "accepted"},
                {"actor": {"reference": doctor["reference"]}, "status": "accepted"},
            ],
        }
    )
    ehr.update({**slot, "status": "busy"}, f'W/"{slot["meta"]["versionId"]}"')
    return slot["start"]
