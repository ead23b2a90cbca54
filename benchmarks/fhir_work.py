"""The workloads of the FHIR benchmark: a chart of any size, and requests to it, the same for both sides."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import Resource, render_resource

START = datetime(2024, 1, 1, tzinfo=UTC)
MRN = "urn:example:mrn"
LOINC = "http://loinc.org"
PANEL = (
    ("2823-3", "Potassium [Moles/volume] in Serum or Plasma", "mmol/L", 4.1),
    ("2951-2", "Sodium [Moles/volume] in Serum or Plasma", "mmol/L", 140.0),
    ("2160-0", "Creatinine [Mass/volume] in Serum or Plasma", "mg/dL", 0.9),
    ("4548-4", "Hemoglobin A1c/Hemoglobin.total in Blood", "%", 5.6),
    ("8867-4", "Heart rate", "/min", 72.0),
)
OF_EACH = 10
"""One patient, and nine observations of theirs."""


def patient(number: int) -> Resource:
    """Return a patient of about a kilobyte."""
    line = [f"{number} Linden Street", f"Apartment {number % 50}"]
    return {
        "resourceType": "Patient",
        "id": f"patient-{number}",
        "meta": {"versionId": "1", "lastUpdated": "2024-01-01T00:00:00Z"},
        "text": {"status": "generated", "div": f'<div xmlns="http://www.w3.org/1999/xhtml">Patient {number}</div>'},
        "identifier": [
            {"use": "usual", "system": MRN, "value": f"MRN{number:07d}"},
            {"use": "secondary", "system": "urn:example:insurance", "value": f"INS-{number:09d}"},
        ],
        "active": True,
        "name": [{"use": "official", "family": f"Family{number % 997}", "given": [f"Given{number % 101}", "Maria"]}],
        "telecom": [
            {"system": "phone", "value": f"+1 555 {number % 10_000:04d}", "use": "home"},
            {"system": "email", "value": f"patient{number}@example.org", "use": "work"},
        ],
        "gender": ("female", "male")[number % 2],
        "birthDate": f"{1930 + number % 90}-{1 + number % 12:02d}-{1 + number % 28:02d}",
        "address": [
            {"use": "home", "line": line, "city": "Springfield", "state": "MA", "postalCode": f"{number % 100_000:05d}"}
        ],
        "communication": [{"language": {"coding": [{"system": "urn:ietf:bcp:47", "code": "en"}]}, "preferred": True}],
    }


def observation(number: int, subject: str) -> Resource:
    """Return a laboratory result of about 1.4 kilobytes."""
    code, display, unit, value = PANEL[number % len(PANEL)]
    taken = (START + timedelta(minutes=37 * number)).isoformat().replace("+00:00", "Z")
    category = "http://terminology.hl7.org/CodeSystem/observation-category"
    meaning = "http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation"
    quantity = {"unit": unit, "system": "http://unitsofmeasure.org", "code": unit}
    return {
        "resourceType": "Observation",
        "id": f"observation-{number}",
        "meta": {"versionId": "1", "lastUpdated": "2024-01-01T00:00:00Z"},
        "text": {"status": "generated", "div": f'<div xmlns="http://www.w3.org/1999/xhtml">{display}: {value}</div>'},
        "identifier": [{"system": "urn:example:accession", "value": f"A{number:09d}"}],
        "status": "final",
        "category": [{"coding": [{"system": category, "code": "laboratory", "display": "Laboratory"}]}],
        "code": {"coding": [{"system": LOINC, "code": code, "display": display}], "text": display},
        "subject": {"reference": subject, "display": "the patient"},
        "effectiveDateTime": taken,
        "issued": taken,
        "valueQuantity": {"value": round(value + number % 7 / 10, 1), **quantity},
        "interpretation": [{"coding": [{"system": meaning, "code": "N", "display": "Normal"}]}],
        "referenceRange": [{"low": {"value": value - 1, **quantity}, "high": {"value": value + 1, **quantity}}],
        "note": [{"text": "Drawn in the morning; the sample was neither haemolysed nor lipaemic."}],
    }


def resources(count: int) -> Iterator[Resource]:
    """Yield so many resources."""
    for number in range(count):
        whose, which = divmod(number, OF_EACH)
        yield patient(whose) if which == 0 else observation(number, f"Patient/patient-{whose}")


def chart(count: int) -> Chart:
    """Return a chart of so many resources."""
    return Chart(render_resource(resource) for resource in resources(count))


def transaction(size: int, number: int) -> dict[str, Any]:
    """Return a transaction of about so many bytes: a new patient and results that refer to the patient."""
    urn = f"urn:uuid:00000000-0000-4000-8000-{number:012d}"
    whom = {name: value for name, value in patient(number).items() if name not in ("id", "meta")}
    entries = [{"fullUrl": urn, "resource": whom, "request": {"method": "POST", "url": "Patient"}}]
    room, nth = size - len(render_resource(whom)) - 150, 0
    while room > 0:
        result = {name: value for name, value in observation(nth, urn).items() if name not in ("id", "meta")}
        entries.append({"resource": result, "request": {"method": "POST", "url": "Observation"}})
        room, nth = room - len(render_resource(result)) - 64, nth + 1
    return {"resourceType": "Bundle", "type": "transaction", "entry": entries}


@dataclass(frozen=True)
class Work:
    """A request that is repeated."""

    name: str
    method: str
    target: str
    body: bytes = b""
    most: int = 20_000
    """How often at most: a log holds fifty thousand events."""
    needs: bytes = b""
    """What a right answer contains; a peer that gives another cannot do it."""


def works(count: int) -> dict[str, Work]:
    """Return the requests for a chart of this size; in a tiny one, for tests, the transaction is small too."""
    bundle = render_resource(transaction(min(650_000, 650 * count), 1))
    middle = count // OF_EACH // 2
    day = (START + timedelta(minutes=37 * count // 2)).date()
    dates = f"date=ge{day}&date=lt{day + timedelta(days=1)}"
    known = quote(f"{MRN}|MRN{middle:07d}", safe=":")
    created = {**observation(3, f"Patient/patient-{middle}")}
    del created["id"], created["meta"]
    found = b'"observation-%d"' % (middle * OF_EACH + 1)
    listed = [
        Work("read", "GET", f"/Patient/patient-{middle}", needs=b'"patient-%d"' % middle),
        Work("search by token", "GET", f"/Patient?identifier={known}", needs=b'"patient-%d"' % middle),
        Work("search by date", "GET", f"/Observation?{dates}&_count=50", needs=b'"Observation"'),
        Work("search by chain", "GET", f"/Observation?subject:Patient.identifier={known}", needs=found),
        Work("create", "POST", "/Observation", render_resource(created), 5_000, b'"Observation"'),
        Work("transaction of 650 KB", "POST", "/", bundle, 60, b"transaction-response"),
    ]
    return {work.name: work for work in listed}
