"""Claims: their status from the dataset and the config, inquiries, changes by the scenario."""

from datetime import date, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.model.errors import InputError
from clerkship.payer.answer import Member, PayerClaim
from clerkship.payer.config import PayerConfig
from clerkship.payer.inquiry import PersonQuery
from clerkship.payer.money import find_sum_mistake, list_adjustments
from tests.payer.clinic import (
    CLINIC,
    DOCTOR,
    HOSPITAL,
    TODAY,
    PayerClinic,
    claim_query,
    load_dataset,
)

CLAIM = {
    "number": "CLM1",
    "payer": "CM002",
    "member_id": "CM-555 000 111",
    "provider_id": CLINIC,
    "account": "ACC1",
    "status": "denied",
    "reason": "missing_authorization",
    "charge": 300,
    "start": "2026-02-01",
    "received": "2026-02-05",
    "lines": [{"procedure_code": "70551", "charge": 300}],
}
OTHER = {
    **CLAIM,
    "number": "CLM2",
    "account": "ACC2",
    "status": "received",
    "charge": 150,
    "start": "2026-02-20",
    "end": "2026-02-22",
    "received": "2026-02-25",
    "lines": [],
}


def find(clinic: PayerClinic, **fields: Any) -> list[str]:
    answer = clinic.payer.find_claims(clinic.action, claim_query(**fields))
    assert answer.rejection is None
    return [claim.number for claim in answer.claims]


def to_person(member: Member) -> PersonQuery:
    return PersonQuery(member_id=member.member_id, birth_date=member.birth_date)


def test_claims_of_the_dataset_have_a_plausible_status_by_their_age() -> None:
    clinic = PayerClinic()
    claims = list(clinic.payer.book.claims.values())
    assert len(claims) == len(load_dataset().claims) == 313
    for claim in claims:
        age = TODAY - claim.received
        if claim.status == "received":
            assert age < timedelta(days=5)
        elif claim.status == "pended":
            assert age < timedelta(days=45)
        else:
            assert claim.status == "paid"
            assert 0 < claim.paid < claim.charge
            assert claim.paid_date is not None
            assert claim.received < claim.paid_date <= TODAY
    assert {claim.status for claim in claims} == {"received", "pended", "paid"}


def test_every_claim_adds_up_to_its_charge() -> None:
    for claim in PayerClinic().payer.book.claims.values():
        assert find_sum_mistake(claim) == ""
        adjusted = sum(item.amount for item in list_adjustments(claim.adjustments, claim.lines))
        if claim.status == "paid":
            assert claim.paid + adjusted == pytest.approx(claim.charge)


def test_claim_rules_of_the_config_decide() -> None:
    rules = [
        {"diagnosis": "J01*", "status": "denied", "reason": "not_covered"},
        {"status": "pended", "reason": "audit"},
    ]
    claims = PayerClinic(claim_rules=rules).payer.book.claims.values()
    assert {claim.status for claim in claims} == {"denied", "pended"}
    denied = next(claim for claim in claims if claim.status == "denied")
    assert (denied.paid, denied.reason) == (0, "not_covered")
    assert sum(item.amount for item in list_adjustments(denied.adjustments, denied.lines)) == denied.charge


def test_the_day_of_the_environment_decides_the_status_of_claims() -> None:
    newest = max(load_dataset().claims.values(), key=lambda claim: claim.received)
    later = PayerClinic(as_of=str(newest.received + timedelta(days=60)))
    assert {claim.status for claim in later.payer.book.claims.values()} == {"paid"}


@pytest.mark.parametrize(
    ("fields", "numbers"),
    [
        ({}, ["CLM1", "CLM2"]),
        ({"claim_number": "CLM2"}, ["CLM2"]),
        ({"account": "ACC1"}, ["CLM1"]),
        ({"charge": 150.0}, ["CLM2"]),
        ({"start": date(2026, 2, 21)}, ["CLM2"]),
        ({"start": date(2026, 1, 1), "end": date(2026, 2, 1)}, ["CLM1"]),
        ({"start": date(2026, 2, 22), "end": date(2026, 3, 1)}, ["CLM2"]),
        ({"start": date(2026, 2, 23), "end": date(2026, 3, 1)}, []),
        ({"account": "ACC1", "charge": 150.0}, []),
        ({"provider_id": DOCTOR}, ["CLM1", "CLM2"]),
        ({"provider_id": HOSPITAL}, []),
        ({"dependent": PersonQuery(given="Tim", birth_date=date(2015, 3, 1))}, []),
    ],
)
def test_the_more_an_inquiry_says_the_fewer_claims_match(fields: dict[str, Any], numbers: list[str]) -> None:
    assert find(PayerClinic(claims=[CLAIM, OTHER]), **fields) == numbers


