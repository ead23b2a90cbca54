"""`fhir_resource_state`: resources in the final chart have the expected fields."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.events.states import NoSuchState
from clerkship.model.errors import InputError
from clerkship.sandbox.assertion import Check
from clerkship.simulators.fhir.assertions.fhir_resource_state import FhirResourceState
from tests.simulators.fhir.assertions.clinic import ANA, Clinic, appointment

K = {"resource_type": "Observation", "search": {"patient": "Patient/ana", "_sort": "date"}}
FINAL = {"path": "status", "expected": "final"}
HIGH = {"path": "value.value", "expected": {"gt": 5}}


def check(args: dict[str, Any], clinic: Clinic | None = None, about: str | None = None, **entities: Any) -> Check:
    """The check of one chart."""
    evidence = (clinic or Clinic()).evidence(about, **entities)
    return FhirResourceState.model_validate(args).check(evidence)


@pytest.mark.parametrize(
    "args",
    [
        {"resource_type": "Patient"},
        {"resource_type": "Patient", "search": {"family": "silva", "given": "eva"}},
        {"resource_type": "Patient", "search": {"active": True, "birthdate": ["ge1960-01-01", "lt1970-01-01"]}},
        {"resource_type": "Patient", "search": {"_id": "ana"}, "fields": [{"path": "active", "expected": True}]},
        K | {"fields": [FINAL, {"path": "valueQuantity.value", "expected": 4.1}]},
        K | {"fields": [{"path": "code.coding.where(system = 'urn:lab').code", "expected": "K"}]},
        K | {"fields": [{"path": "code.coding.code", "expected": ["2823-3", "K"]}]},
        K | {"fields": [{"path": "note", "expected": None}, {"path": "interpretation", "expected": {"exists": False}}]},
        K | {"fields": [{"path": "code.coding.code", "expected": {"not": "1234-5"}}]},
        K | {"search": {"patient": "Patient/ana", "_sort": "-date"}, "fields": [HIGH]},
        K | {"which": "any", "fields": [HIGH, FINAL]},
        K | {"which": "all", "fields": [FINAL]},
        K | {"count": 2},
        K | {"count": {"lt": 2}, "fields": [HIGH]},
        {"resource_type": "Observation", "none": True, "search": {"status": "cancelled"}},
        {"resource_type": "Observation", "none": True, "fields": [{"path": "status", "expected": "cancelled"}]},
        {"resource_type": "Patient", "sandbox": "ehr"},
    ],
)
def test_matching_resources_pass(args: dict[str, Any]) -> None:
    found = check(args)
    assert found.passed, found.detail
    assert found.score == 1.0


def test_path_may_use_time_at_end_of_run() -> None:
    clinic = Clinic()
    clinic.put(appointment("visit", "eva"))
    for path in ("start > now()", "start < today() + 8 days", "now() = @2026-03-02T09:00:00.000+00:00"):
        args = {"resource_type": "Appointment", "fields": [{"path": path, "expected": True}]}
        found = check(args, clinic)
        assert found.passed, found.detail


@pytest.mark.parametrize(
    ("args", "score", "detail"),
    [
        (
            K | {"fields": [FINAL, HIGH]},
            0.0,
            "Observation/k1 is there, but not as expected: value.value is 4.1, expected more than 5 (the first of 2 ",
        ),
        (
            {
                "resource_type": "Observation",
                "which": "any",
                "fields": [HIGH, {"path": "status", "expected": "amended"}],
            },
            0.0,
            "Observation/k2 is there (the nearest of 3), but not as expected: status is 'final', expected 'am",
        ),
        (
            {"resource_type": "Observation", "which": "all", "fields": [FINAL]},
            0.0,
            "Observation that has status 'final': 2 of 3 as expected; not Observation/k3: status is 'prelim",
        ),
        (
            {
                "resource_type": "Patient",
                "search": {"family": "Jones"},
                "fields": [{"path": "active", "expected": True}],
            },
            0.0,
            "there is no Patient with family=Jones",
        ),
        ({"resource_type": "Patient", "which": "all", "search": {"family": "Jones"}}, 0.0, "there is no Patient"),
        (K | {"count": 3}, 0.0, "Observation with patient=Patient/ana&_sort=date: Observation/k1, Observation/k2 (exp"),
        (
            {"resource_type": "Observation", "none": True, "fields": [HIGH]},
            0.0,
            "Observation that has value.value more than 5: Observation/k2 (expected 0)",
        ),
        (K | {"fields": [{"path": "code.coding.code", "expected": {"not": "K"}}]}, 0.0, "Observation/k1 is there, but"),
    ],
)
def test_mismatch_in_an_untouched_chart_has_a_reason_and_no_score(
    args: dict[str, Any], score: float, detail: str
) -> None:
    found = check(args)
    assert not found.passed
    assert found.score == score
    assert found.detail.startswith(detail), found.detail


CITY = {"path": "address.city", "expected": "Shelbyville"}
BORN = {"path": "birthDate", "expected": "1965-03-16"}
ACTIVE = {"path": "active", "expected": True}
SILVAS = {"resource_type": "Patient", "search": {"_id": "ana"}}


@pytest.mark.parametrize(
    ("changes", "score"),
    [
        ({"address": [{"city": "Shelbyville"}]}, 0.5),  # one of two is right now, and one still wrong
        ({"address": [{"city": "Shelbyville"}], "active": False}, 1 / 3),  # and one was broken
        ({"gender": "other"}, 0.0),
    ],
)
def test_score_counts_what_the_agent_made_right_and_not_what_was_right_before(
    changes: dict[str, Any], score: float
) -> None:
    clinic = Clinic()
    clinic.put(ANA | changes)
    for which in ({}, {"which": "any"}, {"which": "all"}):
        found = check(SILVAS | {"fields": [CITY, BORN, ACTIVE]} | which, clinic)
        assert not found.passed
        assert found.score == pytest.approx(score)


def test_every_field_of_a_resource_that_the_agent_created_counts() -> None:
    clinic = Clinic()
    clinic.put(appointment("second", "eva"))
    status, wrong = {"path": "status", "expected": "booked"}, {"path": "priority", "expected": 1}
    args = {"resource_type": "Appointment", "search": {"_id": "second"}, "fields": [status, wrong]}
    assert check(args, clinic).score == 0.5


def test_evidence_shows_expected_and_actual_of_every_field() -> None:
    fields = [FINAL, HIGH, {"path": "note.text", "expected": "x"}, {"path": "code.coding.code", "expected": "K"}]
    found = check(K | {"fields": fields})
    assert [(row.path, row.expected, row.actual, row.passed) for row in found.evidence] == [
        ("status", "final", "final", True),
        ("value.value", {"gt": 5}, 4.1, False),
        ("note.text", "x", "(absent)", False),
        ("code.coding.code", "K", ["2823-3", "K"], True),
    ]


def test_all_lists_failed_rows_first_with_their_resource() -> None:
    found = check({"resource_type": "Observation", "which": "all", "fields": [FINAL]})
    assert found.evidence[0].path == "Observation/k3: status"
    assert [row.passed for row in found.evidence] == [False, True, True]


def test_missing_resource_names_parameter_that_excluded_it() -> None:
    search = {"patient": "Patient/ana", "date": "ge2026-03-01", "status": "final"}
    found = check({"resource_type": "Observation", "search": search, "fields": [FINAL]})
    assert [(row.path, row.actual) for row in found.evidence] == [("count", 0)]
    assert found.detail == (
        "there is no Observation with patient=Patient/ana&date=ge2026-03-01&status=final; "
        "without date=ge2026-03-01 there would be Observation/k1, Observation/k2"
    )


@pytest.mark.parametrize(
    ("args", "passed"),
    [
        ({"fields": [{"path": "value.value", "expected": 5.4}]}, True),
        ({"which": "all", "fields": [{"path": "value.value", "expected": 5.4}]}, True),
        ({"count": 1}, True),
        ({"none": True, "fields": [{"path": "value.value", "expected": 4.1}]}, True),
        ({"none": True, "fields": [{"path": "value.value", "expected": 5.4}]}, False),
    ],
)
def test_sort_and_count_select_latest_resource(args: Any, passed: bool) -> None:
    search = {"patient": "Patient/ana", "_sort": "-date", "_count": 1}
    assert check({"resource_type": "Observation", "search": search, **args}).passed is passed


def test_count_applies_after_input_entity_id() -> None:
    search = {"_sort": "-date", "_count": 1}
    args = {"resource_type": "Observation", "search": search, "fields": [{"path": "id", "expected": "k2"}]}
    assert FhirResourceState.model_validate(args).check(Clinic().evidence("patient")).passed


@pytest.mark.parametrize(
    ("expected", "passed"),
    [
        ({"lt": "1986-04-01"}, True),
        ({"gte": "1986-03-01"}, True),
        ({"not": {"lt": "1990-01-01"}}, False),
        ({"gt": "1986-03-01"}, False),
        ({"gt": "1985"}, True),
        ({"within": {"of": "1986-03-10", "by": "10d"}}, True),
    ],
)
def test_partial_date_compares_by_its_start(expected: Any, passed: bool) -> None:
    clinic = Clinic([{**ANA, "birthDate": "1986-03"}])
    args = {"resource_type": "Patient", "fields": [{"path": "birthDate", "expected": expected}]}
    assert check(args, clinic).passed is passed


def test_final_state_is_checked() -> None:
    clinic = Clinic()
    key = clinic.put(appointment(None, "ana"))
    clinic.put(appointment(key.partition("/")[2], "ana", "cancelled"))
    clinic.delete("Observation/k1")
    booked = {
        "resource_type": "Appointment",
        "search": {"patient": "Patient/ana"},
        "fields": [{"path": "status", "expected": "booked"}],
    }
    found = check(booked, clinic)
    assert not found.passed
    assert found.evidence[0].actual == "cancelled"
    assert check(K | {"count": 1}, clinic).passed


@pytest.mark.parametrize(
    ("args", "about", "passed", "detail"),
    [
        (
            {"resource_type": "Patient", "fields": [{"path": "birthDate", "expected": "1965-03-15"}]},
            "patient",
            True,
            "",
        ),
        ({"resource_type": "Observation", "count": 2}, "patient", True, "Observation about patient (Patient/ana)"),
        ({"resource_type": "Appointment", "none": True}, "patient", True, ""),  # the only one is Eva's
        ({"resource_type": "Encounter", "count": 1}, "patient", True, ""),
        ({"resource_type": "Observation", "search": {"status": "preliminary"}}, "patient", False, "there is no Obs"),
        ({"resource_type": "Encounter", "count": 0}, "doc", True, ""),
    ],
)
def test_input_entity_id_limits_search_to_record_and_referring_resources(
    args: dict[str, Any], about: str, passed: bool, detail: str
) -> None:
    found = check(args, None, about, doc={"resourceType": "Practitioner", "id": "doc"})
    assert found.passed is passed, found.detail
    assert found.detail.startswith(detail)


def test_entity_that_type_cannot_reference_is_an_error() -> None:
    with pytest.raises(InputError, match="Location has no reference to a Patient"):
        check({"resource_type": "Location", "none": True}, None, "patient")
    with pytest.raises(InputError, match="`row` is not a FHIR resource"):
        check({"resource_type": "Patient"}, None, "row", row={"mrn": "1"})


def test_missing_sandbox_is_an_error() -> None:
    with pytest.raises(NoSuchState):
        check({"resource_type": "Patient", "sandbox": "other"})


@pytest.mark.parametrize(
    ("args", "place", "message"),
    [
        ({"resource_type": "Pateint"}, ("resource_type",), "unknown resource type `Pateint`; did you mean `Patient`?"),
        ({}, ("resource_type",), "required"),
        ({"resource_type": "Patient", "search": {"famly": "x"}}, ("search", "famly"), "famly"),
        ({"resource_type": "Patient", "search": {"birthdate": "soon"}}, ("search", "birthdate"), "soon"),
        ({"resource_type": "Patient", "search": {"family:nearly": "x"}}, ("search", "family:nearly"), "nearly"),
        (
            {"resource_type": "Patient", "fields": [FINAL]},
            ("fields", 0, "path"),
            "there is no element `status`",
        ),
        (
            {"resource_type": "Observation", "fields": [{"path": "a..b", "expected": 1}]},
            ("fields", 0, "path"),
            "`a..b` is not valid FHIRPath",
        ),
        ({"resource_type": "Patient", "fields": [{"path": "id", "expected": {"matchs": "x"}}]}, None, "matchs"),
        ({"resource_type": "Patient", "count": 1, "none": True}, (), "do not go together"),
        ({"resource_type": "Patient", "which": "last"}, ("which",), "first"),
        ({"resource_type": "Patient", "search": {"family": {"a": 1}}}, None, "valid"),
    ],
)
def test_expectation_that_can_only_fail_is_rejected_with_location(
    args: dict[str, Any], place: tuple[str | int, ...] | None, message: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        FhirResourceState.model_validate(args)
    error = refused.value.errors()[0]
    assert place is None or error["loc"] == place
    assert message in error["msg"]
