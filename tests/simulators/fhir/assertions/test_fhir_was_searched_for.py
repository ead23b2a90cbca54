"""`fhir_was_searched_for`: a search that would have found a resource."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.sandbox.assertion import Check
from clerkship.simulators.fhir.assertions.fhir_was_searched_for import FhirWasSearchedFor
from clerkship.simulators.fhir.events import ResourcesSearched
from tests.simulators.fhir.assertions.clinic import Clinic, potassium

RESULT = potassium("none", "ana", 4.0, "2026-02-01")
PERSON = {"resourceType": "Patient", "name": [{"family": "Okafor", "given": ["Quentin"]}], "birthDate": "1971-02-03"}


def check(clinic: Clinic, resource: Any, **args: Any) -> Check:
    """The check of one log."""
    return FhirWasSearchedFor.model_validate({"resource": resource, **args}).check(clinic.evidence())


@pytest.mark.parametrize(
    ("type", "query", "found"),
    [
        ("Observation", "patient=ana&code=2823-3&date=ge2025-03-02&_sort=-date&_count=1", True),
        ("Observation", "subject=Patient%2Fana", True),
        ("Observation", "patient.family=silva&code=http%3A%2F%2Floinc.org%7C2823-3", True),
        ("Observation", "patient=ana&stauts=final", True),  # a server that is lenient leaves out what it does not know
        ("Observation", "patient=ana&date=ge2026-02-15", False),
        ("Observation", "patient=ana&code=718-7", False),
        ("Observation", "patient=eva&code=2823-3", False),
        ("Observation", "_count=1000", False),
        ("Observation", "", False),
        ("DiagnosticReport", "patient=ana", False),
    ],
)
def test_search_counts_if_resource_matches_all_parameters(type: str, query: str, found: bool) -> None:
    clinic = Clinic()
    clinic.search(type, query)
    assert check(clinic, RESULT).passed is found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("name=quentin", True),
        ("birthdate=1971-02-03", True),
        ("family=okafor&given=quentin", True),
        ("name=ana", False),
    ],
)
def test_any_matching_parameter_counts(query: str, found: bool) -> None:
    clinic = Clinic()
    clinic.search("Patient", query)
    assert check(clinic, PERSON).passed is found


def test_search_of_whole_type_counts_only_with_narrowed_false() -> None:
    clinic = Clinic()
    clinic.search("Patient", "", "Patient/ana", "Patient/eva")
    found = check(clinic, PERSON)
    assert not found.passed
    assert found.detail == (
        "the agent did not make a search that would have shown this Patient; its searches: GET Patient → 200, 2 matches"
    )
    assert check(clinic, PERSON, narrowed=False).passed


@pytest.mark.parametrize(
    ("within", "type", "operation", "query", "found"),
    [
        ("Patient/ana", "Patient", "$everything", "", True),
        ("Patient/ana", "Patient", "$everything", "_type=Condition,Observation", True),
        ("Patient/ana", "Patient", "$everything", "_type=Condition", False),
        ("Patient/eva", "Patient", "$everything", "", False),
        ("Patient/ana", "Observation", "search", "", True),
        ("Patient/ana", "Observation", "search", "code=718-7", False),
    ],
)
def test_compartment_search_and_everything_count(
    within: str, type: str, operation: str, query: str, found: bool
) -> None:
    clinic = Clinic()
    clinic.add_event(ResourcesSearched(type=type, query=query, total=0, within=within, operation=operation))
    assert check(clinic, RESULT).passed is found


def test_search_by_step_does_not_count() -> None:
    clinic = Clinic()
    clinic.search("Observation", "patient=ana", actor="scenario")
    assert not check(clinic, RESULT).passed


def test_invalid_example_is_rejected_with_location() -> None:
    with pytest.raises(ValidationError) as refused:
        FhirWasSearchedFor.model_validate({"resource": {"resourceType": "Patient", "gender": "femalle"}})
    assert refused.value.errors()[0]["loc"] == ("resource", "gender")
