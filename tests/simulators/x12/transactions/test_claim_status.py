"""276 and 277."""

from datetime import date

import pytest

from clerkship.formats.x12.loop import Loop
from clerkship.payer.answer import (
    ClaimAnswer,
    ClaimLine,
    PayerClaim,
    Rejection,
    RejectionReason,
    RejectionSubject,
)
from clerkship.payer.inquiry import PersonQuery
from clerkship.simulators.x12.transactions.claim_status import read_claim_status, write_claim_status
from tests.simulators.x12.transactions.messages import (
    ANA,
    BEN,
    HEADER,
    PAYER,
    PROVIDER,
    SUBSCRIBER,
    list_segments,
    parse_reply,
    parse_request,
)

VERSION = "005010X212"
SUBMITTER = "NM1*41*2*CEDAR*****46*CLINIC01"
START = (
    "BHT*0010*13*CS1*20261115*0900",
    "HL*1**20*1",
    PAYER,
    "HL*2*1*21*1",
    SUBMITTER,
    "HL*3*2*19*1",
    PROVIDER,
)
PATIENT = ("HL*4*3*22*0", "DMG*D8*19800214*F", SUBSCRIBER)
QUESTION = ("TRN*1*CS1T", "REF*1K*NWC451", "REF*EJ*ACCT77", "AMT*T3*250", "DTP*472*RD8*20261005-20261006")
DEPENDENT = (
    "HL*4*3*22*1",
    SUBSCRIBER,
    "HL*5*4*23",
    "DMG*D8*20150505*M",
    "NM1*QC*1*RIVERA*BEN",
    "TRN*1*CS2T",
    "REF*EJ*ACCT78",
    "DTP*472*D8*20261005",
)
PAID = PayerClaim(
    number="NWC451",
    payer_id="NW001",
    member_key=ANA.key,
    provider_id="1234567893",
    account="ACCT77",
    status="paid",
    charge=250,
    paid=180,
    start=date(2026, 10, 5),
    end=date(2026, 10, 5),
    received=date(2026, 10, 8),
    status_date=date(2026, 11, 1),
    paid_date=date(2026, 11, 3),
    payment_number="EFT881",
)


def ask(*segments: str) -> Loop:
    """Return the tree of a 276 with these levels below the provider."""
    return parse_request("276", VERSION, *START, *segments)


def write_status(claim: PayerClaim) -> str:
    """Return the STC segment for a claim."""
    reply = parse_reply(
        write_claim_status(ask(*PATIENT, *QUESTION), [ClaimAnswer(member=ANA, claims=(claim,))], HEADER)
    )
    loop = reply.first("2200D") or Loop("")
    status = loop.segment("STC")
    assert status is not None
    return status.render()


def test_question_names_parties_claim_and_period() -> None:
    [asked] = read_claim_status(ask(*PATIENT, *QUESTION))
    query = asked.query
    assert (query.payer_id, query.provider_id) == ("NW001", "1234567893")
    assert query.subscriber == PersonQuery(
        member_id="NW55501", family="RIVERA", given="ANA", birth_date=date(1980, 2, 14), gender="female"
    )
    assert (query.claim_number, query.account, query.charge) == ("NWC451", "ACCT77", 250)
    assert (query.start, query.end) == (date(2026, 10, 5), date(2026, 10, 6))
    assert asked.trace == "CS1T"


def test_dependent_is_read_from_its_own_level() -> None:
    [asked] = read_claim_status(ask(*DEPENDENT))
    assert asked.query.dependent == PersonQuery(
        family="RIVERA", given="BEN", birth_date=date(2015, 5, 5), gender="male"
    )
    assert asked.query.subscriber.member_id == "NW55501"
    assert asked.query.account == "ACCT78"


def test_provider_with_two_ids_is_asked_for_by_its_npi() -> None:
    second = "NM1*1P*2*CEDAR*****FI*840000001"
    tree = parse_request("276", VERSION, *START[:-1], second, PROVIDER, *PATIENT, *QUESTION)
    [asked] = read_claim_status(tree)
    assert asked.query.provider_id == "1234567893"
    segments = list_segments(write_claim_status(tree, [ClaimAnswer(member=ANA)], HEADER))
    assert segments[7:9] == [second, PROVIDER]


def test_period_of_services_is_asked_if_the_claim_has_none() -> None:
    lines = ("SVC*HC:72148*250*****1", "DTP*472*D8*20261007", "SVC*HC:99213*100*****1", "DTP*472*D8*20261005")
    [asked] = read_claim_status(ask(*PATIENT, "TRN*1*CS1T", *lines))
    assert (asked.query.start, asked.query.end) == (date(2026, 10, 5), date(2026, 10, 7))


