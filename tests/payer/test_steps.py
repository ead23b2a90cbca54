"""Steps of a scenario: decisions, coverage and claims that change while the agent works."""

from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.payer.answer import Appeal, Authorization, EligibilityAnswer
from clerkship.payer.inquiry import PersonQuery
from clerkship.payer.steps import PayerDetermine, PayerSetAuthorization, PayerSetClaim, PayerSetEligibility
from tests.payer.clinic import CLINIC, JANE, TODAY, PayerClinic, inquiry, party, request
from tests.payer.test_claims import CLAIM, get_claim

PENDING = [{"status": "pending", "text": "In review."}]
RECORDED = {
    "reference": "R1",
    "member_id": JANE["member_id"],
    "provider_id": CLINIC,
    "status": "approved",
    "number": "AUTH1",
    "services": [{"procedure_code": "70551", "quantity": 2}],
    "requested": "2026-02-10",
    "decided": "2026-02-12",
    "valid_to": "2026-04-30",
}
DENIED = {"status": "denied", "number": None, "valid_to": None, "reason": "not_medically_necessary"}


def determine(clinic: PayerClinic, **fields: Any) -> None:
    clinic.run_step(PayerDetermine.model_validate(fields))


def send(clinic: PayerClinic, *codes: str) -> Authorization:
    [authorization] = clinic.payer.request_authorization(clinic.action, request(*codes)).authorizations
    return authorization


def test_determine_decides_open_requests_that_match_and_later_ones() -> None:
    clinic = PayerClinic(determinations=PENDING)
    first, other = send(clinic, "70551"), send(clinic, "71250")
    determine(clinic, match={"procedure_code": "705*"}, status="denied", reason="not_covered")
    current = clinic.payer.current.authorizations
    assert (current[first.id].status, current[other.id].status) == ("denied", "pending")
    assert send(clinic, "70553").reason == "not_covered"
    assert clinic.events[-4].actor == "scenario"
    assert clinic.kinds.count("payer.authorization.determined") == 2


@pytest.mark.parametrize(
    ("applies_to", "statuses"),
    [("open", ["approved", "pending"]), ("later", ["pending", "approved"]), ("both", ["approved", "approved"])],
)
def test_determine_applies_to_open_or_later_requests(applies_to: str, statuses: list[str]) -> None:
    clinic = PayerClinic(determinations=PENDING)
    first = send(clinic, "70551")
    determine(clinic, status="approved", applies_to=applies_to)
    second = send(clinic, "70553")
    assert [clinic.payer.current.authorizations[each.id].status for each in (first, second)] == statuses


def test_determine_can_decide_after_a_delay() -> None:
    clinic = PayerClinic(determinations=PENDING)
    first = send(clinic, "70551")
    determine(clinic, status="approved", units=2, delay="1h", applies_to="open")
    assert clinic.payer.current.authorizations[first.id].status == "pending"
    clinic.advance(hours=1)
    decided = clinic.payer.current.authorizations[first.id]
    assert (decided.status, decided.services[0].quantity) == ("approved", 2)


def test_the_newest_determination_of_the_scenario_decides() -> None:
    clinic = PayerClinic()
    determine(clinic, status="denied")
    determine(clinic, status="approved")
    assert send(clinic, "70551").status == "approved"


def test_determine_overrides_a_plan_that_does_not_cover_the_service() -> None:
    rules = [{"service_types": ["mri_ct"]}]
    clinic = PayerClinic(authorization_required=rules, plans={"cedar-select-epo": {"not_covered": ["mri_ct"]}})
    assert send(clinic, "70551").status == "denied"
    determine(clinic, status="approved")
    assert send(clinic, "70553").status == "approved"


def ask(clinic: PayerClinic) -> EligibilityAnswer:
    return clinic.payer.check_eligibility(clinic.action, inquiry(service_types=("physical_therapy",)))


