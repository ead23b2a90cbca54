"""270 and 271."""

from datetime import date
from typing import get_args

import pytest

from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.segment import X12Delimiters
from clerkship.payer.answer import (
    Benefit,
    EligibilityAnswer,
    OtherCoverage,
    Rejection,
    RejectionReason,
    RejectionSubject,
)
from clerkship.payer.inquiry import PersonQuery
from clerkship.simulators.x12.transactions.eligibility import read_eligibility, write_eligibility
from tests.simulators.x12.transactions.messages import (
    ANA,
    BEN,
    COVERAGE,
    HEADER,
    PAYER,
    PROVIDER,
    SUBSCRIBER,
    list_segments,
    parse_reply,
    parse_request,
)

VERSION = "005010X279A1"
START = ("BHT*0022*13*ELG1*20261115*0900", "HL*1**20*1", PAYER, "HL*2*1*21*1", PROVIDER)
SUBSCRIBER_LEVEL = ("HL*3*2*22*0", "TRN*1*ELG1T*9CEDAR0001", SUBSCRIBER, "DMG*D8*19800214*F")
DEPENDENT_LEVELS = (
    "HL*3*2*22*1",
    SUBSCRIBER,
    "HL*4*3*23*0",
    "TRN*1*DEP1*9CEDAR0001",
    "NM1*03*1*RIVERA*BEN",
    "DMG*D8*20150505*M",
    "EQ*98",
)
ACTIVE = EligibilityAnswer(
    member=ANA,
    coverage=COVERAGE,
    status="active",
    benefits=(Benefit(kind="active", service_types=("plan",)),),
)


def ask(*segments: str) -> Loop:
    """Return the tree of a 270 with these patients."""
    return parse_request("270", VERSION, *START, *segments)


def ask_about_plan() -> Loop:
    """Return the tree of a 270 about one subscriber and the plan."""
    return ask(*SUBSCRIBER_LEVEL, "DTP*291*D8*20261115", "EQ*30")


def answer_with(*benefits: Benefit) -> list[str]:
    """Return the EB segments, and what belongs to them, of a 271 with these benefits."""
    answer = ACTIVE.model_copy(update={"benefits": benefits})
    segments = list_segments(write_eligibility(ask_about_plan(), [answer], HEADER))
    return segments[segments.index("DTP*346*D8*20260101") + 1 : -1]


def test_inquiry_names_payer_provider_person_and_day() -> None:
    [asked] = read_eligibility(ask_about_plan())
    assert asked.inquiry.payer_id == "NW001"
    assert asked.inquiry.provider_id == "1234567893"
    assert asked.inquiry.subscriber == PersonQuery(
        member_id="NW55501", family="RIVERA", given="ANA", birth_date=date(1980, 2, 14), gender="female"
    )
    assert asked.inquiry.dependent is None
    assert asked.inquiry.service_date == date(2026, 11, 15)
    assert asked.inquiry.service_types == ("plan",)
    assert asked.trace == "ELG1T"


def test_service_types_of_all_questions_are_asked_once() -> None:
    [asked] = read_eligibility(ask(*SUBSCRIBER_LEVEL, "EQ*98^UC", "EQ*98"))
    assert asked.inquiry.service_types == ("office_visit", "urgent_care")


def test_unsupported_service_type_is_answered_for_the_plan() -> None:
    [asked] = read_eligibility(ask(*SUBSCRIBER_LEVEL, "EQ*69^98"))
    assert asked.inquiry.service_types == ("plan", "office_visit")


def test_procedure_of_a_question_is_read() -> None:
    [asked] = read_eligibility(ask(*SUBSCRIBER_LEVEL, "EQ**HC:72148"))
    assert asked.inquiry.procedure_codes == ("72148",)


def test_date_of_a_question_precedes_that_of_the_person() -> None:
    [asked] = read_eligibility(ask(*SUBSCRIBER_LEVEL, "DTP*291*D8*20261115", "EQ*30", "DTP*291*RD8*20261201-20261231"))
    assert asked.inquiry.service_date == date(2026, 12, 1)