def test_paid_claim_is_answered_with_amounts_and_payment() -> None:
    tree = ask(*PATIENT, *QUESTION)
    assert list_segments(write_claim_status(tree, [ClaimAnswer(member=ANA, claims=(PAID,))], HEADER)) == [
        "ST*277*0007*005010X212",
        "BHT*0010*08*CS1*20261115*0901*DG",
        "HL*1**20*1",
        PAYER,
        "HL*2*1*21*1",
        SUBMITTER,
        "HL*3*2*19*1",
        PROVIDER,
        "HL*4*3*22*0",
        "NM1*IL*1*RIVERA*ANA*LUCIA***MI*NW55501",
        "TRN*2*CS1T",
        "STC*F1:65*20261101**250*180*20261101**20261103*EFT881",
        "REF*1K*NWC451",
        "REF*EJ*ACCT77",
        "DTP*472*D8*20261005",
        "SE*16*0007",
    ]


@pytest.mark.parametrize(
    ("change", "segment"),
    [
        ({"status": "received"}, "STC*P1:20*20261101**250*0"),
        ({"status": "pended", "reason": "in_review"}, "STC*P1:20*20261101**250*0"),
        ({"status": "pended", "reason": "medical_review"}, "STC*P2:46*20261101**250*0"),
        ({"status": "pended", "reason": "missing_notes"}, "STC*P3:297*20261101**250*0"),
        ({"status": "pended", "reason": "a reason of its own"}, "STC*P2:20*20261101**250*0"),
        ({"status": "denied", "reason": "missing_authorization"}, "STC*F2:84*20261101**250*0*20261101"),
        ({"status": "denied", "reason": "missing_notes"}, "STC*F2:297*20261101**250*0*20261101"),
        ({"status": "denied", "reason": ""}, "STC*F2:585*20261101**250*0*20261101"),
        ({"status": "paid"}, "STC*F4:107*20261101**250*0*20261101"),
    ],
)
def test_status_and_reason_become_category_and_status(change: dict[str, str], segment: str) -> None:
    claim = PAID.model_copy(update={"paid": 0, "paid_date": None, "payment_number": None, **change})
    assert write_status(claim) == segment


def test_every_claim_that_matches_repeats_the_trace() -> None:
    answer = ClaimAnswer(member=ANA, claims=(PAID, PAID.model_copy(update={"number": "NWC452"})))
    reply = parse_reply(write_claim_status(ask(*PATIENT, *QUESTION), [answer], HEADER))
    rows = [[segment.render() for segment in loop.segments] for loop in reply.find_all("2200D")]
    assert [(row[0], row[2]) for row in rows] == [("TRN*2*CS1T", "REF*1K*NWC451"), ("TRN*2*CS1T", "REF*1K*NWC452")]


def test_claim_that_is_not_found_repeats_what_was_asked() -> None:
    segments = list_segments(write_claim_status(ask(*PATIENT, *QUESTION), [ClaimAnswer(member=ANA)], HEADER))
    assert segments[10:-1] == [
        "TRN*2*CS1T",
        "STC*D0:35*20261115",
        "REF*EJ*ACCT77",
        "DTP*472*RD8*20261005-20261006",
    ]


def test_services_that_are_asked_about_are_answered() -> None:
    lines = (
        ClaimLine(procedure_code="72148", charge=200, paid=180, service_date=date(2026, 10, 5)),
        ClaimLine(procedure_code="99213", charge=50, status="denied", service_date=date(2026, 10, 5)),
    )
    answer = ClaimAnswer(member=ANA, claims=(PAID.model_copy(update={"lines": lines}),))
    tree = ask(*PATIENT, *QUESTION, "SVC*HC:99213*50*****3", "REF*FJ*LINE2", "DTP*472*D8*20261005")
    reply = parse_reply(write_claim_status(tree, [answer], HEADER))
    assert [[segment.render() for segment in loop.segments] for loop in reply.find_all("2220D")] == [
        ["SVC*HC:99213*50*0****3", "STC*F2:585*20261101", "REF*FJ*LINE2", "DTP*472*D8*20261005"]
    ]
    everything = parse_reply(write_claim_status(ask(*PATIENT, *QUESTION), [answer], HEADER))
    # SVC07 is required: the units of the question, or 1.
    assert [loop.segments[0].raw(7) for loop in everything.find_all("2220D")] == ["1", "1"]


def test_payment_that_is_not_divided_among_services_is_stated_for_the_claim_only() -> None:
    lines = (ClaimLine(procedure_code="72148", charge=200), ClaimLine(procedure_code="99213", charge=50))
    answer = ClaimAnswer(member=ANA, claims=(PAID.model_copy(update={"lines": lines}),))
    reply = parse_reply(write_claim_status(ask(*PATIENT, *QUESTION), [answer], HEADER))
    assert [loop.segments[1].render()[:10] for loop in reply.find_all("2200D")] == ["STC*F1:65*"]
    assert reply.find_all("2220D") == []


