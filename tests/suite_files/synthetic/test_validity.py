"""All resources are valid, complete, and refer to existing resources."""

from datetime import datetime

from clerkship.formats.fhir.resource import get_key, list_references, parse_reference
from clerkship.formats.fhir.validation import validate
from tests.suite_files.synthetic.generated_clinic import cases, find_patient_key, generate_clinic

TYPES = {
    "Organization",
    "Location",
    "Practitioner",
    "PractitionerRole",
    "Patient",
    "Encounter",
    "Condition",
    "Observation",
    "DiagnosticReport",
    "MedicationRequest",
    "AllergyIntolerance",
    "Procedure",
    "Immunization",
    "ServiceRequest",
    "DocumentReference",
    "Coverage",
    "Schedule",
    "Slot",
    "Appointment",
    "Claim",
}


@cases
def test_every_resource_is_valid(seed: int, now: datetime) -> None:
    wrong = [
        (get_key(resource), issue) for resource in generate_clinic(seed, now).resources for issue in validate(resource)
    ]
    assert wrong == []


@cases
def test_every_reference_finds_its_target(seed: int, now: datetime) -> None:
    there = generate_clinic(seed, now).by_key
    lost = []
    for resource in there.values():
        for path, reference in list_references(resource):
            target = parse_reference(reference["reference"])
            if target is None or target.key not in there:
                lost.append((get_key(resource), path, reference["reference"]))
    assert lost == []


@cases
def test_display_of_a_reference_is_the_name_of_its_target(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    for resource in clinic.resources:
        for path, reference in list_references(resource):
            if reference["reference"].startswith("Patient/"):
                name = clinic.at(reference)["name"][0]
                assert name["family"] in reference["display"], (get_key(resource), path)
                assert name["given"][0] in reference["display"], (get_key(resource), path)


@cases
def test_every_type_occurs_and_ids_are_unique(seed: int, now: datetime) -> None:
    clinic = generate_clinic(seed, now)
    assert {resource["resourceType"] for resource in clinic.resources} == TYPES
    assert len(clinic.by_key) == len(clinic.resources)


@cases
def test_a_chart_has_about_sixty_to_eighty_resources(seed: int, now: datetime) -> None:
    assert 60 <= len(generate_clinic(seed, now).resources) / 100 <= 88


@cases
def test_no_resource_claims_a_profile(seed: int, now: datetime) -> None:
    for resource in generate_clinic(seed, now).resources:
        assert resource["meta"].keys() == {"versionId", "lastUpdated"}
        assert resource["meta"]["versionId"] == "1"


@cases
def test_resources_of_a_patient_refer_to_no_other_patient(seed: int, now: datetime) -> None:
    for resource in generate_clinic(seed, now).resources:
        patients = {ref["reference"] for _, ref in list_references(resource) if ref["reference"].startswith("Patient/")}
        assert len(patients) <= 1, get_key(resource)
        tag = next(iter(patients)).rpartition("-")[2] if patients else ""
        assert not tag or f"-{tag}" in resource["id"]


@cases
def test_references_within_a_chart_are_consistent(seed: int, now: datetime) -> None:
    """Encounters, conditions and orders that are referred to belong to the same patient."""
    clinic = generate_clinic(seed, now)
    owned = ("Encounter", "Condition", "Observation", "ServiceRequest", "Coverage", "Appointment")
    checked = 0
    for resource in clinic.resources:
        for _, reference in list_references(resource):
            target = clinic.at(reference)
            if target["resourceType"] in owned:
                assert find_patient_key(target) == find_patient_key(resource) is not None, get_key(resource)
                checked += 1
    assert checked > 1000
