"""Valid resources of common types, each with details that are easy to get wrong."""

from typing import Any

from clerkship.formats.fhir.resource import Resource

LOINC, UCUM, SNOMED = "http://loinc.org", "http://unitsofmeasure.org", "http://snomed.info/sct"
TERMS = "http://terminology.hl7.org/CodeSystem"
ABSENT = {"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}


def build_concept(system: str, code: str, text: str = "") -> dict[str, Any]:
    """Return a CodeableConcept with one coding."""
    return {"coding": [{"system": system, "code": code}], **({"text": text} if text else {})}


def build_reference(reference: str) -> dict[str, Any]:
    """Return a Reference."""
    return {"reference": reference}


PATIENT: Resource = {
    "resourceType": "Patient",
    "id": "ada",
    "meta": {"versionId": "3", "lastUpdated": "2026-02-28T08:30:00.125+01:00", "profile": ["http://example.org/p|1"]},
    "text": {"status": "generated", "div": '<div xmlns="http://www.w3.org/1999/xhtml"><p>Ada &amp; co</p></div>'},
    "extension": [{"url": "http://example.org/nested", "extension": [{"url": "part", "valueInteger": 4}]}],
    "identifier": [
        {"use": "usual", "system": "http://example.org/mrn", "value": "00042", "assigner": {"display": "We"}}
    ],
    "active": True,
    "name": [
        {"family": "Lovelace", "given": ["Ada", None], "_given": [None, {"extension": [ABSENT]}]},
        {"use": "nickname", "text": "Ada", "period": {"start": "2020", "end": "2020-06"}},
    ],
    "telecom": [{"system": "phone", "value": "+1 555 0100", "use": "mobile", "rank": 1}],
    "gender": "female",
    "birthDate": "1984-02-29",
    "_birthDate": {"id": "when", "extension": [{"url": "http://example.org/time", "valueDateTime": "1984-02-29"}]},
    "deceasedBoolean": False,
    "address": [{"use": "home", "line": ["1 Main St"], "city": "Springfield", "postalCode": "01101", "country": "US"}],
    "multipleBirthInteger": 2,
    "contact": [{"relationship": [build_concept(f"{TERMS}/v2-0131", "C")], "name": {"text": "Byron"}}],
    "communication": [{"language": build_concept("urn:ietf:bcp:47", "en"), "preferred": True}],
    "generalPractitioner": [build_reference("Practitioner/7"), {"type": "Organization", "identifier": {"value": "9"}}],
    "link": [{"other": build_reference("Patient/ada2"), "type": "seealso"}],
}
OBSERVATION: Resource = {
    "resourceType": "Observation",
    "id": "bp",
    "contained": [{"resourceType": "Device", "id": "cuff", "status": "active"}],
    "status": "final",
    "category": [build_concept(f"{TERMS}/observation-category", "vital-signs")],
    "code": build_concept(LOINC, "85354-9", "Blood pressure"),
    "subject": build_reference("Patient/ada"),
    "effectivePeriod": {"start": "2026-01-31T23:59:60Z", "end": "2026-02-01T00:10:00Z"},
    "issued": "2026-02-01T08:00:00Z",
    "performer": [
        build_reference("https://fhir.example.org/r4/Practitioner/7/_history/2"),
        build_reference("urn:uuid:1b7b3c1e-5f0a-4c0e-9d1c-0d0f0e0a0b0c"),
    ],
    "device": build_reference("#cuff"),
    "component": [
        {
            "code": build_concept(LOINC, "8480-6"),
            "valueQuantity": {"value": 128, "unit": "mmHg", "system": UCUM, "code": "mm[Hg]"},
        },
        {
            "code": build_concept(LOINC, "8462-4"),
            "dataAbsentReason": build_concept(f"{TERMS}/data-absent-reason", "unknown"),
        },
    ],
    "referenceRange": [{"low": {"value": 90.5}, "high": {"value": 140}, "text": "adult"}],
}
CONDITION: Resource = {
    "resourceType": "Condition",
    "clinicalStatus": build_concept(f"{TERMS}/condition-clinical", "resolved"),
    "verificationStatus": build_concept(f"{TERMS}/condition-ver-status", "confirmed"),
    "code": build_concept(SNOMED, "44054006", "Type 2 diabetes"),
    "subject": build_reference("Patient/ada"),
    "onsetAge": {"value": 41, "system": UCUM, "code": "a", "unit": "years"},
    "abatementString": "last year",
}
MEDICATION_REQUEST: Resource = {
    "resourceType": "MedicationRequest",
    "status": "active",
    "intent": "order",
    "medicationCodeableConcept": build_concept("http://www.nlm.nih.gov/research/umls/rxnorm", "860975"),
    "subject": build_reference("Patient/ada"),
    "authoredOn": "2026-02-28",
    "requester": build_reference("Practitioner/7"),
    "dosageInstruction": [
        {
            "timing": {"repeat": {"frequency": 2, "period": 1, "periodUnit": "d", "timeOfDay": ["08:00:00"]}},
            "asNeededBoolean": False,
            "doseAndRate": [{"doseQuantity": {"value": 1, "unit": "tablet"}}],
        }
    ],
    "dispenseRequest": {"numberOfRepeatsAllowed": 0, "expectedSupplyDuration": {"value": 30, "unit": "days"}},
}
APPOINTMENT: Resource = {
    "resourceType": "Appointment",
    "status": "booked",
    "start": "2026-03-02T09:00:00Z",
    "end": "2026-03-02T09:20:00Z",
    "minutesDuration": 20,
    "slot": [build_reference("Slot/1")],
    "participant": [{"actor": build_reference("Patient/ada"), "status": "accepted"}],
}
DOCUMENT: Resource = {
    "resourceType": "DocumentReference",
    "status": "current",
    "content": [{"attachment": {"contentType": "text/plain", "data": "SGVsbG8=", "hash": "SGVs bG8=", "size": 5}}],
}
ALLERGY: Resource = {
    "resourceType": "AllergyIntolerance",
    "clinicalStatus": build_concept(f"{TERMS}/allergyintolerance-clinical", "active"),
    "type": "allergy",
    "category": ["medication"],
    "criticality": "high",
    "code": build_concept(SNOMED, "91936005"),
    "patient": build_reference("Patient/ada"),
    "reaction": [{"manifestation": [build_concept(SNOMED, "247472004")], "severity": "mild"}],
}
COVERAGE: Resource = {
    "resourceType": "Coverage",
    "status": "active",
    "beneficiary": build_reference("Patient/ada"),
    "payor": [build_reference("Organization/payer")],
    "class": [{"type": build_concept(f"{TERMS}/coverage-class", "group"), "value": "A1"}],
    "costToBeneficiary": [{"valueMoney": {"value": 20.0, "currency": "USD"}}],
}
CLAIM: Resource = {
    "resourceType": "Claim",
    "status": "active",
    "type": build_concept(f"{TERMS}/claim-type", "professional"),
    "use": "claim",
    "patient": build_reference("Patient/ada"),
    "created": "2026-02-28T10:00:00-05:00",
    "provider": build_reference("Organization/us"),
    "priority": build_concept(f"{TERMS}/processpriority", "normal"),
    "insurance": [{"sequence": 1, "focal": True, "coverage": build_reference("Coverage/1")}],
    "item": [
        {
            "sequence": 1,
            "productOrService": build_concept("http://www.ama-assn.org/go/cpt", "99213"),
            "servicedDate": "2026-02",
        }
    ],
}
QUESTIONNAIRE: Resource = {
    "resourceType": "Questionnaire",
    "status": "draft",
    "item": [{"linkId": "1", "type": "group", "item": [{"linkId": "1.1", "type": "boolean", "text": "Well?"}]}],
}
BINARY: Resource = {"resourceType": "Binary", "contentType": "image/png", "data": "iVBORw0K"}
BUNDLE: Resource = {
    "resourceType": "Bundle",
    "type": "transaction",
    "entry": [
        {
            "fullUrl": "urn:uuid:3fdc72f4-a11d-4a9d-9260-a9f745779e1d",
            "resource": PATIENT,
            "request": {"method": "POST", "url": "Patient", "ifNoneExist": "identifier=42"},
        },
        {
            "resource": {**CONDITION, "subject": build_reference("Patient?identifier=42")},
            "request": {"method": "POST", "url": "Condition"},
        },
    ],
}
PARAMETERS: Resource = {
    "resourceType": "Parameters",
    "parameter": [{"name": "resource", "resource": DOCUMENT}, {"name": "mode", "valueCode": "create"}],
}
SAMPLES = (
    *(PATIENT, OBSERVATION, CONDITION, MEDICATION_REQUEST, APPOINTMENT, DOCUMENT, ALLERGY, COVERAGE, CLAIM),
    *(QUESTIONNAIRE, BINARY, BUNDLE, PARAMETERS),
)
