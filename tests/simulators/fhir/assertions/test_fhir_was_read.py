"""`fhir_was_read` and `fhir_was_not_read`: the resources that the agent received."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.model.errors import InputError
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.simulators.fhir.assertions.reads import FhirWasNotRead, FhirWasRead
from tests.simulators.fhir.assertions.clinic import Clinic, appointment, potassium


def build_visit() -> Clinic:
    """The agent looks for Ana, at her potassium, at how she was, and books; a step and a reaction look too."""
    clinic = Clinic()
    clinic.search("Patient", "family=silva", "Patient/ana", "Patient/eva")
    clinic.read("Patient/ana")
    clinic.search("Observation", "patient=ana", "Observation/k1", included=("Practitioner/doc",))
    clinic.history("Encounter/enc/_history/1")
    clinic.read("Observation/k3", "scenario")
    clinic.put(appointment("new", "ana"))
    clinic.read("Observation/k2")
    return clinic


def check(assertion: type[Assertion], args: Any, clinic: Clinic, about: str | None = None) -> Check:
    """The check of one log."""
    return assertion.model_validate(args).check(clinic.evidence(about))


@pytest.mark.parametrize(
    ("args", "about", "read"),
    [
        ("Patient", None, True),
        ({}, None, True),
        ({"resource_type": "Patient", "id": "ana"}, None, True),
        ({"id": "Patient/eva"}, None, True),
        ({"id": ["Patient/nobody", "Patient/eva"]}, None, True),
        ({"resource_type": "Observation", "id": "k3"}, None, False),  # a step read it
        ({"resource_type": "Practitioner"}, None, True),  # came along with a search
        ({"resource_type": "Encounter"}, None, True),  # in a history
        ({"resource_type": "Appointment"}, None, False),  # written is not read
        ({"resource_type": "Observation", "where": {"value.value": {"gt": 5}}}, None, True),
        ({"resource_type": "Observation", "where": {"value.value": {"gt": 6}}}, None, False),
        ({"where": {"value.value": {"gt": 5}}}, None, True),
        ({"resource_type": "Observation", "search": {"date": "ge2026-02-01"}}, None, True),
        ({"resource_type": "Observation", "search": {"status": "preliminary"}}, None, False),
        ({"resource_type": "Observation", "before": {"event": "fhir.resource.created"}, "id": "k1"}, None, True),
        ({"resource_type": "Observation", "before": {"event": "fhir.resource.created"}, "id": "k2"}, None, False),
        ({"id": "k2", "before": {"event": "fhir.resource.deleted"}}, None, True),  # never happened
        ("Observation", "patient", True),
        ({"resource_type": "Patient", "id": "eva"}, "patient", False),
        ("Encounter", "patient", True),
    ],
)
def test_was_not_read_is_negation_of_was_read(args: Any, about: str | None, read: bool) -> None:
    clinic = build_visit()
    assert check(FhirWasRead, args, clinic, about).passed is read
    assert check(FhirWasNotRead, args, clinic, about).passed is not read


@pytest.mark.parametrize("assertion", [FhirWasRead, FhirWasNotRead])
def test_type_that_cannot_reference_subject_is_an_error(assertion: type[Assertion]) -> None:
    with pytest.raises(InputError, match="Practitioner has no reference to a Patient"):
        check(assertion, "Practitioner", build_visit(), "patient")


def test_detail_names_resource_and_time_of_read() -> None:
    found = check(FhirWasRead, {"resource_type": "Observation"}, build_visit(), "patient")
    assert (
        found.detail
        == "the agent read Observation/k1, Observation/k2, first at #3: Observation about patient (Patient/ana)"
    )
    assert found.evidence[0].seq == 3


def test_failure_lists_resources_that_were_read() -> None:
    found = check(FhirWasRead, {"resource_type": "AllergyIntolerance"}, build_visit(), "patient")
    assert found.detail.startswith(
        "the agent read no AllergyIntolerance about patient (Patient/ana); it read Patient/ana,"
    )
    assert check(FhirWasRead, "Patient", Clinic()).detail == "the agent read no Patient; it read nothing"


@pytest.mark.parametrize(("count", "passed"), [(2, True), ({"gte": 3}, False), (0, False)])
def test_count_is_of_different_resources(count: Any, passed: bool) -> None:
    found = check(FhirWasRead, {"resource_type": "Patient", "count": count}, build_visit())
    assert found.passed is passed
    assert found.evidence[0].actual == 2


def test_was_not_read_lists_each_resource_with_request() -> None:
    found = check(FhirWasNotRead, {"resource_type": "Patient", "id": "eva"}, build_visit())
    assert found.detail == "the agent read Patient/eva, first at #1: Patient eva"
    assert [(row.path, row.actual, row.seq) for row in found.evidence] == [
        ("Patient/eva", "GET Patient?family=silva → 200, 2 matches", 1)
    ]


def test_where_applies_to_version_that_was_read() -> None:
    clinic = Clinic()
    clinic.read("Observation/k1")
    clinic.put(potassium("k1", "eva", 9.9, "2026-01-05"), "scenario")
    high = {"resource_type": "Observation", "where": {"value.value": 9.9}}
    assert not check(FhirWasRead, high, clinic).passed
    assert check(FhirWasRead, "Observation", clinic, "patient").passed
    clinic.read("Observation/k1", version="2")
    assert check(FhirWasRead, high, clinic).passed
    clinic.delete("Observation/k1", "scenario")
    assert check(FhirWasRead, high, clinic).passed


def test_vread_counts_with_content_of_that_version() -> None:
    clinic = Clinic()
    clinic.put(potassium("k1", "ana", 9.9, "2026-01-05"), "scenario")
    clinic.history("Observation/k1/_history/1")
    assert check(FhirWasRead, {"where": {"value.value": 4.1}}, clinic).passed
    clinic.history("Observation/k1/_history/2")
    assert check(FhirWasRead, {"where": {"value.value": 9.9}}, clinic).passed


@pytest.mark.parametrize(
    ("args", "passed"),
    [
        ({"patient_other_than": "patient"}, False),
        ({"patient_other_than": "patient", "except_types": ["Patient"]}, True),
        ({"patient_other_than": ["patient", "other"]}, True),
        ({"patient_other_than": "other", "resource_type": "Observation"}, False),
        ({"patient_other_than": "other", "resource_type": "Practitioner"}, True),  # nobody's
    ],
)
def test_patient_other_than_forbids_resources_of_other_patients(args: dict[str, Any], passed: bool) -> None:
    clinic = build_visit()
    evidence = clinic.evidence(other={"resourceType": "Patient", "id": "eva"})
    found = FhirWasNotRead.model_validate(args).check(evidence)
    assert found.passed is passed, found.detail


def test_detail_names_patients_whose_resources_were_read() -> None:
    clinic = build_visit()
    clinic.read("Observation/k3")
    found = check(FhirWasNotRead, {"patient_other_than": "patient", "except_types": ["Patient"]}, clinic)
    assert found.detail == "the agent read Observation/k3, first at #8: resource of a patient other than Patient/ana"


def test_resource_of_two_patients_is_allowed_for_either() -> None:
    clinic = Clinic()
    both = appointment("both", "eva")
    both["participant"].append({"actor": {"reference": "Patient/ana"}, "status": "accepted"})
    clinic.put(both, "scenario")
    clinic.read("Appointment/both")
    assert check(FhirWasNotRead, {"patient_other_than": "patient"}, clinic).passed
    clinic.read("Appointment/visit")
    assert not check(FhirWasNotRead, {"patient_other_than": "patient"}, clinic).passed


def test_entity_that_is_not_a_patient_is_an_error() -> None:
    evidence = build_visit().evidence(doc={"resourceType": "Practitioner", "id": "doc"})
    with pytest.raises(InputError, match="`doc` is a Practitioner, not a Patient"):
        FhirWasNotRead(patient_other_than="doc").check(evidence)
    with pytest.raises(InputError, match="`nobody` is not a FHIR resource"):
        FhirWasNotRead(patient_other_than="nobody").check(evidence)


@pytest.mark.parametrize(
    "args",
    [
        {"resource_type": "Pateint"},
        {"search": {"name": "x"}},
        {"resource_type": "Patient", "search": {"nmae": "x"}},
        {"resource_type": "Patient", "where": {"nam": "x"}},
        {"where": {"a..b": "x"}},
    ],
)
@pytest.mark.parametrize("assertion", [FhirWasRead, FhirWasNotRead])
def test_mistakes_are_rejected(assertion: type[Assertion], args: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        assertion.model_validate(args)
