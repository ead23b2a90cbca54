"""File the laboratory reports that came by fax: final ones, each once, with corrections; tell of critical results."""

import re
from datetime import datetime

TESTS = {
    "Sodium": ("2951-2", "mmol/L"),
    "Potassium": ("2823-3", "mmol/L"),
    "Creatinine": ("2160-0", "mg/dL"),
    "Glucose": ("2345-7", "mg/dL"),
    "Hemoglobin": ("718-7", "g/dL"),
}
TERMINOLOGY = "http://terminology.hl7.org/CodeSystem"


def on_task(task_item, sandboxes):
    ehr, fax = sandboxes["ehr"], sandboxes["fax"]
    reports = [read_report(fax, each["id"]) for each in fax.inbox()]
    filed, critical = [], []
    for accession in dict.fromkeys(report["accession"] for report in reports):
        versions = [report for report in reports if report["accession"] == accession]
        finals = [report for report in versions if report["status"] == "FINAL"]
        corrected = [report for report in versions if report["status"] == "CORRECTED"]
        if finals or corrected:
            report = [*finals[:1], *corrected][-1]
            critical += file_report(ehr, report, [*finals, report][0])
            filed.append(report["fax"])
    return {"filed": filed, "critical": critical}


def read_report(fax, id):
    """Return what a report says, from its OCR text."""
    text = fax.read_text(id)
    collected = re.search(r"COLLECTED[^\n]*\n\W*(\d\d/\d\d/\d{4} \d\d:\d\d)", text)[1]
    return {
        "fax": id,
        "status": re.search(r"REPORT\W+(FINAL|PRELIMINARY|CORRECTED)", text)[1],
        "accession": re.search(r"\bNG-\d{6}\b", text)[0],
        "born": re.search(r"DATE OF BIRTH[^\n]*\n[^\n]*?(\d\d)/(\d\d)/(\d{4})", text).groups(),
        "collected": datetime.strptime(f"{collected} -0500", "%m/%d/%Y %H:%M %z").isoformat(),
        "results": dict(read_results(text)),
        "text": text,
    }


def read_results(text):
    """Yield each test with its value and its flag."""
    for test in TESTS:
        row = re.search(rf"(?m)^\W*{test}\W+(\d+(?:\.\d+)?)\b(?:\W+(HH|LL|H|L)\b)?", text)
        if row:
            yield test, (row[1], row[2])


def find_patient(ehr, report):
    """Return the patient who has the birth date and the name on the report."""
    month, day, year = report["born"]
    born = ehr.search("Patient", birthdate=f"{year}-{month}-{day}")
    names = {patient["id"]: patient["name"][0] for patient in born}
    [patient] = [
        patient
        for patient in born
        if f"{' '.join(names[patient['id']]['given'])} {names[patient['id']]['family']}" in report["text"]
    ]
    return patient


def file_report(ehr, report, first):
    """File a report of which an earlier version may have other results; return the codes of critical results."""
    subject = {"reference": f"Patient/{find_patient(ehr, report)['id']}"}
    critical = []
    for test, (value, flag) in report["results"].items():
        is_corrected = first["results"].get(test, (value,))[0] != value
        ehr.create(build_observation(report, subject, test, "corrected" if is_corrected else "final"))
        if flag in ("HH", "LL"):
            critical.append(test)
    attachment = {"contentType": "image/tiff", "url": f"/faxes/{report['fax']}"}
    ehr.create(
        {
            "resourceType": "DocumentReference",
            "status": "current",
            "identifier": [{"value": report["fax"]}, {"value": report["accession"]}],
            "type": {"coding": [{"system": "http://loinc.org", "code": "11502-2", "display": "Laboratory report"}]},
            "subject": subject,
            "content": [{"attachment": attachment}],
        }
    )
    for test in critical:
        (code, unit), (value, _) = TESTS[test], report["results"][test]
        [observation] = ehr.search("Observation", identifier=report["accession"], code=code)
        leave_task(ehr, report, subject, observation, f"{report['accession']}: {test} {value} {unit}")
    return [TESTS[test][0] for test in critical]


def build_observation(report, subject, test, status):
    """Return one result as the chart has it."""
    (value, flag), (code, unit) = report["results"][test], TESTS[test]
    observation = {
        "resourceType": "Observation",
        "status": status,
        "identifier": [{"value": report["accession"]}],
        "category": [{"coding": [{"system": f"{TERMINOLOGY}/observation-category", "code": "laboratory"}]}],
        "code": {"coding": [{"system": "http://loinc.org", "code": code}], "text": test},
        "subject": subject,
        "effectiveDateTime": report["collected"],
        "valueQuantity": {
            "value": float(value) if "." in value else int(value),
            "unit": unit,
            "system": "http://unitsofmeasure.org",
            "code": unit,
        },
    }
    if flag:
        coding = {"system": f"{TERMINOLOGY}/v3-ObservationInterpretation", "code": flag}
        observation["interpretation"] = [{"coding": [coding]}]
    return observation


def leave_task(ehr, report, subject, observation, description):
    """Tell the clinician who ordered the test of a critical result."""
    [orderer] = [
        each
        for each in ehr.search("Practitioner", active="true")
        if any(identifier["value"] in report["text"] for identifier in each["identifier"])
    ]
    ehr.create(
        {
            "resourceType": "Task",
            "status": "requested",
            "intent": "order",
            "priority": "urgent",
            "code": {"text": "Critical result"},
            "for": subject,
            "owner": {"reference": f"Practitioner/{orderer['id']}"},
            "focus": {"reference": f"Observation/{observation['id']}"},
            "description": description,
        }
    )