def test_dependent_is_answered_without_a_statement_of_levels_below() -> None:
    answer = ClaimAnswer(member=BEN, claims=(PAID,))
    segments = list_segments(write_claim_status(ask(*DEPENDENT), [answer], HEADER))
    assert segments[8:13] == ["HL*4*3*22*1", SUBSCRIBER, "HL*5*4*23", "NM1*QC*1*RIVERA*BEN", "TRN*2*CS2T"]


def test_rejected_payer_ends_the_reply_at_the_receiver() -> None:
    rejection = Rejection(reason="unknown_payer", subject="payer", text="no such payer")
    segments = list_segments(write_claim_status(ask(*PATIENT, *QUESTION), [ClaimAnswer(rejection=rejection)], HEADER))
    assert segments[4:-1] == ["HL*2*1*21*0", SUBMITTER, "TRN*2*CS1", "STC*E0:21:PR*20261115"]


def test_rejected_provider_ends_the_reply_at_the_provider() -> None:
    rejection = Rejection(reason="unknown_provider", subject="provider", text="no such provider")
    segments = list_segments(write_claim_status(ask(*PATIENT, *QUESTION), [ClaimAnswer(rejection=rejection)], HEADER))
    assert segments[6:-1] == ["HL*3*2*19*0", PROVIDER, "TRN*1*CS1T", "STC*E0:21:1P*20261115"]


@pytest.mark.parametrize(
    ("reason", "subject", "segment"),
    [
        ("unknown_member", "subscriber", "STC*D0:33:IL*20261115"),
        ("birth_date_mismatch", "subscriber", "STC*D0:158:IL*20261115"),
        ("name_mismatch", "subscriber", "STC*D0:125:IL*20261115"),
        ("missing_member_data", "subscriber", "STC*E0:21:IL*20261115"),
        ("missing_request_data", "request", "STC*E0:21*20261115"),
    ],
)
def test_rejected_patient_is_repeated_as_asked(
    reason: RejectionReason, subject: RejectionSubject, segment: str
) -> None:
    answer = ClaimAnswer(member=ANA, rejection=Rejection(reason=reason, subject=subject, text="why"))
    segments = list_segments(write_claim_status(ask(*PATIENT, *QUESTION), [answer], HEADER))
    assert segments[8:12] == ["HL*4*3*22*0", SUBSCRIBER, "TRN*2*CS1T", segment]


def test_each_patient_of_a_request_is_answered() -> None:
    second = ("HL*5*3*22*0", "DMG*D8*19700101*M", "NM1*IL*1*DOE*JO****MI*NW9", "TRN*1*CS9", "DTP*472*D8*20261005")
    rejection = Rejection(reason="unknown_member", subject="subscriber", text="no such member")
    answers = [ClaimAnswer(member=ANA, claims=(PAID,)), ClaimAnswer(rejection=rejection)]
    reply = parse_reply(write_claim_status(ask(*PATIENT, *QUESTION, *second), answers, HEADER))
    statuses = [segment.raw(1) for segment in reply.all_segments() if segment.id == "STC"]
    assert statuses == ["F1:65", "D0:33:IL"]


def test_family_name_without_a_character_of_the_basic_set_is_unknown() -> None:
    member = ANA.model_copy(update={"family": "%", "given": ()})
    header = HEADER._replace(charset="basic")
    reply = list_segments(write_claim_status(ask(*PATIENT, *QUESTION), [ClaimAnswer(member=member)], header))
    assert "NM1*IL*1*UNKNOWN*****MI*NW55501" in reply


@pytest.mark.parametrize(
    ("codes", "written"),
    [
        (("99213", "80061"), ["HC:99213", "HC:80061"]),
        (("J1745", "D1110"), ["HC:J1745", "AD:D1110"]),
        (("99213", "24331-1"), []),
        (("390906007",), []),
    ],
)
def test_service_has_the_qualifier_of_its_code_system(codes: tuple[str, ...], written: list[str]) -> None:
    lines = tuple(ClaimLine(procedure_code=code, charge=10, paid=8, status="paid") for code in codes)
    claim = PAID.model_copy(update={"lines": lines})
    reply = write_claim_status(ask(*PATIENT, *QUESTION), [ClaimAnswer(member=ANA, claims=(claim,))], HEADER)
    assert [segment.raw(1) for segment in reply.segments if segment.id == "SVC"] == written
    parse_reply(reply)
