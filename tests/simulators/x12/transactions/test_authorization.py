"""278 requests, inquiries and responses."""

from datetime import UTC, date, datetime
from typing import get_args

import pytest

from clerkship.formats.x12.loop import Loop
from clerkship.payer.answer import (
    Appeal,
    Authorization,
    AuthorizationAnswer,
    AuthorizationStatus,
    ClinicalQuestion,
    DecidedService,
    Rejection,
    RejectionReason,
    RejectionSubject,
)
from clerkship.payer.inquiry import PersonQuery
from clerkship.simulators.x12.transactions.authorization import read_authorization, write_authorization
from clerkship.simulators.x12.transactions.codes import RequestKind
from tests.simulators.x12.transactions.messages import (
    ANA,
    BEN,
    HEADER,
    PROVIDER,
    REVIEWER,
    SUBSCRIBER,
    list_segments,
    parse_reply,
    parse_request,
)

VERSION = "005010X217"
START = (
    "BHT*0007*13*PA1*20261115*0900",
    "HL*1**20*1",
    REVIEWER,
    "HL*2*1*21*1",
    PROVIDER,
    "HL*3*2*22*1",
    SUBSCRIBER,
    "DMG*D8*19800214*F",
)
EVENT = ("HL*4*3*EV*1", "TRN*1*PA1E*9CEDAR0001", "UM*HS*I*62*11:B*****Y", "HI*ABK:M54.16*ABF:E119")
SERVICE = (
    "HL*5*4*SS*0",
    "TRN*1*PA1S1*9CEDAR0001",
    "DTP*472*RD8*20261201-20261231",
    "SV1*HC:72148:26**UN*1",
    "NM1*SJ*2*LAKE MRI*****XX*1098765435",
)


def ask(*segments: str) -> Loop:
    """Return the tree of a 278 request with these levels below the subscriber."""
    return parse_request("278", VERSION, *START, *segments)


def ask_to_change(kind: str, *segments: str) -> Loop:
    """Return the tree of a 278 about an earlier request."""
    return ask("HL*4*3*EV*0", "TRN*1*PA2E*9CEDAR0001", f"UM*HS*{kind}*62*11:B", *segments)


def decide(status: AuthorizationStatus, **changes: object) -> AuthorizationAnswer:
    """Return the answer to the request of EVENT and SERVICE."""
    service = DecidedService(
        procedure_code="72148",
        status=status,
        quantity=1,
        start=date(2026, 12, 1),
        end=date(2026, 12, 31),
        trace="PA1S1",
    )
    authorization = Authorization(
        id="NWP3001",
        number="NWA7001" if status in ("approved", "modified") else None,
        payer_id="NW001",
        member_key=ANA.key,
        query=read_authorization(ask(*EVENT, *SERVICE)).query,
        status=status,
        services=(service,),
        requested=datetime(2026, 11, 15, 9, tzinfo=UTC),
    )
    return AuthorizationAnswer(member=ANA, authorizations=(authorization.model_copy(update=changes),))


def test_request_names_parties_diagnoses_and_services() -> None:
    asked = read_authorization(ask(*EVENT, *SERVICE))
    query = asked.query
    assert (asked.kind, asked.reference, asked.trace, asked.rejection) == ("request", None, "PA1E", None)
    assert (query.payer_id, query.provider_id) == ("NW001", "1234567893")
    assert query.subscriber == PersonQuery(
        member_id="NW55501", family="RIVERA", given="ANA", birth_date=date(1980, 2, 14), gender="female"
    )
    assert (query.review, query.service_type, query.place, query.is_urgent) == ("services", "mri_ct", "11", False)
    assert query.diagnoses == ("M5416", "E119")
    [service] = query.services
    assert (service.procedure_code, service.modifiers) == ("72148", ("26",))
    assert (service.quantity, service.unit, service.trace) == (1, "units", "PA1S1")
    assert (service.start, service.end) == (date(2026, 12, 1), date(2026, 12, 31))
    assert service.performer_id == "1098765435"


def test_dependent_is_read_from_its_own_level() -> None:
    levels = ("HL*4*3*23*1", "NM1*QC*1*RIVERA*BEN", "DMG*D8*20150505*M", "HL*5*4*EV*0", "UM*HS*I*62*11:B")
    query = read_authorization(ask(*levels)).query
    assert query.dependent == PersonQuery(family="RIVERA", given="BEN", birth_date=date(2015, 5, 5), gender="male")