def test_an_inquiry_finds_the_claims_of_the_dataset_by_the_number_of_the_provider() -> None:
    clinic = PayerClinic()
    for claim in list(clinic.payer.book.claims.values())[::20]:
        member = clinic.payer.book.members[claim.member_key]
        asked = claim_query(
            to_person(member), payer_id=claim.payer_id, account=claim.account, provider_id=claim.provider_id
        )
        assert [each.number for each in clinic.payer.find_claims(clinic.action, asked).claims] == [claim.number]


def test_a_rejected_inquiry_has_no_claims() -> None:
    clinic = PayerClinic(claims=[CLAIM])
    answer = clinic.payer.find_claims(clinic.action, claim_query(payer_id="X"))
    assert answer.rejection is not None
    assert answer.claims == ()
    assert clinic.kinds == ["payer.claim.inquired"]


def get_claim(clinic: PayerClinic, number: str = "CLM1") -> PayerClaim:
    claim = clinic.payer.current.find_claim(number)
    assert claim is not None
    return claim


def test_a_claim_is_received_pended_denied_and_paid() -> None:
    clinic = PayerClinic(claims=[CLAIM, OTHER])
    for status in ("pended", "denied", "paid", "received"):
        clinic.payer.set_claim(clinic.action, get_claim(clinic), {"status": status, "reason": "because"})
        claim = get_claim(clinic)
        assert (claim.status, claim.status_date) == (status, TODAY)
        assert find_sum_mistake(claim) == ""
        assert (claim.paid > 0) == (claim.paid_date is not None) == (status == "paid")
    assert clinic.kinds == ["payer.claim.changed"] * 4
    assert find(clinic, claim_number="CLM1") == ["CLM1"]


def test_a_payment_with_its_own_amounts_must_add_up() -> None:
    clinic = PayerClinic(claims=[CLAIM])
    amounts = {"status": "paid", "paid": 200.0, "adjustments": ()}
    with pytest.raises(InputError, match=r"CLM1: `charge` is 300.00, but `paid` and the adjustments add up to 200.00"):
        clinic.payer.set_claim(clinic.action, get_claim(clinic), amounts)
    assert clinic.kinds == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": "paid", "paid": 200}, "explain the difference of 100.00 in `adjustments`"),
        (
            {"status": "paid", "paid": 200, "adjustments": [{"group": "contractual", "reason": "x", "amount": 90}]},
            "explain the difference of 10.00",
        ),
        ({"lines": [{"procedure_code": "70551", "charge": 200}]}, "the charges of `lines` add up to 200.00"),
        ({"paid": 20}, "a denied claim has no payment"),
        ({"status": "received", "paid": 20}, "a received claim has no payment"),
        ({"charge": -5}, "greater than or equal to 0"),
        ({"chrage": 5}, "Extra inputs are not permitted"),
    ],
)
def test_a_claim_of_the_config_that_does_not_add_up_is_an_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PayerConfig.model_validate({"claims": [{**CLAIM, **changes}]})


def test_a_paid_claim_of_the_config_adds_up() -> None:
    adjustments = [
        {"group": "contractual", "reason": "fee_schedule", "amount": 60},
        {"group": "patient_responsibility", "reason": "copay", "amount": 40},
    ]
    paid = {**CLAIM, "status": "paid", "paid": 200, "adjustments": adjustments, "paid_date": "2026-02-19"}
    claim = get_claim(PayerClinic(claims=[paid]))
    assert (claim.status_date, claim.payment_number) == (date(2026, 2, 19), None)