def test_dependent_is_the_patient_of_its_subscriber() -> None:
    [asked] = read_eligibility(ask(*DEPENDENT_LEVELS))
    assert asked.inquiry.subscriber.member_id == "NW55501"
    assert asked.inquiry.dependent == PersonQuery(
        family="RIVERA", given="BEN", birth_date=date(2015, 5, 5), gender="male"
    )
    assert asked.trace == "DEP1"


def test_subscriber_with_a_question_of_its_own_is_a_patient_beside_its_dependent() -> None:
    levels = [*DEPENDENT_LEVELS]
    levels[1:2] = ["TRN*1*SUB1*9CEDAR0001", SUBSCRIBER, "EQ*30"]
    asked = read_eligibility(ask(*levels))
    assert [each.trace for each in asked] == ["SUB1", "DEP1"]
    assert asked[0].inquiry.dependent is None


def test_active_coverage_is_answered_from_the_record() -> None:
    assert list_segments(write_eligibility(ask_about_plan(), [ACTIVE], HEADER)) == [
        "ST*271*0007*005010X279A1",
        "BHT*0022*11*ELG1*20261115*0901",
        "HL*1**20*1",
        PAYER,
        "HL*2*1*21*1",
        PROVIDER,
        "HL*3*2*22*0",
        "TRN*2*ELG1T*9CEDAR0001",
        "NM1*IL*1*RIVERA*ANA*LUCIA***MI*NW55501",
        "REF*6P*G-100",
        "DMG*D8*19800214*F",
        "DTP*346*D8*20260101",
        "EB*1**30**NORTH PPO",
        "SE*14*0007",
    ]


def test_terminated_coverage_is_inactive_with_its_last_day() -> None:
    coverage = COVERAGE.model_copy(update={"end": date(2026, 6, 30)})
    answer = EligibilityAnswer(member=ANA, coverage=coverage, status="terminated")
    segments = list_segments(write_eligibility(ask_about_plan(), [answer], HEADER))
    assert segments[-4:-1] == ["DTP*346*D8*20260101", "DTP*347*D8*20260630", "EB*6**30**NORTH PPO"]


@pytest.mark.parametrize(
    ("benefit", "segment"),
    [
        (Benefit(kind="active", service_types=("medical", "urgent_care")), "EB*1**1^UC**NORTH PPO"),
        (
            Benefit(kind="copay", service_types=("office_visit",), period="visit", amount=25, in_network=True),
            "EB*B**98***27*25*****Y",
        ),
        (
            Benefit(
                kind="coinsurance",
                service_types=("hospital",),
                share=0.2,
                authorization_required=True,
                in_network=True,
            ),
            "EB*A**47*****.2***Y*Y",
        ),
        (
            Benefit(
                kind="deductible",
                service_types=("plan",),
                level="family",
                period="calendar_year",
                amount=3000.5,
                in_network=False,
            ),
            "EB*C*FAM*30***23*3000.5*****N",
        ),
        (
            Benefit(kind="deductible", service_types=("plan",), level="individual", period="remaining", amount=0),
            "EB*C*IND*30***29*0*****W",
        ),
        (
            Benefit(
                kind="limit",
                service_types=("chiropractic",),
                period="calendar_year",
                quantity=20,
                unit="visits",
                in_network=True,
            ),
            "EB*F**33***23***VS*20**Y",
        ),
        (Benefit(kind="not_covered", service_types=("dental",)), "EB*I**35*********W"),
        (
            Benefit(kind="active", service_types=(), procedure_code="72148", authorization_required=True),
            "EB*1****NORTH PPO******Y**HC:72148",
        ),
    ],
)
def test_benefit_is_written_as_eb(benefit: Benefit, segment: str) -> None:
    segments = answer_with(Benefit(kind="active", service_types=("plan",)), benefit)
    assert segments == ["EB*1**30**NORTH PPO", segment]


def test_text_of_a_benefit_follows_it() -> None:
    benefit = Benefit(kind="active", service_types=("plan",), text="Call us:\nany ~ day")
    assert answer_with(benefit) == ["EB*1**30**NORTH PPO", "MSG*Call us any day"]


def test_name_of_the_plan_is_not_repeated_as_a_text() -> None:
    assert answer_with(Benefit(kind="active", service_types=("plan",), text="North PPO")) == ["EB*1**30**NORTH PPO"]