def test_admission_is_read_with_its_dates_and_bill_type() -> None:
    event = ("HL*4*3*EV*0", "UM*AR*I*47*11:A**03", "DTP*435*D8*20261201", "DTP*096*D8*20261205", "HI*ABK:I214")
    query = read_authorization(ask(*event)).query
    assert (query.review, query.place, query.is_urgent) == ("admission", "21", True)
    assert (query.start, query.end) == (date(2026, 12, 1), date(2026, 12, 5))


def test_delivery_pattern_becomes_a_total() -> None:
    service = ("HL*5*4*SS*0", "SV1*HC:97110**UN*4", "HSD*VS*2*WK*1*34*3")
    [requested] = read_authorization(ask(*EVENT, *service)).query.services
    assert (requested.quantity, requested.unit) == (26, "visits")


def test_institutional_service_is_read() -> None:
    service = ("HL*5*4*SS*0", "SV2*0120*HC:99221**DA*3")
    [requested] = read_authorization(ask(*EVENT, *service)).query.services
    assert (requested.procedure_code, requested.quantity, requested.unit) == ("99221", 3, "days")


def test_dental_service_is_read() -> None:
    [requested] = read_authorization(ask(*EVENT, "HL*5*4*SS*0", "SV3*AD:D2750*****2")).query.services
    assert (requested.procedure_code, requested.quantity) == ("D2750", 2)


def test_documents_answers_and_notes_are_read() -> None:
    tree = ask_to_change(
        "S", "REF*NT*NWP3001", "PWK*77*EL***AC*ATT0001", "MSG*Seen twice; red_flags=no; weeks = 8; BP 120"
    )
    asked = read_authorization(tree)
    assert asked.query.attachments == ("ATT0001",)
    assert asked.query.answers == {"red_flags": "no", "weeks": "8"}
    assert asked.query.note == "Seen twice; BP 120"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("S", "update"),
        ("4", "update"),
        ("R", "update"),
        ("N", "update"),
        ("3", "cancel"),
        ("1", "appeal"),
        ("2", "appeal"),
    ],
)
def test_um02_tells_what_is_asked_about_an_earlier_request(code: str, kind: RequestKind) -> None:
    asked = read_authorization(ask_to_change(code, "REF*BB*NWA7001"))
    assert (asked.kind, asked.reference, asked.rejection) == (kind, "NWA7001", None)


@pytest.mark.parametrize("code", ["S", "3", "1"])
def test_change_without_a_reference_is_rejected(code: str) -> None:
    tree = ask_to_change(code)
    asked = read_authorization(tree)
    assert asked.rejection is not None
    segments = list_segments(write_authorization(tree, asked.rejection, HEADER))
    assert segments[8:-1] == [
        "HL*4*3*EV*0",
        "TRN*2*PA2E*9CEDAR0001",
        "AAA*N**15*C",
        f"UM*HS*{code}*62*11:B",
        "MSG*The request quotes no earlier authorization (REF BB or REF NT).",
    ]


def test_kind_of_review_that_is_not_processed_is_rejected() -> None:
    asked = read_authorization(ask("HL*4*3*EV*0", "UM*IN*I*62*11:B"))
    assert asked.rejection is not None
    assert asked.rejection.reason == "invalid_service"


def test_quantity_of_zero_is_rejected() -> None:
    asked = read_authorization(ask(*EVENT, "HL*5*4*SS*0", "SV1*HC:72148**UN*0"))
    assert asked.rejection is not None
    assert asked.rejection.reason == "invalid_service"


def test_approval_states_number_validity_and_units() -> None:
    answer = decide(
        "approved",
        decided=datetime(2026, 11, 15, 9, 1, tzinfo=UTC),
        valid_from=date(2026, 11, 15),
        valid_to=date(2027, 2, 15),
    )
    assert list_segments(write_authorization(ask(*EVENT, *SERVICE), answer, HEADER)) == [
        "ST*278*0007*005010X217",
        "BHT*0007*11*PA1*20261115*0901*18",
        "HL*1**20*1",
        REVIEWER,
        "HL*2*1*21*1",
        PROVIDER,
        "HL*3*2*22*1",
        "NM1*IL*1*RIVERA*ANA*LUCIA***MI*NW55501",
        "HL*4*3*EV*1",
        "TRN*2*PA1E*9CEDAR0001",
        "UM*HS*I*62*11:B",
        "HCR*A1*NWA7001",
        "DTP*102*D8*20261115",
        "DTP*036*D8*20270215",
        "DTP*007*D8*20261115",
        "HL*5*4*SS*0",
        "TRN*2*PA1S1*9CEDAR0001",
        "HCR*A1*NWA7001",
        "DTP*472*RD8*20261201-20261231",
        "SV1*HC:72148:26**UN*1",
        "SE*21*0007",
    ]


