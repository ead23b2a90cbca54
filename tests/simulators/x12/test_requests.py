"""Requests that are written from the payer's questions: valid, and read back as the same questions."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from clerkship.formats.x12.interchange import parse_interchanges
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.segment import X12Delimiters
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.validation import validate_set
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
    AuthorizationRequestKind,
    RequestHeader,
    build_authorization_inquiry,
    build_authorization_request,
    build_claim_status_request,
    build_eligibility_request,
    render_requests,
)
from clerkship.simulators.x12.transactions.authorization import read_authorization
from clerkship.simulators.x12.transactions.claim_status import read_claim_status
from clerkship.simulators.x12.transactions.eligibility import read_eligibility

CREATED = datetime(2026, 3, 2, 9, 5, tzinfo=UTC)
HEADER = RequestHeader("REQ7", CREATED, payer_name="North Pay", provider_name="Cedar Clinic")
ANA = PersonQuery(member_id="NW55501", family="RIVERA", given="ANA", birth_date=date(1980, 2, 14), gender="female")
BEN = PersonQuery(family="RIVERA", given="BEN", birth_date=date(2015, 5, 5), gender="male")
MIA = PersonQuery(member_id="NW77", family="OKAFOR", given="MIA", birth_date=date(1991, 1, 2), gender="female")
PARTY: dict[str, Any] = {"payer_id": "NW001", "provider_id": "1234567893", "subscriber": ANA}


def parse(transaction: TransactionSet) -> Loop:
    """Return the tree of a valid set."""
    validated = validate_set(transaction)
    assert list(validated.errors) == []
    return validated.tree


def test_eligibility_request_asks_about_each_patient_in_order() -> None:
    inquiries = [
        EligibilityInquiry(**PARTY, service_date=date(2026, 3, 3), service_types=("plan", "office_visit")),
        EligibilityInquiry(**PARTY, dependent=BEN, procedure_codes=("72148",)),
        EligibilityInquiry(**(PARTY | {"subscriber": MIA})),
        EligibilityInquiry(**PARTY, dependent=BEN, service_date=date(2026, 3, 3)),
        EligibilityInquiry(**PARTY),
        EligibilityInquiry(**(PARTY | {"payer_id": "SW002"})),
    ]
    asked = read_eligibility(parse(build_eligibility_request(inquiries, HEADER)))
    assert [each.trace for each in asked] == [f"REQ7-{place}" for place in range(1, 7)]
    expected = list(inquiries)
    # A dependent's question without a day is about the day of the subscriber it stands below.
    expected[1] = inquiries[1].model_copy(update={"service_date": date(2026, 3, 3)})
    assert [each.inquiry for each in asked] == expected


def test_patients_of_one_subscriber_share_its_level() -> None:
    inquiries = [EligibilityInquiry(**PARTY), EligibilityInquiry(**PARTY, dependent=BEN)]
    levels = [each for each in build_eligibility_request(inquiries, HEADER).segment_texts if each.startswith("HL*")]
    assert levels == ["HL*1**20*1", "HL*2*1*21*1", "HL*3*2*22*1", "HL*4*3*23*0"]


def test_only_question_has_the_reference_as_its_trace() -> None:
    request = build_eligibility_request([EligibilityInquiry(**PARTY, dependent=BEN)], HEADER)
    assert [each for each in request.segment_texts if each.startswith("TRN*")] == ["TRN*1*REQ7*9CLINIC001"]


def test_claim_status_request_asks_about_each_claim_in_order() -> None:
    queries = [
        ClaimQuery(**PARTY, claim_number="CLM1", account="A-7", charge=120.5, start=date(2026, 1, 5)),
        ClaimQuery(**PARTY, dependent=BEN, charge=80, start=date(2026, 1, 5), end=date(2026, 1, 9)),
        ClaimQuery(**(PARTY | {"subscriber": MIA}), account="A-8"),
    ]
    asked = read_claim_status(parse(build_claim_status_request(queries, HEADER)))
    expected = [
        queries[0].model_copy(update={"end": date(2026, 1, 5)}),
        queries[1],
        queries[2],
    ]
    assert [each.query for each in asked] == expected
    assert [each.trace for each in asked] == ["REQ7-1", "REQ7-2", "REQ7-3"]


AUTHORIZATION = AuthorizationQuery(
    **PARTY,
    review="services",
    service_type="physical_therapy",
    services=(
        RequestedService(
            procedure_code="97110",
            modifiers=("GP",),
            quantity=12,
            unit="visits",
            start=date(2026, 3, 9),
            end=date(2026, 5, 29),
            performer_id="9999900027",
            trace="REQ7S1",
        ),
        RequestedService(procedure_code="97140", quantity=2.5, place="22"),
    ),
    diagnoses=("M5416", "M5450"),
    place="11",
    is_urgent=True,
    start=date(2026, 3, 9),
    end=date(2026, 5, 29),
    answers={"red_flags": "no", "weeks": "8"},
    attachments=("DOC1", "DOC2"),
    note="See the plan of care",
    trace="PA9",
)


def test_authorization_request_asks_what_the_query_says() -> None:
    asked = read_authorization(parse(build_authorization_request(AUTHORIZATION, HEADER)))
    assert asked.kind == "request"
    assert asked.rejection is None
    assert asked.query == AUTHORIZATION


@pytest.mark.parametrize("kind", ["update", "cancel", "appeal"])
def test_later_requests_quote_the_earlier_one(kind: AuthorizationRequestKind) -> None:
    query = AuthorizationQuery(**PARTY, note="The scan is needed", answers={"red_flags": True})
    request = build_authorization_request(query, HEADER, kind, authorization_number="A100")
    asked = read_authorization(parse(request))
    assert (asked.kind, asked.reference, asked.rejection) == (kind, "A100", None)
    assert asked.query.note == "The scan is needed"
    assert asked.query.answers == {"red_flags": "yes"}
    with pytest.raises(ValueError, match="quotes no request"):
        build_authorization_request(query, HEADER, kind)


def test_authorization_request_of_a_dependent_names_both() -> None:
    query = AuthorizationQuery(**PARTY, dependent=BEN, services=(RequestedService(procedure_code="72148"),))
    asked = read_authorization(parse(build_authorization_request(query, HEADER)))
    assert asked.query.dependent == BEN
    assert asked.query.subscriber == ANA


def test_inquiry_asks_about_one_request_or_about_all() -> None:
    about_all = read_authorization(parse(build_authorization_inquiry(PartyQuery(**PARTY), HEADER)))
    assert (about_all.kind, about_all.reference) == ("inquiry", None)
    about_one = build_authorization_inquiry(PartyQuery(**PARTY, dependent=BEN), HEADER, payer_reference="R17")
    asked = read_authorization(parse(about_one))
    assert (asked.kind, asked.reference, asked.trace) == ("inquiry", "R17", "REQ7")


def test_request_that_would_be_invalid_is_an_error() -> None:
    with pytest.raises(ValueError, match="the 276 would not be valid"):
        build_claim_status_request([ClaimQuery(**(PARTY | {"subscriber": BEN}))], HEADER)
    with pytest.raises(ValueError, match="the 270 would not be valid"):
        build_eligibility_request([], HEADER)


def test_interchange_groups_the_sets_of_each_guide() -> None:
    other = RequestHeader("REQ8", CREATED, "0002")
    sets = [
        build_eligibility_request([EligibilityInquiry(**PARTY)], HEADER),
        build_eligibility_request([EligibilityInquiry(**PARTY)], other),
        build_authorization_request(AUTHORIZATION, HEADER),
        build_authorization_inquiry(PartyQuery(**PARTY), other),
        build_claim_status_request([ClaimQuery(**PARTY)], HEADER),
    ]
    envelope = OutgoingEnvelope(
        "CLINIC01", "CLEARING01", 77, CREATED, delimiters=X12Delimiters("|", "!", ">", "\n"), line_break=""
    )
    [parsed] = parse_interchanges(render_requests(envelope, sets))
    assert parsed.problems == []
    assert parsed.control_number == "000000077"
    described = [(each.functional_code, each.version, each.control_number, len(each.sets)) for each in parsed.groups]
    assert described == [
        ("HS", "005010X279A1", "1", 2),
        ("HI", "005010X217", "2", 1),
        ("HI", "005010X215", "3", 1),
        ("HR", "005010X212", "4", 1),
    ]
    assert [list(validate_set(each).errors) for group in parsed.groups for each in group.sets] == [[]] * 5
    assert [group.problems for group in parsed.groups] == [[]] * 4
    assert [each.problems for each in parsed.sets] == [[]] * 5