def test_provider_outside_the_network_is_told_so_with_the_status() -> None:
    answer = ACTIVE.model_copy(update={"in_network": False})
    segments = list_segments(write_eligibility(ask_about_plan(), [answer], HEADER))
    assert segments[-3:-1] == ["EB*1**30**NORTH PPO", "MSG*The provider is not in the network of the plan."]


def test_other_payer_is_named_in_its_loop() -> None:
    other = OtherCoverage(payer_id="SW002", payer_name="Southpay", member_id="SW1", order=2)
    answer = ACTIVE.model_copy(update={"other_coverages": (other,)})
    tree = parse_reply(write_eligibility(ask_about_plan(), [answer], HEADER))
    party = tree.first("2120C")
    assert party is not None
    assert [segment.render() for segment in party.segments] == ["NM1*PR*2*SOUTHPAY*****PI*SW002"]
    assert "EB*R**30" in [segment.render() for segment in tree.all_segments()]


def test_dependent_is_answered_in_its_own_level() -> None:
    answer = ACTIVE.model_copy(update={"member": BEN})
    segments = list_segments(write_eligibility(ask(*DEPENDENT_LEVELS), [answer], HEADER))
    assert segments[6:-1] == [
        "HL*3*2*22*1",
        SUBSCRIBER,
        "HL*4*3*23*0",
        "TRN*2*DEP1*9CEDAR0001",
        "NM1*03*1*RIVERA*BEN",
        "REF*6P*G-100",
        "DMG*D8*20150505*M",
        "INS*N*19",
        "DTP*346*D8*20260101",
        "EB*1**30**NORTH PPO",
    ]


def test_trace_of_a_subscriber_comes_back_with_the_answer_about_its_dependent() -> None:
    levels = [DEPENDENT_LEVELS[0], "TRN*1*SUB1*9CEDAR0001", *DEPENDENT_LEVELS[1:]]
    answer = ACTIVE.model_copy(update={"member": BEN})
    reply = parse_reply(write_eligibility(ask(*levels), [answer], HEADER))
    assert [each.raw(2) for each in reply.all_segments() if each.id == "TRN"] == ["SUB1", "DEP1"]


def test_every_patient_gets_an_answer_in_the_order_of_the_request() -> None:
    tree = ask(
        *SUBSCRIBER_LEVEL,
        "EQ*30",
        "HL*4*2*22*0",
        "TRN*1*SECOND*9CEDAR0001",
        "NM1*IL*1*DOE*JO****MI*NW9",
        "EQ*30",
    )
    rejection = Rejection(reason="unknown_member", subject="subscriber", text="no such member")
    reply = parse_reply(write_eligibility(tree, [ACTIVE, EligibilityAnswer(rejection=rejection)], HEADER))
    first, second = reply.find_all("2000C")
    assert [segment.render() for segment in first.all_segments() if segment.id in ("TRN", "EB", "AAA")] == [
        "TRN*2*ELG1T*9CEDAR0001",
        "EB*1**30**NORTH PPO",
    ]
    assert [segment.render() for segment in second.all_segments()] == [
        "HL*4*2*22*0",
        "TRN*2*SECOND*9CEDAR0001",
        "NM1*IL*1*DOE*JO****MI*NW9",
        "AAA*N**75*C",
    ]


def test_number_of_answers_must_be_that_of_patients() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        write_eligibility(ask_about_plan(), [], HEADER)