def test_denial_states_the_reason_and_the_number_of_the_request() -> None:
    answer = decide("denied", reason="not_medically_necessary", text="Try therapy first.")
    segments = list_segments(write_authorization(ask(*EVENT, *SERVICE), answer, HEADER))
    assert segments[1].endswith("*18")
    assert segments[11:14] == ["HCR*A3**82", "REF*NT*NWP3001", "MSG*Try therapy first."]
    assert segments[-3:-1] == ["DTP*472*RD8*20261201-20261231", "SV1*HC:72148:26"]


def test_request_for_information_asks_questions_and_documents() -> None:
    questions = (
        ClinicalQuestion(id="red_flags", text="Are there warning signs?", type="boolean"),
        ClinicalQuestion(id="side", text="Which side?", type="choice", choices=("left", "right")),
        ClinicalQuestion(id="notes", text="Send therapy notes.", type="attachment"),
    )
    answer = decide("need_more_info", reason="clinical_information_needed", questions=questions)
    segments = list_segments(write_authorization(ask(*EVENT, *SERVICE), answer, HEADER))
    assert segments[1].endswith("*19")
    assert segments[11:15] == [
        "HCR*A4**90",
        "REF*NT*NWP3001",
        "PWK*77*EL***AC*NWP3001-notes",
        "MSG*QUESTION red_flags (boolean) - Are there warning signs? QUESTION side (left/right) - Which side? "
        "QUESTION notes (attachment) - Send therapy notes.",
    ]


def test_questions_that_do_not_fit_in_the_event_are_asked_with_the_service() -> None:
    questions = tuple(ClinicalQuestion(id=f"q{number}", text="Why? " * 40) for number in (1, 2))
    answer = decide("need_more_info", text="Tell us more.", questions=questions)
    reply = parse_reply(write_authorization(ask(*EVENT, *SERVICE), answer, HEADER))
    places = [(loop.id, segment.raw(1)[:30]) for loop in reply.walk() for segment in loop.segments_with_id("MSG")]
    assert places == [("2000E", "Tell us more. QUESTION q1 (tex"), ("2000F", "QUESTION q2 (text) - Why? Why?")]


def test_too_many_questions_are_shortened_and_all_ids_are_asked() -> None:
    questions = tuple(ClinicalQuestion(id=f"q{number}", text="Why? " * 40) for number in range(9))
    answer = decide("need_more_info", text="Tell us more.", questions=questions)
    reply = parse_reply(write_authorization(ask(*EVENT, *SERVICE), answer, HEADER))
    texts = " ".join(segment.raw(1) for segment in reply.all_segments() if segment.id == "MSG")
    assert all(f"QUESTION q{number} (text)" in texts for number in range(9))


@pytest.mark.parametrize("status", get_args(AuthorizationStatus))
def test_every_status_has_a_valid_response(status: AuthorizationStatus) -> None:
    reply = parse_reply(write_authorization(ask(*EVENT, *SERVICE), decide(status), HEADER))
    beginning = reply.segment("BHT")
    assert beginning is not None
    assert beginning.raw(6) == ("19" if status in ("pending", "need_more_info") else "18")
    codes = {segment.raw(1) for segment in reply.all_segments() if segment.id == "HCR"}
    assert len(codes) == 1


def test_fewer_visits_are_stated_in_their_unit() -> None:
    tree = ask(*EVENT, "HL*5*4*SS*0", "TRN*1*PA1S1*9CEDAR0001", "SV1*HC:97110", "HSD*VS*20")
    service = DecidedService(procedure_code="97110", status="modified", quantity=12, unit="visits", trace="PA1S1")
    answer = decide("modified", services=(service,), reason="units_reduced")
    segments = list_segments(write_authorization(tree, answer, HEADER))
    assert segments[11] == "HCR*A6*NWA7001*87"
    assert segments[-4:-1] == ["HCR*A6*NWA7001", "SV1*HC:97110", "HSD*VS*12"]


