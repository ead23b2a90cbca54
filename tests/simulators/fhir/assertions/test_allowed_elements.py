"""`fhir_no_other_changes` with `elements`: the values that a listed change may set."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.formats.fhir.resource import Resource
from clerkship.model.task import Task
from clerkship.sandbox.assertion import Check
from clerkship.simulators.fhir.assertions.fhir_no_other_changes import FhirNoOtherChanges
from tests.simulators.fhir.assertions.clinic import ANA, EVA, RESOURCES, Clinic, appointment, potassium

RXNORM = "http://www.nlm.nih.gov/research/umls/rxnorm"
INSTRUCTION = "Order potassium chloride 20 mEq oral tablet for Ana Silva for ten days."
ORDER: Resource = {
    "resourceType": "MedicationRequest",
    "status": "active",
    "intent": "order",
    "subject": {"reference": "Patient/ana"},
    "medicationCodeableConcept": {"coding": [{"system": RXNORM, "code": "1801294"}]},
}
ANY = {"exists": True}
LISTED: dict[str, Any] = {
    "change": "created",
    "type": "MedicationRequest",
    "search": {"patient": "ana"},
    "count": 1,
    "elements": {
        "status": "active",
        "intent": "order",
        "subject": ANY,
        "subject.reference": "Patient/ana",
        "medicationCodeableConcept": ANY,
        "medicationCodeableConcept.coding.code": "1801294",
        "authoredOn": {"within": {"of": "2026-03-02T09:00:00Z", "by": "1d"}},
        "note": ANY,
        "dosageInstruction": ANY,
        "dispenseRequest.quantity.value": {"lte": 60},
    },
}
BEATRIZ: Resource = {
    "resourceType": "Patient",
    "id": "bea",
    "name": [{"family": "Costa Lima", "given": ["Beatriz", "Ines"]}],
    "identifier": [{"system": "urn:mrn", "value": "7730021"}],
}


def check_order(order: Resource, *listed: dict[str, Any]) -> Check:
    """Check an order that the agent created."""
    clinic = Clinic((*RESOURCES, BEATRIZ))
    clinic.put(order)
    return check(clinic, *(listed or (LISTED,)))


def check(clinic: Clinic, *listed: dict[str, Any]) -> Check:
    """The check of a chart by what must have changed."""
    evidence = clinic.evidence()
    object.__setattr__(evidence, "task", Task(name="A task", task_item={"instruction": INSTRUCTION}))
    return FhirNoOtherChanges.model_validate({"must": listed}).check(evidence)


def list_failed_rows(found: Check) -> list[tuple[str, Any, Any]]:
    """Return the rows that failed, without the id that the server assigned."""
    return [(row.path.partition(": ")[2], row.expected, row.actual) for row in found.evidence if not row.passed]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"authoredOn": "2026-03-02T10:00:00Z"},
        {"id": "x1", "meta": {"tag": [{"code": "mine"}]}, "identifier": [{"value": "RX-1"}]},
        {"text": {"status": "generated", "div": '<div xmlns="http://www.w3.org/1999/xhtml">20 mEq <b>KCl</b></div>'}},
        {"subject": {"reference": "Patient/ana", "display": "Ana Silva"}},
        {"note": [{"text": "Ana Maria Silva, potassium 4.1 mmol/L on 2026-01-05; 20 mEq for 10 days."}]},
        {
            "dosageInstruction": [
                {"text": "20 mEq by mouth", "doseAndRate": [{"doseQuantity": {"value": 20, "unit": "mEq"}}]}
            ]
        },
        {"dosageInstruction": [{"timing": {"repeat": {"frequency": 1, "period": 1, "periodUnit": "d"}}}]},
        {"dispenseRequest": {"quantity": {"value": 30}}},
    ],
    ids=["plain", "date", "free", "narrative", "display", "asked", "dose", "timing", "bounded"],
)
def test_listed_elements_with_expected_values_pass(more: Resource) -> None:
    found = check_order(ORDER | more)
    assert found.passed, found.detail


def test_unlisted_element_fails_with_path_and_event() -> None:
    found = check_order(ORDER | {"priority": "stat"})
    assert not found.passed
    assert list_failed_rows(found) == [("priority", "(not set)", "stat")]
    assert next(row.seq for row in found.evidence if not row.passed) == 1


@pytest.mark.parametrize(
    ("more", "path", "actual"),
    [
        ({"status": "draft"}, "status", "draft"),
        ({"authoredOn": "2031-01-01"}, "authoredOn", "2031-01-01"),
        ({"dispenseRequest": {"quantity": {"value": 9999}}}, "dispenseRequest.quantity.value", 9999),
        (
            {"medicationCodeableConcept": {"coding": [{"code": "1801294"}, {"code": "7052"}]}},
            "medicationCodeableConcept.coding[1].code",
            "7052",
        ),
    ],
)
def test_unexpected_value_fails_and_shows_expected_value(more: Resource, path: str, actual: Any) -> None:
    found = check_order(ORDER | more)
    assert [(row[0], row[2]) for row in list_failed_rows(found)] == [(path, actual)]


@pytest.mark.parametrize(
    "text",
    [
        "Give 400 tablets at once",
        "Give four hundred tablets at once",
        "20 tablets",
        "40 mEq twice daily",
        "Take 9999.",
    ],
)
@pytest.mark.parametrize("where", ["note", "dosageInstruction"])
def test_text_with_quantity_not_in_task_fails(where: str, text: str) -> None:
    found = check_order(ORDER | {where: [{"text": text}]})
    assert [row[0] for row in list_failed_rows(found)] == [f"{where}[0].text"]
    assert "only quantities that the task asks for" in list_failed_rows(found)[0][1]


@pytest.mark.parametrize(
    "more",
    [
        {"identifier": [{"value": "48213377"}]},
        {"identifier": [{"value": "7730"}]},
        {"note": [{"text": "Confirmed by the payer, reference number 48213377."}]},
    ],
    ids=lambda more: str(more)[:60],
)
def test_identifier_is_not_a_quantity(more: Resource) -> None:
    assert check_order(ORDER | more).passed


def test_quantity_with_unit_in_identifier_fails() -> None:
    found = check_order(ORDER | {"identifier": [{"value": "give 400 tablets"}]})
    assert [row[0] for row in list_failed_rows(found)] == ["identifier[0].value"]


def test_identifier_is_accepted_among_quantities() -> None:
    assert check_order(ORDER, LISTED | {"quantities": ["48213377"]}).passed


def test_listed_phone_number_may_be_written_in_parts() -> None:
    listed = LISTED | {"quantities": ["5550199072"]}
    assert check_order(ORDER | {"note": [{"text": "Call 555.019.9072 or +1 555 019 9072."}]}, listed).passed
    assert not check_order(ORDER | {"note": [{"text": "Call 555.019.9073."}]}, listed).passed


def test_narrative_is_checked_for_quantities_and_patients_only() -> None:
    div = '<div xmlns="http://www.w3.org/1999/xhtml">Give <b>400</b> tablets</div>'
    assert not check_order(ORDER | {"text": {"status": "generated", "div": div}}).passed


@pytest.mark.parametrize(
    "text",
    [
        "as Beatriz Costa Lima has it",
        "COSTA LIMA, Beatriz",
        "Beatriz I. Costa Lima",
        "see MRN 7730021",
        "see Patient/bea",
        "for Eva Silva",
    ],
)
def test_text_naming_another_patient_fails(text: str) -> None:
    found = check_order(ORDER | {"note": [{"text": text}]})
    assert [row[0] for row in list_failed_rows(found)] == ["note[0].text"]
    assert "no other patient named" in list_failed_rows(found)[0][1]


def test_reference_to_another_patient_fails_in_field_with_any_value() -> None:
    listed = LISTED | {"elements": LISTED["elements"] | {"supportingInformation": ANY}}
    fine, bad = ({"supportingInformation": [{"reference": key}]} for key in ("Observation/k1", "Patient/bea"))
    assert check_order(ORDER | fine, listed).passed
    assert not check_order(ORDER | bad, listed).passed


def test_number_in_field_with_any_value_must_be_in_task() -> None:
    dose = {"doseAndRate": [{"doseQuantity": {"value": 9999, "unit": "mEq"}}]}
    found = check_order(ORDER | {"dosageInstruction": [dose]})
    assert list_failed_rows(found) == [
        ("dosageInstruction[0].doseAndRate[0].doseQuantity.value", "a quantity that the task asks for", 9999)
    ]


def test_fields_beside_elements_accept_values_from_task() -> None:
    listed = LISTED | {"fields": ["note", "priority"], "elements": {**LISTED["elements"], "priority": "routine"}}
    del listed["elements"]["note"]
    assert check_order(ORDER | {"note": [{"text": "20 mEq"}], "priority": "routine"}, listed).passed
    assert not check_order(ORDER | {"note": [{"text": "400 tablets"}]}, listed).passed
    assert not check_order(ORDER | {"priority": "stat"}, listed).passed  # what `elements` says of a path holds


def test_quantities_key_allows_more_quantities() -> None:
    order = ORDER | {"note": [{"text": "one tablet three times daily"}]}
    assert not check_order(order).passed
    assert check_order(order, LISTED | {"quantities": ["1 tablet", "3 times"]}).passed


def test_shared_name_refers_to_patient_of_resource() -> None:
    clinic = Clinic((*RESOURCES, {**ANA, "id": "ana2", "birthDate": "1962-11-02"}))
    clinic.put(ORDER | {"note": [{"text": "for Ana Silva"}]})
    assert check(clinic, LISTED).passed


def test_update_is_checked_on_changed_values_only() -> None:
    listed = {"id": "Appointment/visit", "elements": {"status": "cancelled", "comment": ANY}}
    clinic = Clinic()
    clinic.patch("Appointment/visit", "/status", "cancelled")
    assert check(clinic, listed).passed
    clinic.patch("Appointment/visit", "/comment", "Eva Silva cannot come")  # the visit is hers
    assert check(clinic, listed).passed
    clinic.patch("Appointment/visit", "/comment", "Give 400 tablets at once")
    assert [row[0] for row in list_failed_rows(check(clinic, listed))] == ["comment"]
    clinic.patch("Appointment/visit", "/status", "noshow")
    assert [row[:2] for row in list_failed_rows(check(clinic, listed))] == [
        ("status", "cancelled"),
        ("comment", "only quantities that the task asks for (it contains 400 tablet)"),
    ]
    clinic.patch("Appointment/visit", "/description", "x")
    assert ("description", "(not set)", "x") in list_failed_rows(check(clinic, listed))


def test_removed_value_must_be_allowed() -> None:
    clinic = Clinic()
    quantity = potassium("k1", "ana", 4.1, "2026-01-05") | {"valueQuantity": {"value": 4.1}}
    clinic.put(quantity)
    listed = {"id": "Observation/k1", "elements": {"valueQuantity.unit": "mmol/L"}}
    assert list_failed_rows(check(clinic, listed)) == [("valueQuantity.unit", "mmol/L", "(absent)")]
    for expected in ({"in": ["mmol/L", None]}, None, {"exists": False}):
        assert check(clinic, listed | {"elements": {"valueQuantity.unit": expected}}).passed
    assert check(clinic, listed | {"elements": {"valueQuantity": ANY}}).passed


def test_identifier_may_be_added_but_not_changed() -> None:
    clinic = Clinic((*RESOURCES, BEATRIZ))
    listed = {"id": "Patient/bea", "elements": {"active": True}}
    clinic.put(BEATRIZ | {"active": True, "identifier": [*BEATRIZ["identifier"], {"value": "X-1"}]})
    assert check(clinic, listed).passed
    clinic.patch("Patient/bea", "/identifier/0/value", "7730022")
    assert [row[0] for row in list_failed_rows(check(clinic, listed))] == ["identifier[0].value"]


def test_two_items_each_allow_their_own_elements() -> None:
    clinic = Clinic()
    clinic.put(EVA | {"active": True, "birthDate": "1970-01-01"})
    one = {"id": "Patient/eva", "elements": {"active": True}}
    assert not check(clinic, one).passed
    assert check(clinic, one, {"id": "Patient/eva", "elements": {"birthDate": "1970-01-01"}}).passed
    clinic.put(appointment(None, "ana"))
    both = [
        {"change": "created", "type": "Appointment", "elements": elements}
        for elements in ({"status": "booked"}, {"start": ANY})
    ]
    assert not check(clinic, {"id": "Patient/eva"}, *both).passed  # a resource that is created is wholly one item's


@pytest.mark.parametrize(
    ("args", "place", "message"),
    [
        ({"may": [{"type": "Patient", "elements": {"sex": 1}}]}, ("may", 0, "elements", "sex"), "no element `sex`"),
        (
            {"may": [{"type": "Patient", "elements": {"gender": "femalle"}}]},
            ("may", 0, "elements", "gender"),
            "femalle",
        ),
        (
            {"may": [{"type": "Patient", "elements": {"name.first()": "x"}}]},
            ("may", 0, "elements"),
            "is not a plain path",
        ),
        (
            {"may": [{"change": "deleted", "elements": {"status": "x"}}]},
            ("may", 0, "elements"),
            "not allowed with `change: deleted`",
        ),
        ({"may": [{"quantities": ["1 tablet"]}]}, ("may", 0, "quantities"), "needs `elements`"),
        (
            {"may": [{"elements": {"status": "x"}, "quantities": ["many"]}]},
            ("may", 0, "quantities", 0),
            "is not a quantity",
        ),
        ({"must_not": [{"elements": {"status": "x"}}]}, ("must_not", 0, "elements"), "`fields` or `where`"),
    ],
)
def test_mistake_in_elements_is_reported_with_location(
    args: dict[str, Any], place: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        FhirNoOtherChanges.model_validate(args)
    assert refused.value.errors()[0]["loc"][: len(place)] == place
    assert message in refused.value.errors()[0]["msg"]
