"""`fhir_no_other_changes` with `ever`: reverted changes of the agent."""

from typing import Any

import pytest

from clerkship.sandbox.assertion import Check
from clerkship.simulators.fhir.assertions.fhir_no_other_changes import FhirNoOtherChanges
from tests.simulators.fhir.assertions.clinic import Clinic, appointment, potassium

K1 = potassium("k1", "ana", 4.1, "2026-01-05")
FILED = {
    "change": "created",
    "type": "Observation",
    "search": {"patient": "ana"},
    "elements": {
        "status": "final",
        "subject": {"exists": True},
        "code": {"exists": True},
        "effectiveDateTime": {"exists": True},
        "valueQuantity.value": 5.9,
        "valueQuantity.unit": {"exists": True},
    },
}


def check(clinic: Clinic, **args: Any) -> Check:
    """The check of one chart, at any time."""
    return FhirNoOtherChanges.model_validate({"ever": True, **args}).check(clinic.evidence())


def list_failed_rows(found: Check) -> list[tuple[str, int | None]]:
    """Return the rows that failed, and their event numbers."""
    return [(row.path, row.seq) for row in found.evidence if not row.passed]


def test_deleted_and_restored_resource_counts() -> None:
    clinic = Clinic()
    clinic.delete("Observation/k1")
    clinic.put(K1)
    assert check(clinic, ever=False).passed
    found = check(clinic)
    assert list_failed_rows(found) == [("temporarily: Observation/k1", 1)]
    assert "not allowed: temporarily: Observation/k1" in found.detail


def test_resource_created_for_other_patient_and_deleted_counts() -> None:
    clinic = Clinic()
    clinic.put(potassium("mine", "ana", 5.9, "2026-03-02"))
    clinic.delete(clinic.put(potassium("x", "eva", 5.9, "2026-03-02")))
    assert check(clinic, must=[FILED], ever=False).passed
    assert list_failed_rows(check(clinic, must=[FILED])) == [("temporarily: Observation/x", 2)]


def test_resource_of_unlisted_type_created_and_deleted_counts() -> None:
    clinic = Clinic()
    clinic.delete(clinic.put(appointment("x", "ana")))
    assert list_failed_rows(check(clinic, may=[FILED])) == [("temporarily: Appointment/x", 1)]
    assert check(clinic, may=[{"change": "created", "type": "Appointment"}]).passed  # for any patient


def test_reverted_update_counts() -> None:
    clinic = Clinic()
    clinic.patch("Patient/eva", "/active", False)
    clinic.put({"resourceType": "Patient", "id": "eva", "name": [{"family": "Silva", "given": ["Eva"]}]})
    assert check(clinic, ever=False).passed
    assert list_failed_rows(check(clinic)) == [("temporarily: Patient/eva: active", 1)]


@pytest.mark.parametrize("how", ["update", "delete and create"])
def test_earlier_version_of_own_resource_for_listed_patient_does_not_count(how: str) -> None:
    clinic = Clinic()
    clinic.put(potassium("new", "ana", 59, "2026-03-02"))
    if how != "update":
        clinic.delete("Observation/new")
    clinic.put(potassium("new" if how == "update" else "newer", "ana", 5.9, "2026-03-02"))
    found = check(clinic, must=[FILED | {"count": 1}])
    assert found.passed, found.detail


@pytest.mark.parametrize(("patient", "passed"), [("eva", True), ("ana", False)])
def test_deleted_draft_for_patient_of_listed_update_does_not_count(patient: str, passed: bool) -> None:
    clinic = Clinic()
    clinic.delete(clinic.put(appointment("x", patient)))
    clinic.patch("Appointment/visit", "/status", "cancelled")  # hers
    assert check(clinic, must=[{"change": "updated", "id": "Appointment/visit"}]).passed is passed


def test_draft_for_other_patient_counts() -> None:
    clinic = Clinic()
    clinic.put(potassium("new", "eva", 5.9, "2026-03-02"))
    clinic.put(potassium("new", "ana", 5.9, "2026-03-02"))
    assert check(clinic, must=[FILED], ever=False).passed
    assert list_failed_rows(check(clinic, must=[FILED])) == [("temporarily: Observation/new", 1)]


def test_earlier_value_in_existing_resource_counts_unless_listed() -> None:
    listed = {
        "id": "Appointment/visit",
        "where": {"comment": "moved"},
        "elements": {"status": "cancelled", "comment": "moved"},
    }
    clinic = Clinic()
    clinic.patch("Appointment/visit", "/status", "cancelled")
    clinic.patch("Appointment/visit", "/comment", "moved")
    assert check(clinic, must=[listed]).passed
    clinic.patch("Appointment/visit", "/status", "noshow")
    clinic.patch("Appointment/visit", "/status", "cancelled")
    assert check(clinic, must=[listed], ever=False).passed
    assert list_failed_rows(check(clinic, must=[listed])) == [("temporarily: Appointment/visit: status", 3)]


def test_must_not_applies_to_reverted_changes() -> None:
    clinic = Clinic()
    clinic.delete(clinic.put(appointment("x", "ana", "cancelled")))
    may = [{"change": "created", "type": "Appointment"}]
    assert check(clinic, may=may).passed
    assert not check(clinic, may=may, must_not=[{"type": "Appointment", "where": {"status": "cancelled"}}]).passed


def test_reverted_changes_of_others_do_not_count() -> None:
    clinic = Clinic()
    clinic.delete("Observation/k1", "scenario")
    clinic.put(K1, "scenario")
    assert check(clinic).passed


def test_remaining_change_is_reported_once() -> None:
    clinic = Clinic()
    clinic.patch("Patient/eva", "/active", False)
    clinic.patch("Patient/eva", "/active", True)
    assert list_failed_rows(check(clinic)) == [("Patient/eva: active", 2)]


@pytest.mark.parametrize(
    "subject", [{"display": "Eva"}, {"reference": "#other"}, {"identifier": {"value": "not a record number"}}]
)
def test_deleted_draft_without_patient_counts(subject: dict[str, Any]) -> None:
    clinic = Clinic()
    observation = {**potassium("x", "eva", 5.9, "2026-03-02"), "subject": subject}
    if "reference" in subject:
        observation["contained"] = [{"resourceType": "Patient", "id": "other"}]
    clinic.delete(clinic.put(observation))
    assert list_failed_rows(check(clinic, may=[FILED])) == [("temporarily: Observation/x", 1)]