def test_event_with_approved_and_denied_services_is_certified_in_part() -> None:
    second = ("HL*6*4*SS*0", "TRN*1*PA1S2*9CEDAR0001", "SV1*HC:72149**UN*1")
    services = (
        DecidedService(procedure_code="72148", status="approved", quantity=1, trace="PA1S1"),
        DecidedService(procedure_code="72149", status="denied", quantity=0, trace="PA1S2"),
    )
    reply = parse_reply(
        write_authorization(ask(*EVENT, *SERVICE, *second), decide("modified", services=services), HEADER)
    )
    decisions = [segment.render() for segment in reply.all_segments() if segment.id == "HCR"]
    assert decisions == ["HCR*A2*NWA7001", "HCR*A1*NWA7001", "HCR*A3"]


def test_services_without_traces_are_matched_by_procedure() -> None:
    services = tuple(DecidedService(procedure_code=code, status="approved", quantity=1) for code in ("72149", "72148"))
    asked = ("HL*5*4*SS*0", "TRN*1*A*9CEDAR0001", "SV1*HC:72148", "HL*6*4*SS*0", "TRN*1*B*9CEDAR0001", "SV1*HC:72149")
    reply = parse_reply(write_authorization(ask(*EVENT, *asked), decide("approved", services=services), HEADER))
    rows = [(loop.segment("TRN"), loop.segment("SV1")) for loop in reply.find_all("2000F")]
    assert [(trace.raw(2), service.value(1, 2)) for trace, service in rows if trace and service] == [
        ("B", "72149"),
        ("A", "72148"),
    ]


def test_decisions_on_the_same_procedure_belong_to_different_services() -> None:
    services = tuple(DecidedService(procedure_code="72148", status="approved", quantity=1) for _ in range(3))
    asked = ("HL*5*4*SS*0", "TRN*1*A*9CEDAR0001", "SV1*HC:72148", "HL*6*4*SS*0", "TRN*1*B*9CEDAR0001", "SV1*HC:72148")
    reply = parse_reply(write_authorization(ask(*EVENT, *asked), decide("approved", services=services), HEADER))
    traces = [loop.segment("TRN") for loop in reply.find_all("2000F")]
    assert [trace.raw(2) if trace else None for trace in traces] == ["A", "B", None]


def test_cancellation_is_confirmed_with_the_number() -> None:
    answer = decide("cancelled", number="NWA7001")
    segments = list_segments(write_authorization(ask_to_change("3", "REF*BB*NWA7001"), answer, HEADER))
    assert segments[10:13] == ["UM*HS*3*62*11:B", "HCR*C", "REF*BB*NWA7001"]


def test_service_without_need_of_authorization_needs_no_action() -> None:
    answer = AuthorizationAnswer(member=ANA, is_required=False, text="No authorization is needed.")
    segments = list_segments(write_authorization(ask(*EVENT, *SERVICE), answer, HEADER))
    assert segments[1].endswith("*18")
    assert segments[11:13] == ["HCR*NA**84", "MSG*No authorization is needed."]
    assert segments[13:-1] == ["HL*5*4*SS*0", "TRN*2*PA1S1*9CEDAR0001", "HCR*NA**84", "SV1*HC:72148:26**UN*1"]


def test_received_appeal_is_pended_under_its_own_number() -> None:
    appeal = Appeal(
        id="NWX1", payer_id="NW001", of="NWP3001", reason="see notes", filed=datetime(2026, 11, 15, tzinfo=UTC)
    )
    segments = list_segments(write_authorization(ask_to_change("2", "REF*NT*NWP3001"), appeal, HEADER))
    assert segments[1].endswith("*19")
    assert segments[11:-1] == ["HCR*A4", "REF*NT*NWX1", "MSG*Appeal received."]


