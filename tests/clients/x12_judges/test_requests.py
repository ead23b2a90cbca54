"""Judges accept the requests that agents build: 270 and 276 of every kind, 278 by its syntax."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest

from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.writer import OutgoingEnvelope
from clerkship.payer.inquiry import (
    AuthorizationQuery,
    ClaimQuery,
    EligibilityInquiry,
    PartyQuery,
    PersonQuery,
    RequestedService,
)
from clerkship.simulators.x12.requests import (
    RequestHeader,
    build_authorization_inquiry,
    build_authorization_request,
    build_claim_status_request,
    build_eligibility_request,
    render_requests,
)
from tests.clients.x12_judges.judges import linuxforhealth_errors, node_x12_errors

CREATED = datetime(2026, 3, 2, 9, 5, tzinfo=UTC)
HEADER = RequestHeader("REQ7", CREATED, payer_name="North Pay", provider_name="Cedar Clinic")
ANA = PersonQuery(member_id="NW55501", family="Rivera", given="Ana", birth_date=date(1980, 2, 14), gender="female")
BEN = PersonQuery(family="Rivera", given="Ben", birth_date=date(2015, 5, 5), gender="male")
PARTY: dict[str, Any] = {"payer_id": "NW001", "provider_id": "1234567893", "subscriber": ANA}
DAY = date(2026, 3, 3)
Requests = Callable[[], Iterator[tuple[str, TransactionSet]]]


def build_270s() -> Iterator[tuple[str, TransactionSet]]:
    """Yield requests about eligibility, each with a name."""
    kinds: dict[str, list[EligibilityInquiry]] = {
        "subscriber": [EligibilityInquiry(**PARTY, service_date=DAY)],
        "dependent": [EligibilityInquiry(**PARTY, dependent=BEN, service_date=DAY)],
        "service types": [EligibilityInquiry(**PARTY, service_types=("plan", "office_visit"))],
        "procedure": [EligibilityInquiry(**PARTY, procedure_codes=("72148",))],
        "family": [EligibilityInquiry(**PARTY), EligibilityInquiry(**PARTY, dependent=BEN)],
        "two payers": [EligibilityInquiry(**PARTY), EligibilityInquiry(**(PARTY | {"payer_id": "SW002"}))],
    }
    for name, inquiries in kinds.items():
        yield name, build_eligibility_request(inquiries, HEADER)


def build_276s() -> Iterator[tuple[str, TransactionSet]]:
    """Yield requests about claims, each with a name."""
    details: dict[str, Any] = {"account": "ACCT7", "charge": 120.5, "start": DAY, "end": DAY}
    kinds: dict[str, list[ClaimQuery]] = {
        "subscriber": [ClaimQuery(**PARTY, **details)],
        "dependent": [ClaimQuery(**PARTY, **details, dependent=BEN)],
        "claim number": [ClaimQuery(**PARTY, **details, claim_number="CLM1")],
        "two claims": [ClaimQuery(**PARTY, **details), ClaimQuery(**PARTY, **(details | {"account": "ACCT8"}))],
    }
    for name, queries in kinds.items():
        yield name, build_claim_status_request(queries, HEADER)


def build_278s() -> Iterator[tuple[str, TransactionSet]]:
    """Yield requests about authorizations, each with a name."""
    visits = RequestedService(procedure_code="97110", quantity=12, unit="visits", start=DAY, performer_id="1234567893")
    query = AuthorizationQuery(
        **PARTY, services=(visits,), diagnoses=("M5416",), place="11", note="See the plan of care"
    )
    yield "request", build_authorization_request(query, HEADER)
    for kind in ("update", "cancel", "appeal"):
        yield kind, build_authorization_request(query, HEADER, kind, authorization_number="A100")
    yield "inquiry", build_authorization_inquiry(PartyQuery(**PARTY), HEADER, payer_reference="R17")


def render(transaction: TransactionSet) -> str:
    """Return an interchange with one set."""
    return render_requests(OutgoingEnvelope("CLINIC01", "CLEARING01", 77, CREATED), [transaction])


BEYOND_LINUXFORHEALTH = {
    "procedure": "it reads one question (2110C) of a person, of which the guide allows 99",
    "family": "it cannot read a question about a subscriber above one about a dependent",
}
"""What linuxforhealth-x12 crashes on, and why."""


@pytest.mark.parametrize(("build", "refused"), [(build_270s, [*BEYOND_LINUXFORHEALTH]), (build_276s, [])])
def test_linuxforhealth_accepts_requests(build: Requests, refused: list[str]) -> None:
    requests = {name: render(request) for name, request in build()}
    verdicts = dict(zip(requests, linuxforhealth_errors(list(requests.values())), strict=True))
    assert [name for name, errors in verdicts.items() if errors] == refused, verdicts


@pytest.mark.parametrize("build", [build_270s, build_276s, build_278s])
def test_node_x12_accepts_requests(build: Requests) -> None:
    requests = {name: render(request) for name, request in build()}
    verdicts = dict(zip(requests, node_x12_errors(list(requests.values())), strict=True))
    assert {name: errors for name, errors in verdicts.items() if errors} == {}
