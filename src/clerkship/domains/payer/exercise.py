"""Calls of the payers for the conformance suite, and the dataset from which they start."""

from datetime import date
from typing import Any

import orjson

from clerkship.domains.contract import DomainCall
from clerkship.domains.payer.inquiry import (
    AuthorizationQuery,
    ClaimQuery,
    EligibilityInquiry,
    PartyQuery,
    PersonQuery,
    RequestedService,
)
from clerkship.model.dataset import Dataset

CLINIC, PAYER = "9999900019", "CM002"
_IDS = "https://clinic.example/ids/"
_NPI = "http://hl7.org/fhir/sid/us-npi"


def _concept(code: str) -> dict[str, Any]:
    return {"coding": [{"code": code}]}


def _reference(key: str) -> dict[str, str]:
    return {"reference": key}


_RESOURCES: tuple[dict[str, Any], ...] = (
    {
        "resourceType": "Organization",
        "id": "org-cedar",
        "identifier": [{"system": f"{_IDS}payer", "value": PAYER}],
        "name": "Cedar Mutual Insurance",
        "type": [_concept("pay")],
    },
    {
        "resourceType": "Organization",
        "id": "org-clinic",
        "identifier": [{"system": _NPI, "value": CLINIC}],
        "name": "Riverbend Family Health Center",
        "type": [_concept("prov")],
    },
    {
        "resourceType": "Patient",
        "id": "pat-1",
        "name": [{"family": "Núñez", "given": ["Ana", "Lucía"]}],
        "gender": "female",
        "birthDate": "1980-05-17",
    },
    {
        "resourceType": "Coverage",
        "id": "cov-1",
        "status": "active",
        "subscriberId": "CM100200300",
        "beneficiary": _reference("Patient/pat-1"),
        "relationship": _concept("self"),
        "period": {"start": "2024-01-01"},
        "payor": [_reference("Organization/org-cedar")],
        "class": [{"type": _concept("plan"), "value": "cedar-select-epo", "name": "Cedar Select EPO"}],
        "order": 1,
    },
    {
        "resourceType": "Claim",
        "id": "claim-1",
        "identifier": [{"system": f"{_IDS}claim", "value": "C1"}],
        "status": "active",
        "use": "claim",
        "type": _concept("professional"),
        "patient": _reference("Patient/pat-1"),
        "created": "2026-01-12T12:00:00Z",
        "billablePeriod": {"start": "2026-01-09", "end": "2026-01-09"},
        "provider": _reference("Organization/org-clinic"),
        "insurance": [{"sequence": 1, "focal": True, "coverage": _reference("Coverage/cov-1")}],
        "item": [{"sequence": 1, "productOrService": _concept("99213"), "net": {"value": 140, "currency": "USD"}}],
    },
)
DATASET = Dataset(name="a payer", type="fhir", lines=tuple(orjson.dumps(resource) for resource in _RESOURCES))
ANA = PersonQuery(member_id="CM100200300", family="Nunez", given="Ana", birth_date=date(1980, 5, 17))
PARTY: dict[str, Any] = {"payer_id": PAYER, "provider_id": CLINIC, "subscriber": ANA}


def _request(code: str, **fields: Any) -> AuthorizationQuery:
    return AuthorizationQuery(**{**PARTY, "services": (RequestedService(procedure_code=code),), **fields})


EXERCISE: tuple[DomainCall, ...] = (
    lambda payer, action: payer.check_eligibility(action, EligibilityInquiry(**PARTY)),
    lambda payer, action: payer.check_eligibility(
        action, EligibilityInquiry(**{**PARTY, "payer_id": "XX"}), "Request/1"
    ),
    lambda payer, action: payer.request_authorization(action, _request("70551")),
    lambda payer, action: payer.request_authorization(action, _request("70551")),
    lambda payer, action: payer.request_authorization(action, _request("99213")),
    lambda payer, action: payer.request_authorization(action, _request("72148")),
    lambda payer, action: payer.find_authorizations(action, PartyQuery(**PARTY)),
    lambda payer, action: payer.find_claims(action, ClaimQuery(**PARTY)),
)
