"""Whatever a payer answers, the reply is valid, and the sender finds its request in it."""

from datetime import UTC, date, datetime
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from clerkship.formats.x12.charset import X12Charset
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.segment import X12Delimiters
from clerkship.formats.x12.transaction_set import TransactionSet, parse_transaction_set
from clerkship.formats.x12.validation import validate_set
from clerkship.payer.answer import (
    Authorization,
    AuthorizationAnswer,
    AuthorizationStatus,
    Benefit,
    ClaimAnswer,
    ClaimLine,
    ClinicalQuestion,
    Coverage,
    DecidedService,
    EligibilityAnswer,
    Member,
    OtherCoverage,
    PayerClaim,
)
from clerkship.payer.inquiry import AuthorizationQuery, PersonQuery, ServiceType, Unit
from clerkship.simulators.x12.transactions.authorization import write_authorization
from clerkship.simulators.x12.transactions.claim_status import write_claim_status
from clerkship.simulators.x12.transactions.eligibility import write_eligibility
from clerkship.simulators.x12.transactions.reply import ReplyHeader

NOW = datetime(2026, 11, 15, 9, 1, tzinfo=UTC)
TEXTS = st.text(max_size=400) | st.text("AZaz09*:^~\n é", max_size=40)
IDS = st.from_regex(r"[A-Z0-9]{2,20}", fullmatch=True)
CODES = st.from_regex(r"[0-9A-Z][0-9]{4}", fullmatch=True)
DAYS = st.dates(date(1900, 1, 1), date(2199, 12, 31))
AMOUNTS = st.decimals(0, 999_999, places=2).map(float)
QUANTITIES = st.decimals(0, 9999, places=1).map(float)
UNITS = st.sampled_from(get_args(Unit))
HEADERS = st.builds(
    ReplyHeader,
    st.just("0001"),
    st.just(NOW),
    st.sampled_from([X12Delimiters(), X12Delimiters("|", "!", ">", "\n")]),
    st.sampled_from(get_args(X12Charset)),
)
MEMBERS = st.builds(
    Member,
    key=IDS,
    payer_id=IDS,
    member_id=IDS,
    family=TEXTS,
    given=st.lists(TEXTS, max_size=3).map(tuple),
    birth_date=DAYS,
    gender=st.sampled_from(["male", "female", "unknown"]),
    relationship=st.sampled_from(["self", "spouse", "child", "other"]),
)
BENEFITS = st.builds(
    Benefit,
    kind=st.sampled_from(get_args(Benefit.model_fields["kind"].annotation)),
    service_types=st.lists(st.sampled_from(get_args(ServiceType)), min_size=1, max_size=5, unique=True).map(tuple),
    procedure_code=st.none() | CODES,
    level=st.sampled_from([None, "individual", "family"]),
    period=st.sampled_from([None, "calendar_year", "visit", "remaining", "lifetime"]),
    amount=st.none() | AMOUNTS,
    share=st.none() | st.floats(0, 1),
    quantity=st.none() | QUANTITIES,
    unit=st.none() | UNITS,
    authorization_required=st.sampled_from([None, True, False]),
    in_network=st.sampled_from([None, True, False]),
    text=TEXTS,
)
ELIGIBILITY = st.builds(
    EligibilityAnswer,
    member=MEMBERS,
    coverage=st.builds(
        Coverage, id=IDS, payer_id=IDS, plan=IDS, plan_name=TEXTS, group=TEXTS, start=DAYS, end=st.none() | DAYS
    ),
    status=st.sampled_from(["active", "terminated", "future"]),
    benefits=st.lists(BENEFITS, max_size=4).map(tuple),
    other_coverages=st.lists(
        st.builds(OtherCoverage, payer_id=IDS, payer_name=TEXTS, member_id=TEXTS, order=st.integers(0, 4)), max_size=2
    ).map(tuple),
)
CLAIMS = st.builds(
    PayerClaim,
    number=IDS,
    payer_id=IDS,
    member_key=IDS,
    provider_id=IDS,
    account=TEXTS,
    status=st.sampled_from(["received", "pended", "denied", "paid"]),
    reason=st.sampled_from(["", "missing_authorization", "in_review", "medical_review", "another"]),
    charge=AMOUNTS,
    paid=AMOUNTS,
    start=DAYS,
    end=DAYS,
    received=DAYS,
    status_date=DAYS,
    paid_date=st.none() | DAYS,
    payment_number=st.none() | TEXTS,
    lines=st.lists(
        st.builds(
            ClaimLine,
            procedure_code=CODES,
            charge=AMOUNTS,
            paid=AMOUNTS,
            service_date=st.none() | DAYS,
            status=st.sampled_from([None, "received", "pended", "denied", "paid"]),
        ),
        max_size=3,
    ).map(tuple),
)
QUESTIONS = st.builds(
    ClinicalQuestion,
    id=st.from_regex(r"[a-z_]{1,30}", fullmatch=True),
    text=TEXTS,
    type=st.sampled_from(["text", "boolean", "number", "choice", "attachment"]),
    choices=st.lists(TEXTS, max_size=3).map(tuple),
)
DECIDED = st.builds(
    DecidedService,
    procedure_code=CODES,
    status=st.sampled_from(get_args(AuthorizationStatus)),
    quantity=QUANTITIES,
    unit=UNITS,
    start=st.none() | DAYS,
    end=st.none() | DAYS,
    reason=st.sampled_from(["", "not_required", "not_medically_necessary", "another"]),
    trace=st.sampled_from(["", "PA1S1", "PA1S2", "another"]),
)


