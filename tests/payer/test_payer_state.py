"""The assertion `payer_state`."""

from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.payer.assertions.payer_state import PayerRecordState
from clerkship.sandbox.assertion import Check
from tests.payer.clinic import CLINIC, JANE, PayerClinic, party, request
from tests.payer.test_claims import CLAIM


@pytest.fixture(scope="module")
def clinic() -> PayerClinic:
    """A clinic with an approved and a denied request, an appeal, and a denied claim."""
    deny = {"match": {"procedure_code": "70553"}, "status": "denied", "reason": "not_medically_necessary"}
    clinic = PayerClinic(members=[{**JANE, "patient": "Patient/jane"}], determinations=[deny], claims=[CLAIM])
    clinic.payer.request_authorization(clinic.action, request("70551", diagnoses=("G43909",)))
    [denied] = clinic.payer.request_authorization(clinic.action, request("70553")).authorizations
    clinic.payer.appeal(clinic.action, party(), denied.id, "It is needed.")
    return clinic


def check(clinic: PayerClinic, record: str, patient: dict[str, Any] | None = None, **fields: Any) -> Check:
    return clinic.check(PayerRecordState.model_validate({"record": record, **fields}), patient)


def field(path: str, expected: Any) -> dict[str, Any]:
    return {"path": path, "expected": expected}


@pytest.mark.parametrize(
    ("record", "fields", "passed"),
    [
        ("authorization", {"where": {"procedure_codes": ["70551"]}, "fields": [field("status", "approved")]}, True),
        ("authorization", {"where": {"procedure_codes": ["70551"]}, "fields": [field("status", "denied")]}, False),
        (
            "authorization",
            {"where": {"status": "denied"}, "fields": [field("reason", {"contains": "necessary"})]},
            True,
        ),
        ("authorization", {"where": {"number": {"matches": "^A"}}}, True),
        ("authorization", {"fields": [field("services[0].quantity", 1), field("diagnoses", ["G43909"])]}, True),
        ("authorization", {"fields": [field("query.services.0.procedure_code", "70553")]}, True),
        ("authorization", {"where": {"status": "modified"}}, False),
        ("authorization", {"where": {"status": "modified"}, "none": True}, True),
        ("authorization", {"where": {"status": "denied"}, "none": True}, False),
        ("authorization", {"count": 2}, True),
        ("authorization", {"count": {"gte": 3}}, False),
        ("authorization", {"count": 1, "fields": [field("status", "approved")]}, True),
        ("authorization", {"where": {"provider_id": CLINIC, "payer_id": "CM002", "member_id": "CM-555 000 111"}}, True),
        ("claim", {"where": {"account": "ACC1"}, "fields": [field("status", "denied"), field("charge", 300)]}, True),
        ("claim", {"where": {"account": "ACC1"}, "fields": [field("procedure_codes", ["70551"])]}, True),
        ("claim", {"count": 314}, True),
        ("appeal", {"fields": [field("status", "received"), field("patient", "Patient/jane")]}, True),
        ("appeal", {"where": {"procedure_codes": {"contains": "70553"}}, "count": 1}, True),
        ("appeal", {"where": {"provider_id": CLINIC}, "fields": [field("decided", {"exists": True})]}, True),
        ("appeal", {"fields": [field("decided", None)]}, True),
    ],
)
def test_records_are_selected_and_compared(clinic: PayerClinic, record: str, fields: Any, passed: bool) -> None:
    result = check(clinic, record, **fields)
    assert result.passed is passed, result.detail


def test_the_evidence_has_a_row_for_each_field(clinic: PayerClinic) -> None:
    fields = [field("status", "approved"), field("services[0].quantity", 5)]
    result = check(clinic, "authorization", where={"procedure_codes": ["70551"]}, fields=fields)
    assert [(row.path, row.actual, row.passed) for row in result.evidence] == [
        ("status", "approved", True),
        ("services[0].quantity", 1.0, False),
    ]
    assert result.score == 0.5
    assert "not as expected: services[0].quantity is 1.0, expected 5" in result.detail


@pytest.mark.parametrize(
    ("written", "passed"), [("{id}", True), ("{id} ", True), ("R000000000", False), ("{number}", False), (None, False)]
)
def test_the_number_of_the_record_must_be_in_the_answer(clinic: PayerClinic, written: str | None, passed: bool) -> None:
    record = next(each for each in clinic.payer.current.authorizations.values() if each.number)
    number = written and written.format(id=record.id, number=record.number)
    assertion = {"record": "authorization", "where": {"status": "approved"}, "answer": "request.number"}
    result = clinic.check(PayerRecordState.model_validate(assertion), answer={"request": {"number": number}})
    assert result.passed == passed
    assert result.evidence[-1].path == "answer.request.number"


def test_a_missing_record_is_reported_with_those_that_exist(clinic: PayerClinic) -> None:
    detail = check(clinic, "authorization", where={"status": "cancelled"}).detail
    assert detail.startswith("there is no authorization where status 'cancelled'; there is R")
    assert "(denied)" in detail


def test_the_entity_of_a_criterion_selects_records_about_the_patient(clinic: PayerClinic) -> None:
    jane, other = {"resourceType": "Patient", "id": "jane"}, {"resourceType": "Patient", "id": "john"}
    assert check(clinic, "authorization", jane, count=2).passed
    assert check(clinic, "authorization", other, none=True).passed
    assert check(clinic, "appeal", jane).passed
    assert check(clinic, "claim", {"resourceType": "Claim", "id": "1"}, none=True).passed
    claim = {"resourceType": "Claim", "id": "1", "identifier": [{"value": "ACC1"}]}
    assert check(clinic, "claim", claim, where={"account": "ACC1"}).passed


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"record": "auth"}, "'authorization', 'claim' or 'appeal'"),
        ({"record": "claim", "where": {"statsu": "paid"}}, "claim has no `statsu`; did you mean `status`?"),
        ({"record": "appeal", "fields": [field("charge", 5)]}, "appeal has no `charge`"),
        ({"record": "claim", "none": True, "count": 1}, "do not go together"),
        ({"record": "claim", "where": {"charge": {"gte": "x"}}}, "gte"),
        ({"record": "claim", "fields": [field("member_key", "x")]}, "claim has no `member_key`"),
    ],
)
def test_a_mistake_in_the_assertion_is_an_error(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PayerRecordState.model_validate(fields)


@pytest.mark.parametrize(
    ("fields", "passes"),
    [
        ({"record": "authorization", "where": {"status": "approved"}}, True),
        ({"record": "appeal", "none": True}, True),
        ({"record": "appeal", "count": {"lte": 1}}, True),
        ({"record": "appeal", "count": 1}, False),
        ({"record": "claim", "where": {"status": "paid"}}, True),
        ({"record": "appeal", "where": {"status": "upheld"}}, False),
    ],
)
def test_what_can_pass_when_the_agent_does_nothing(fields: dict[str, Any], passes: bool) -> None:
    assert PayerRecordState.model_validate(fields).passes_on_inaction is passes