@pytest.mark.parametrize(
    ("reason", "subject", "loop", "segment"),
    [
        ("unknown_payer", "payer", "2100A", "AAA*N**T4*C"),
        ("inactive_payer", "payer", "2100A", "AAA*N**79*N"),
        ("payer_unavailable", "payer", "2100A", "AAA*Y**42*R"),
        ("unknown_provider", "provider", "2100B", "AAA*N**51*C"),
        ("provider_not_allowed", "provider", "2100B", "AAA*N**50*N"),
        ("unknown_member", "subscriber", "2100C", "AAA*N**75*C"),
        ("birth_date_mismatch", "subscriber", "2100C", "AAA*N**71*C"),
        ("name_mismatch", "subscriber", "2100C", "AAA*N**73*C"),
        ("member_id_mismatch", "subscriber", "2100C", "AAA*N**72*C"),
        ("missing_member_data", "subscriber", "2100C", "AAA*N**15*C"),
        ("service_date_too_early", "request", "2100C", "AAA*N**62*C"),
        ("service_date_too_late", "request", "2100C", "AAA*N**63*C"),
        ("invalid_service", "request", "2110C", "AAA*N**33*C"),
    ],
)
def test_rejection_stands_in_the_loop_of_its_subject(
    reason: RejectionReason, subject: RejectionSubject, loop: str, segment: str
) -> None:
    answer = EligibilityAnswer(rejection=Rejection(reason=reason, subject=subject, text="why"))
    reply = parse_reply(write_eligibility(ask_about_plan(), [answer], HEADER))
    places = [(each.id, found.render()) for each in reply.walk() for found in each.segments_with_id("AAA")]
    assert places == [(loop, segment)]
    traces = [found.render() for found in reply.all_segments() if found.id == "TRN"]
    assert traces == ["TRN*2*ELG1T*9CEDAR0001"]


PARTY_REASONS = ("unknown_payer", "inactive_payer", "payer_unavailable", "unknown_provider", "provider_not_allowed")


@pytest.mark.parametrize("reason", [reason for reason in get_args(RejectionReason) if reason not in PARTY_REASONS])
def test_every_other_rejection_of_a_request_about_a_dependent_stands_in_its_level(reason: RejectionReason) -> None:
    answer = EligibilityAnswer(rejection=Rejection(reason=reason, subject="request", text="why"))
    reply = parse_reply(write_eligibility(ask(*DEPENDENT_LEVELS), [answer], HEADER))
    [level] = reply.find_all("2000D")
    assert [found.id for found in level.all_segments()].count("AAA") == 1
    assert [found.id for found in reply.all_segments()].count("AAA") == 1


def test_subscriber_of_a_dependent_is_rejected_in_its_own_level() -> None:
    rejection = Rejection(reason="unknown_member", subject="subscriber", text="no such member")
    reply = parse_reply(write_eligibility(ask(*DEPENDENT_LEVELS), [EligibilityAnswer(rejection=rejection)], HEADER))
    places = [(each.id, found.render()) for each in reply.walk() for found in each.segments_with_id("AAA")]
    assert places == [("2100C", "AAA*N**75*C")]


def test_dependent_that_is_not_found_is_rejected_below_its_subscriber() -> None:
    rejection = Rejection(reason="unknown_dependent", subject="dependent", text="no such dependent")
    segments = list_segments(
        write_eligibility(ask(*DEPENDENT_LEVELS), [EligibilityAnswer(rejection=rejection)], HEADER)
    )
    assert segments[8:-1] == [
        "HL*4*3*23*0",
        "TRN*2*DEP1*9CEDAR0001",
        "NM1*03*1*RIVERA*BEN",
        "AAA*N**77*C",
        "DMG*D8*20150505*M",
    ]


def test_rejected_subscriber_is_repeated_as_asked_even_if_the_answer_has_the_record() -> None:
    tree = ask("HL*3*2*22*0", "NM1*IL*1*RIVERO*ANA****MI*NW55501", "EQ*30")
    rejection = Rejection(reason="name_mismatch", subject="subscriber", text="other name")
    answer = ACTIVE.model_copy(update={"rejection": rejection})
    segments = list_segments(write_eligibility(tree, [answer], HEADER))
    assert segments[6:-1] == ["HL*3*2*22*0", "NM1*IL*1*RIVERO*ANA****MI*NW55501", "AAA*N**73*C"]


def test_request_with_other_separators_is_answered_with_those_of_the_reply() -> None:
    delimiters = X12Delimiters("|", "!", ">", "\n")
    tree = parse_request("270", VERSION, *START, *SUBSCRIBER_LEVEL, "EQ*98^UC", delimiters=delimiters)
    [asked] = read_eligibility(tree)
    assert asked.inquiry.service_types == ("office_visit", "urgent_care")
    segments = list_segments(write_eligibility(tree, [ACTIVE], HEADER))
    assert PROVIDER in segments
    reply = write_eligibility(tree, [ACTIVE], HEADER._replace(delimiters=delimiters))
    assert "TRN|2|ELG1T|9CEDAR0001" in list_segments(reply)
