"""Appeals against denied authorizations and claims."""

from datetime import date
from typing import Any

import pytest

from clerkship.payer.answer import Appeal, Authorization, Rejection
from clerkship.payer.inquiry import PersonQuery
from clerkship.payer.money import find_sum_mistake
from tests.payer.clinic import DOCTOR, HOSPITAL, PayerClinic, party, request
from tests.payer.test_claims import CLAIM

DENY = [{"match": {"procedure_code": "70553"}, "status": "denied", "reason": "not_medically_necessary"}]


def deny(**config: Any) -> tuple[PayerClinic, Authorization]:
    clinic = PayerClinic(determinations=DENY, claims=[CLAIM], **config)
    [authorization] = clinic.payer.request_authorization(clinic.action, request("70553")).authorizations
    return clinic, authorization


def appeal(clinic: PayerClinic, of: str, reason: str = "It is needed.", *attachments: str, **fields: Any) -> Appeal:
    filed = clinic.payer.appeal(clinic.action, party(**fields), of, reason, attachments)
    assert isinstance(filed, Appeal)
    return filed


def reason_of(answer: Appeal | Rejection) -> tuple[str, str]:
    assert isinstance(answer, Rejection)
    return answer.reason, answer.subject


def test_an_overturned_denial_becomes_an_approval_with_a_number() -> None:
    clinic, denied = deny()
    filed = appeal(clinic, denied.id, "New findings.", "ATT1")
    assert (filed.status, filed.of) == ("received", denied.id)
    clinic.advance(days=3)
    decided = clinic.payer.current.appeals[filed.id]
    assert (decided.status, decided.decided) == ("overturned", clinic.playground.now)
    approved = clinic.payer.current.authorizations[denied.id]
    assert (approved.status, approved.reason) == ("approved", "appeal_overturned")
    assert approved.number is not None
    assert approved.services[0].status == "approved"
    assert clinic.kinds[-3:] == ["payer.appeal.filed", "payer.appeal.decided", "payer.authorization.determined"]
    assert [event.actor for event in clinic.events[-2:]] == ["system", "system"]


def test_an_upheld_denial_stays() -> None:
    clinic, denied = deny()
    filed = appeal(clinic, denied.id)
    clinic.advance(days=3)
    assert clinic.payer.current.appeals[filed.id].status == "upheld"
    assert clinic.payer.current.authorizations[denied.id] == denied


def test_a_denied_claim_is_paid_when_its_denial_is_overturned() -> None:
    clinic, _ = deny(appeals={"delay": "1h"})
    appeal(clinic, "CLM1", "It was authorized.", "ATT1")
    clinic.advance(hours=1)
    claim = clinic.payer.current.claims["CLM1"]
    assert (claim.status, claim.paid > 0, find_sum_mistake(claim)) == ("paid", True, "")
    assert clinic.kinds[-1] == "payer.claim.changed"


@pytest.mark.parametrize(
    ("match", "is_match"),
    [
        ({"of": "authorization"}, True),
        ({"of": "claim"}, False),
        ({"procedure_code": "7055*"}, True),
        ({"denial_reason": "not_medically_necessary"}, True),
        ({"denial_reason": "late"}, False),
        ({"member_id": "CM-555*"}, True),
        ({"attachments": True}, False),
        ({"reason": {"contains": "therapy"}}, True),
        ({"reason": {"contains": "pain"}}, False),
    ],
)
def test_the_first_rule_that_matches_decides_an_appeal(match: dict[str, Any], is_match: bool) -> None:
    rules = [{"match": match, "outcome": "overturned", "delay": "0s"}, {"outcome": "upheld", "delay": "0s"}]
    clinic, denied = deny(appeals={"rules": rules})
    assert appeal(clinic, denied.id, "Six weeks of therapy.").status == ("overturned" if is_match else "upheld")


def test_without_a_rule_that_matches_the_denial_is_upheld() -> None:
    clinic, denied = deny(appeals={"rules": [], "delay": "0s"})
    assert appeal(clinic, denied.id, "Please.", "ATT1").status == "upheld"


def test_an_appeal_after_the_deadline_is_dismissed() -> None:
    clinic, denied = deny(appeals={"deadline": 10})
    clinic.advance(days=10)
    assert appeal(clinic, denied.id).status == "received"
    later, other = deny(appeals={"deadline": 10})
    later.advance(days=11)
    dismissed = appeal(later, other.id)
    assert (dismissed.status, dismissed.text) == ("dismissed", "The deadline for an appeal was 2026-03-12.")


@pytest.mark.parametrize(("minutes", "status"), [(24 * 60 + 20, "received"), (24 * 60 + 40, "dismissed")])
def test_the_deadline_counts_from_the_day_of_the_denial_at_the_payer(minutes: int, status: str) -> None:
    clinic = PayerClinic(determinations=DENY, appeals={"deadline": 1}, zone=-300)
    clinic.advance(hours=14, minutes=30)  # half past eleven in the evening at the payer; the next day in UTC
    [denied] = clinic.payer.request_authorization(clinic.action, request("70553")).authorizations
    clinic.advance(minutes=minutes)
    assert appeal(clinic, denied.id).status == status


def test_an_appeal_against_no_denial_is_dismissed() -> None:
    clinic, _ = deny()
    [approved] = clinic.payer.request_authorization(clinic.action, request("70551")).authorizations
    dismissed = appeal(clinic, approved.number or "")
    assert (dismissed.status, dismissed.of) == ("dismissed", approved.id)
    assert "the status is approved" in dismissed.text


def test_a_rejected_appeal_changes_nothing() -> None:
    clinic, denied = deny()
    before = clinic.payer.dump()
    file = clinic.payer.appeal
    assert reason_of(file(clinic.action, party(), "R0", "x")) == ("unknown_reference", "request")
    assert reason_of(file(clinic.action, party(), denied.id, " ")) == ("missing_request_data", "request")
    assert reason_of(file(clinic.action, party(provider_id=HOSPITAL), denied.id, "x")) == (
        "provider_not_allowed",
        "provider",
    )
    child = PersonQuery(given="Tim", birth_date=date(2015, 3, 1))
    assert reason_of(file(clinic.action, party(dependent=child), denied.id, "x")) == ("unknown_reference", "request")
    assert reason_of(file(clinic.action, party(payer_id="X"), denied.id, "x")) == ("unknown_payer", "payer")
    assert clinic.payer.dump() == before
    assert clinic.kinds[-5:] == ["payer.appeal.rejected"] * 5


def test_there_is_one_appeal_against_a_denial() -> None:
    clinic, denied = deny()
    appeal(clinic, denied.id, provider_id=DOCTOR)
    assert reason_of(clinic.payer.appeal(clinic.action, party(), denied.id, "Again.")) == (
        "duplicate_request",
        "request",
    )


def test_a_denial_that_was_reversed_meanwhile_leaves_nothing_to_decide() -> None:
    clinic, _ = deny()
    filed = appeal(clinic, "CLM1")
    claim = clinic.payer.current.find_claim("CLM1")
    assert claim is not None
    clinic.payer.set_claim(clinic.action, claim, {"status": "paid"})
    clinic.advance(days=3)
    assert clinic.payer.current.appeals[filed.id].status == "dismissed"