def test_set_eligibility_ends_and_reopens_a_policy() -> None:
    clinic = PayerClinic()
    clinic.run_step(PayerSetEligibility.model_validate({"member_id": "CM555000111", "end": "2026-02-28"}))
    answer = ask(clinic)
    assert answer.status == "terminated"
    assert clinic.payer.request_authorization(clinic.action, request("70551")).rejection is not None
    clinic.run_step(PayerSetEligibility.model_validate({"member_id": "CM555000111", "end": None}))
    assert ask(clinic).status == "active"


def test_set_eligibility_ends_the_policy_of_the_dependents_too() -> None:
    clinic = PayerClinic()
    tim = PersonQuery(given="Tim", birth_date=date(2015, 3, 1))
    clinic.run_step(PayerSetEligibility.model_validate({"member_id": "CM555000111", "end": "2026-02-28"}))
    assert clinic.payer.check_eligibility(clinic.action, inquiry(dependent=tim)).status == "terminated"
    clinic.run_step(PayerSetEligibility.model_validate({"member_id": "CM555000111", "deductible_met": 10}))
    assert clinic.kinds.count("payer.eligibility.changed") == 4


def test_set_eligibility_changes_the_plan_and_what_was_used() -> None:
    clinic = PayerClinic(members=[{**JANE, "patient": "Patient/jane"}])
    changes = {
        "patient": "Patient/jane",
        "plan": "cedar-choice-hmo",
        "used": {"physical_therapy": 24},
        "deductible_met": 500,
    }
    clinic.run_step(PayerSetEligibility.model_validate(changes))
    answer = ask(clinic)
    assert answer.coverage is not None
    assert (answer.coverage.plan, answer.coverage.plan_name) == ("cedar-choice-hmo", "Cedar Choice HMO")
    remaining = {each.kind: each for each in answer.benefits if each.period == "remaining" and each.level != "family"}
    assert (remaining["limit"].quantity, remaining["deductible"].amount) == (0, 0)
    assert clinic.kinds[0] == "payer.eligibility.changed"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"member_id": "CM0", "end": "2026-01-01"}, "there is no member with member id CM0"),
        ({"patient": "Patient/jane", "plan": "x"}, "is a member of several payers"),
        ({"member_id": "CM555000111", "end": "2020-01-01"}, "before it starts"),
        ({"member_id": "CM555000111", "plan": "cedar-select-ep"}, "there is no plan cedar-select-ep"),
    ],
)
def test_set_eligibility_reports_what_it_cannot_change(fields: dict[str, Any], message: str) -> None:
    second = {**JANE, "payer": "HL001", "member_id": "HL1"}
    clinic = PayerClinic(members=[{**each, "patient": "Patient/jane"} for each in (JANE, second)])
    with pytest.raises(AssertionError, match=message):
        clinic.run_step(PayerSetEligibility.model_validate(fields))