@pytest.mark.parametrize(
    ("reason", "subject", "loop", "segment"),
    [
        ("unknown_payer", "payer", "2010A", "AAA*N**T4*C"),
        ("inactive_payer", "payer", "2010A", "AAA*N**79*N"),
        ("payer_unavailable", "payer", "2010A", "AAA*Y**42*R"),
        ("unknown_provider", "provider", "2010B", "AAA*N**51*C"),
        ("provider_not_allowed", "provider", "2010B", "AAA*N**50*N"),
        ("missing_member_data", "subscriber", "2010C", "AAA*N**15*C"),
        ("unknown_member", "subscriber", "2010C", "AAA*N**75*C"),
        ("birth_date_mismatch", "subscriber", "2010C", "AAA*N**71*C"),
        ("name_mismatch", "subscriber", "2010C", "AAA*N**73*C"),
        ("member_id_mismatch", "subscriber", "2010C", "AAA*N**72*C"),
        ("not_eligible", "subscriber", "2010C", "AAA*N**95*N"),
        ("missing_request_data", "request", "2000E", "AAA*N**15*C"),
        ("service_date_too_early", "request", "2000E", "AAA*N**62*C"),
        ("service_date_too_late", "request", "2000E", "AAA*N**57*C"),
        ("invalid_service", "request", "2000E", "AAA*N**33*C"),
        ("duplicate_request", "request", "2000E", "AAA*N**33*N"),
        ("unknown_authorization", "request", "2000E", "AAA*N**T5*C"),
        ("authorization_closed", "request", "2000E", "AAA*N**33*N"),
    ],
)
def test_rejection_stands_in_the_loop_of_its_subject(
    reason: RejectionReason, subject: RejectionSubject, loop: str, segment: str
) -> None:
    rejection = Rejection(reason=reason, subject=subject, text="why")
    answer = AuthorizationAnswer(member=ANA, rejection=rejection)
    reply = parse_reply(write_authorization(ask(*EVENT, *SERVICE), answer, HEADER))
    places = [(each.id, found.render()) for each in reply.walk() for found in each.segments_with_id("AAA")]
    assert places == [(loop, segment)]
    person = (reply.first("2010C") or Loop("")).segment("NM1")
    assert person is not None
    assert person.render() == SUBSCRIBER
    assert "TRN*2*PA1E*9CEDAR0001" in [found.render() for found in reply.all_segments()]


@pytest.mark.parametrize(
    ("reason", "segment"),
    [
        ("unknown_dependent", "AAA*N**77*C"),
        ("name_mismatch", "AAA*N**65*C"),
        ("birth_date_mismatch", "AAA*N**71*C"),
        ("not_eligible", "AAA*N**95*N"),
    ],
)
def test_rejected_dependent_is_repeated_as_asked(reason: RejectionReason, segment: str) -> None:
    levels = ("HL*4*3*23*1", "NM1*QC*1*RIVERA*BEN", "HL*5*4*EV*0", "TRN*1*E1*9CEDAR0001", "UM*HS*I*62*11:B")
    rejection = Rejection(reason=reason, subject="dependent", text="why")
    reply = write_authorization(ask(*levels), AuthorizationAnswer(member=BEN, rejection=rejection), HEADER)
    assert list_segments(reply)[8:11] == ["HL*4*3*23*1", "NM1*QC*1*RIVERA*BEN", segment]


def test_inquiry_asks_for_authorizations_of_a_patient() -> None:
    asked = read_authorization(inquire("REF*NT*NWP3001"))
    assert (asked.kind, asked.reference, asked.rejection) == ("inquiry", "NWP3001", None)
    assert asked.query.subscriber.member_id == "NW55501"


def inquire(*event: str) -> Loop:
    """Return the tree of an inquiry."""
    start = ("BHT*0007*28*IQ1*20261115*0900", *START[1:])
    return parse_request("278", "005010X215", *start, "HL*4*3*EV*0", "TRN*1*IQ1E*9CEDAR0001", "UM*HS*I", *event)


def test_inquiry_is_answered_with_every_authorization() -> None:
    answer = AuthorizationAnswer(
        member=ANA, authorizations=(*decide("approved").authorizations, *decide("pending").authorizations)
    )
    reply = parse_reply(write_authorization(inquire(), answer, HEADER))
    start = reply.segment("ST")
    assert start is not None
    assert start.raw(3) == "005010X215"
    decisions = [segment.render() for loop in reply.find_all("2000E") for segment in loop.segments_with_id("HCR")]
    assert decisions == ["HCR*A1*NWA7001", "HCR*A4"]


def test_inquiry_that_finds_nothing_is_rejected() -> None:
    reply = parse_reply(write_authorization(inquire(), AuthorizationAnswer(member=ANA), HEADER))
    assert [segment.render() for segment in reply.all_segments() if segment.id == "AAA"] == ["AAA*N**T5*C"]