@st.composite
def authorizations(draw: st.DrawFn) -> Authorization:
    """Return an authorization; like those of a payer, one that is certified in a part has a number."""
    status = draw(st.sampled_from(get_args(AuthorizationStatus)))
    services = draw(st.lists(DECIDED, max_size=3))
    certified = {"approved", "modified"} & {status, *(service.status for service in services)}
    return Authorization(
        id=draw(IDS),
        number=draw(IDS) if certified else None,
        payer_id="NW001",
        member_key="NW001/NW55501/0",
        query=AuthorizationQuery(payer_id="NW001", provider_id="1234567893", subscriber=PersonQuery()),
        status=status,
        services=tuple(services),
        reason=draw(st.sampled_from(["", "not_medically_necessary", "another"])),
        text=draw(TEXTS),
        questions=tuple(draw(st.lists(QUESTIONS, max_size=15))),
        requested=NOW,
        decided=draw(st.none() | st.just(NOW)),
        valid_from=draw(st.none() | DAYS),
        valid_to=draw(st.none() | DAYS),
    )


def parse_tree(text: str) -> Loop:
    """Return the tree of a request, one segment to a line."""
    body = [line.strip() for line in text.strip().splitlines()]
    body.append(f"SE*{len(body) + 1}*0001")
    validated = validate_set(parse_transaction_set("~".join(body) + "~"))
    assert list(validated.errors) == []
    return validated.tree


def check_reply(reply: TransactionSet, *traces: str) -> None:
    """Check that a reply is valid and has the traces of its request."""
    validated = validate_set(reply)
    assert list(validated.errors) == []
    sent = [segment.raw(2) for segment in validated.tree.all_segments() if segment.id == "TRN"]
    assert {*traces} <= {*sent}


ELIGIBILITY_REQUEST = parse_tree("""
    ST*270*0001*005010X279A1
    BHT*0022*13*ELG1*20261115*0900
    HL*1**20*1
    NM1*PR*2*NORTHPAY*****PI*NW001
    HL*2*1*21*1
    NM1*1P*2*CEDAR*****XX*1234567893
    HL*3*2*22*0
    TRN*1*SUB1*9CEDAR0001
    NM1*IL*1*RIVERA*ANA****MI*NW55501
    EQ*30
    HL*4*2*22*1
    NM1*IL*1*RIVERA*ANA****MI*NW55501
    HL*5*4*23*0
    TRN*1*DEP1*9CEDAR0001
    NM1*03*1*RIVERA*BEN
    EQ*98
""")
CLAIM_REQUEST = parse_tree("""
    ST*276*0001*005010X212
    BHT*0010*13*CS1*20261115*0900
    HL*1**20*1
    NM1*PR*2*NORTHPAY*****PI*NW001
    HL*2*1*21*1
    NM1*41*2*CEDAR*****46*CLINIC01
    HL*3*2*19*1
    NM1*1P*2*CEDAR*****XX*1234567893
    HL*4*3*22*0
    DMG*D8*19800214*F
    NM1*IL*1*RIVERA*ANA****MI*NW55501
    TRN*1*CS1T
    REF*EJ*ACCT77
    DTP*472*D8*20261005
""")
REVIEW_REQUEST = parse_tree("""
    ST*278*0001*005010X217
    BHT*0007*13*PA1*20261115*0900
    HL*1**20*1
    NM1*X3*2*NORTHPAY*****PI*NW001
    HL*2*1*21*1
    NM1*1P*2*CEDAR*****XX*1234567893
    HL*3*2*22*1
    NM1*IL*1*RIVERA*ANA****MI*NW55501
    HL*4*3*EV*1
    TRN*1*PA1E*9CEDAR0001
    UM*HS*I*62*11:B
    HI*ABK:M5416
    HL*5*4*SS*0
    TRN*1*PA1S1*9CEDAR0001
    SV1*HC:72148**UN*1
    HL*6*4*SS*0
    TRN*1*PA1S2*9CEDAR0001
    SV3*AD:D2750*****1
""")


@given(st.tuples(ELIGIBILITY, ELIGIBILITY), HEADERS)
def test_every_eligibility_answer_is_a_valid_271(
    answers: tuple[EligibilityAnswer, EligibilityAnswer], header: ReplyHeader
) -> None:
    check_reply(write_eligibility(ELIGIBILITY_REQUEST, answers, header), "SUB1", "DEP1")


@given(MEMBERS, st.lists(CLAIMS, max_size=3), HEADERS)
def test_every_claim_answer_is_a_valid_277(member: Member, claims: list[PayerClaim], header: ReplyHeader) -> None:
    answer = ClaimAnswer(member=member, claims=tuple(claims))
    check_reply(write_claim_status(CLAIM_REQUEST, [answer], header), "CS1T")


@given(MEMBERS, authorizations(), HEADERS)
def test_every_authorization_is_a_valid_278(member: Member, authorization: Authorization, header: ReplyHeader) -> None:
    answer = AuthorizationAnswer(member=member, authorizations=(authorization,))
    check_reply(write_authorization(REVIEW_REQUEST, answer, header), "PA1E")
