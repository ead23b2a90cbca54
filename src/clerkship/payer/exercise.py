"""Calls of the payers for the conformance suite, and the dataset from which they start."""

from datetime import date
from pathlib import Path
from typing import Any

from clerkship.payer.determination_rule import Determination
from clerkship.payer.inquiry import (
    AuthorizationQuery,
    ClaimQuery,
    EligibilityInquiry,
    PartyQuery,
    PersonQuery,
    RequestedService,
)
from clerkship.payer.policies.dataset import PoliciesDatasetFile, build_policy_dataset
from clerkship.payer.scenario_changes import RecordedAuthorization
from clerkship.payer.state import PayerState
from clerkship.sandbox.component import DomainCall
from clerkship.sandbox.exercise import load_chart_lines
from clerkship.sandbox.state import ActionContext

CLINIC, PAYER = "9999900019", "CM002"
DATASET = load_chart_lines("a payer", Path(__file__).parent)
_POLICY = {
    "id": "CM-RAD-014",
    "title": "Imaging of the lumbar spine",
    "publisher": "Cedar Mutual Insurance",
    "kind": "medical_policy",
    "payer": PAYER,
    "versions": [
        {
            "number": "2026.1",
            "effective": "2026-01-01",
            "services": ["72148"],
            "sections": [{"heading": "Criteria", "criteria": ["Four weeks of conservative treatment."]}],
        }
    ],
}
POLICY_DATASET = build_policy_dataset(
    PoliciesDatasetFile.model_validate({"name": "policies", "type": "policies", "policies": [_POLICY]})
)
ANA = PersonQuery(member_id="CM100200300", family="Nunez", given="Ana", birth_date=date(1980, 5, 17))
MEMBER_KEY = "CM002/CM100200300/0"
PARTY: dict[str, Any] = {"payer_id": PAYER, "provider_id": CLINIC, "subscriber": ANA}


def _request(code: str, **fields: Any) -> AuthorizationQuery:
    return AuthorizationQuery(**{**PARTY, "services": (RequestedService(procedure_code=code),), **fields})


def _find_reference(payer: PayerState, code: str) -> str:
    """Return the reference number of the request for a procedure."""
    records = payer.current.authorizations.values()
    return next(each.id for each in records if each.query.services[0].procedure_code == code)


def _update(payer: PayerState, action: ActionContext) -> None:
    query = _request("72148", answers={"conservative_therapy_weeks": 2.0, "red_flags": "no"})
    payer.update_authorization(action, _find_reference(payer, "72148"), query)


def _appeal(payer: PayerState, action: ActionContext) -> None:
    reference = _find_reference(payer, "72148")
    payer.appeal(action, PartyQuery(**PARTY), reference, "Eight weeks of therapy did not help.", ("ATT1",))


def _fax(payer: PayerState, action: ActionContext) -> None:
    reference = _find_reference(payer, "70551")
    payer.file_fax(action, PAYER, "fax_1", [f"Reference number: {reference}"])
    payer.file_fax(action, PAYER, "fax_2", ["The record of A. Nunez."])


def _cancel(payer: PayerState, action: ActionContext) -> None:
    payer.cancel_authorization(action, _find_reference(payer, "70551"), PartyQuery(**PARTY))


def _deny_claim(payer: PayerState, action: ActionContext) -> None:
    claim = payer.current.list_claims(MEMBER_KEY)[0]
    payer.set_claim(action, claim, {"status": "denied", "reason": "missing_authorization"})
    payer.appeal(action, PartyQuery(**PARTY), claim.number, "The visit needed no authorization.")


EXERCISE: tuple[DomainCall, ...] = (
    lambda payer, action: payer.check_eligibility(action, EligibilityInquiry(**PARTY)),
    lambda payer, action: payer.check_eligibility(
        action, EligibilityInquiry(**{**PARTY, "payer_id": "XX"}), "CoverageEligibilityRequest/1"
    ),
    lambda payer, action: payer.set_eligibility(
        action, payer.current.get_member(MEMBER_KEY), {"order": 2}, {"used": {"physical_therapy": 20.0}}
    ),
    lambda payer, action: payer.request_authorization(action, _request("70551")),
    lambda payer, action: payer.request_authorization(action, _request("70551")),
    lambda payer, action: payer.request_authorization(action, _request("99213")),
    lambda payer, action: payer.request_authorization(action, _request("72148")),
    _fax,
    _update,
    _appeal,
    _appeal,
    lambda payer, action: payer.set_determination(action, Determination(status="denied", reason="not_covered")),
    lambda payer, action: payer.request_authorization(action, _request("97110")),
    _cancel,
    _cancel,
    lambda payer, action: payer.set_authorization(
        action,
        payer.current.get_member(MEMBER_KEY),
        RecordedAuthorization(
            reference="R1", provider_id=CLINIC, status="denied", services=(RequestedService(procedure_code="71250"),)
        ),
    ),
    lambda payer, action: payer.find_authorizations(action, PartyQuery(**PARTY)),
    lambda payer, action: payer.find_claims(action, ClaimQuery(**PARTY)),
    _deny_claim,
)