def test_set_claim_changes_a_claim_by_the_number_of_the_provider() -> None:
    clinic = PayerClinic(claims=[CLAIM])
    clinic.run_step(PayerSetClaim.model_validate({"account": "ACC1", "status": "paid"}))
    claim = get_claim(clinic)
    assert (claim.status, claim.paid_date) == ("paid", TODAY)
    adjustments = [{"group": "contractual", "reason": "fee_schedule", "amount": 50}]
    fields = {"number": "CLM1", "status": "paid", "paid": 250, "adjustments": adjustments, "paid_date": "2026-03-01"}
    clinic.run_step(PayerSetClaim.model_validate(fields))
    claim = get_claim(clinic)
    assert (claim.paid, claim.paid_date, len(claim.adjustments)) == (250, date(2026, 3, 1), 1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"number": "CLM9", "status": "paid"}, "there is no claim CLM9"),
        ({"account": "C9", "status": "paid"}, "there is no claim with the account C9"),
        ({"number": "CLM1", "status": "paid", "paid": 10}, "explain the difference of 290.00"),
    ],
)
def test_set_claim_reports_what_it_cannot_change(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        PayerClinic(claims=[CLAIM]).run_step(PayerSetClaim.model_validate(fields))


def record(clinic: PayerClinic, **fields: Any) -> None:
    clinic.run_step(PayerSetAuthorization.model_validate({**RECORDED, **fields}))


def test_set_authorization_records_one_that_providers_find_and_do_not_request_again() -> None:
    clinic = PayerClinic()
    record(clinic)
    [found] = clinic.payer.find_authorizations(clinic.action, party()).authorizations
    assert (found.id, found.number, found.status, found.services[0].quantity) == ("R1", "AUTH1", "approved", 2)
    assert (found.valid_from, found.valid_to) == (date(2026, 2, 12), date(2026, 4, 30))
    rejected = clinic.payer.request_authorization(clinic.action, request("70551")).rejection
    assert rejected is not None
    assert rejected.reason == "duplicate_request"
    [cancelled] = clinic.payer.cancel_authorization(clinic.action, "AUTH1", party()).authorizations
    assert cancelled.status == "cancelled"


@pytest.mark.parametrize(("decided", "status"), [("2025-09-03", "received"), ("2025-09-02", "dismissed")])
def test_denial_of_an_earlier_day_can_be_appealed_until_its_deadline(decided: str, status: str) -> None:
    clinic = PayerClinic()
    record(clinic, **DENIED, requested="2025-08-20", decided=decided)
    appeal = clinic.payer.appeal(clinic.action, party(), "R1", "Eight weeks of therapy did not help.", ("ATT1",))
    assert isinstance(appeal, Appeal)
    assert appeal.status == status


def test_set_authorization_replaces_the_record_with_the_same_reference() -> None:
    clinic = PayerClinic()
    record(clinic)
    record(clinic, **DENIED)
    assert [each.status for each in clinic.payer.current.authorizations.values()] == ["denied"]


def test_pending_request_of_an_earlier_day_can_be_determined() -> None:
    clinic = PayerClinic()
    record(clinic, status="pending", number=None, valid_to=None, decided=None)
    determine(clinic, status="approved", applies_to="open")
    assert clinic.payer.current.authorizations["R1"].status == "approved"


def test_two_authorizations_cannot_have_the_same_number() -> None:
    clinic = PayerClinic()
    record(clinic)
    with pytest.raises(AssertionError, match="R1 has the authorization number AUTH1 already"):
        record(clinic, reference="R2")


def test_determination_can_give_the_authorization_number() -> None:
    clinic = PayerClinic()
    determine(clinic, status="approved", number="AUTH7")
    assert send(clinic, "70551").number == "AUTH7"
    assert send(clinic, "70553").number not in (None, "AUTH7")


@pytest.mark.parametrize(
    ("step", "fields", "message"),
    [
        (PayerSetAuthorization, {**RECORDED, "member_id": None}, "expected `member_id` or `patient`"),
        (PayerSetAuthorization, {**RECORDED, "number": None}, "an approved request has a `number`"),
        (PayerSetAuthorization, {**RECORDED, "status": "denied"}, "a denied request has no `number`"),
        (PayerSetAuthorization, {**RECORDED, "decided": "2026-02-01"}, "`decided` .2026-02-01. is before"),
        (PayerSetAuthorization, {**RECORDED, "services": []}, "at least 1 item"),
        (PayerDetermine, {"status": "denied", "number": "A1"}, "`number` goes with"),
        (PayerSetEligibility, {"end": "2026-01-01"}, "expected `member_id` or `patient`"),
        (PayerSetEligibility, {"patient": "Patient/1"}, "nothing to change"),
        (PayerSetClaim, {"status": "paid"}, "expected `number` or `account`"),
        (PayerSetClaim, {"number": "1", "status": "denied", "paid": 5}, "a denied claim has no payment"),
        (PayerDetermine, {"status": "modified"}, "`modified` needs `units` or `validity`"),
        (PayerDetermine, {"status": "cancelled"}, "Input should be"),
    ],
)
def test_a_mistake_in_a_step_is_an_error(step: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        step.model_validate(fields)
