"""Answers of a payer of every kind, written as 271, 277 and 278."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import product
from typing import get_args

from clerkship.formats.x12.interchange import parse_interchanges
from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.validation import validate_set
from clerkship.formats.x12.writer import OutgoingEnvelope, OutgoingGroup, render_interchange
from clerkship.payer.answer import (
    Adjustment,
    Authorization,
    AuthorizationAnswer,
    AuthorizationStatus,
    Benefit,
    ClaimAnswer,
    ClaimLine,
    ClinicalQuestion,
    DecidedService,
    EligibilityAnswer,
    Member,
    OtherCoverage,
    PayerClaim,
    Rejection,
    RejectionReason,
    RejectionSubject,
)
from clerkship.payer.config import PayerConfig
from clerkship.simulators.x12.transactions.authorization import read_authorization, write_authorization
from clerkship.simulators.x12.transactions.claim_status import write_claim_status
from clerkship.simulators.x12.transactions.eligibility import write_eligibility
from clerkship.simulators.x12.transactions.reply import ReplyHeader
from tests.clients.x12_judges.messages import CLINIC, PAYER, interchange, valid_message
from tests.payer.clinic import load_dataset
from tests.simulators.x12.transactions.messages import ANA, COVERAGE

SENT = datetime(2026, 11, 15, 9, 1, tzinfo=UTC)
HEADER = ReplyHeader("0001", SENT)
LEO = ANA.model_copy(update={"key": "NW001/NW55501/1", "given": ("Leo",), "gender": "male", "relationship": "child"})
REJECTED: dict[RejectionSubject, tuple[RejectionReason, ...]] = {
    "payer": ("unknown_payer", "inactive_payer", "payer_unavailable"),
    "provider": ("unknown_provider", "provider_not_allowed"),
    "subscriber": (
        "missing_member_data",
        "unknown_member",
        "birth_date_mismatch",
        "name_mismatch",
        "member_id_mismatch",
        "not_eligible",
    ),
    "dependent": ("missing_member_data", "unknown_dependent", "birth_date_mismatch", "name_mismatch"),
    "request": (
        "service_date_too_early",
        "service_date_too_late",
        "invalid_service",
        "duplicate_request",
        "unknown_authorization",
        "authorization_closed",
        "missing_request_data",
    ),
}


def request_tree(name: str) -> Loop:
    """Return the tree of a valid request."""
    (received,) = parse_interchanges(interchange(valid_message(name)))
    validated = validate_set(received.sets[0])
    assert not validated.errors
    assert validated.grammar is not None
    return validated.tree


def enclosed(reply: TransactionSet, version: str) -> str:
    """Return a reply in an interchange of its own."""
    envelope = OutgoingEnvelope(PAYER, CLINIC, 901, SENT)
    return render_interchange(envelope, [OutgoingGroup(901, version, [reply])])


def rejections(*, has_dependent: bool) -> Iterator[tuple[str, Rejection]]:
    """Yield every rejection, with its name."""
    for subject, reasons in REJECTED.items():
        if subject != "dependent" or has_dependent:
            for reason in reasons:
                yield f"{reason} of the {subject}", Rejection(reason=reason, subject=subject, text="No.")


def benefits() -> Iterator[Benefit]:
    """Yield benefits of every kind, with every element that a benefit can have."""
    for kind in get_args(Benefit.model_fields["kind"].annotation):
        if kind != "other_payer":
            yield Benefit(kind=kind, service_types=("plan",))
            yield Benefit(kind=kind, service_types=("medical", "hospital", "urgent_care"), text="Ask your doctor.")
    for level, period in product(("individual", "family"), ("calendar_year", "remaining", "lifetime")):
        yield Benefit.model_validate(
            {"kind": "deductible", "service_types": ["plan"], "level": level, "period": period, "amount": 1500.5}
        )
    for flag, network in product((True, False, None), (True, False, None)):
        yield Benefit(kind="copay", service_types=("office_visit",), period="visit", amount=25, in_network=network)
        yield Benefit(kind="coinsurance", service_types=("mri_ct",), share=0.2, authorization_required=flag)
    yield Benefit(kind="coinsurance", service_types=("mri_ct",), procedure_code="72148", share=0.05)


LIMITS = tuple(
    Benefit.model_validate(
        {
            "kind": "limit",
            "service_types": ["physical_therapy"],
            "period": "calendar_year",
            "quantity": 20,
            "unit": unit,
        }
    )
    for unit in ("visits", "days", "hours", "months", "units")
)


def eligibility_answers(member: Member) -> Iterator[tuple[str, EligibilityAnswer]]:
    """Yield answers to an inquiry about eligibility."""
    found = EligibilityAnswer(member=member, coverage=COVERAGE, status="active", in_network=True)
    ended = COVERAGE.model_copy(update={"end": date(2026, 3, 31)})
    future = COVERAGE.model_copy(update={"start": date(2027, 1, 1)})
    other = OtherCoverage(payer_id="SB009", payer_name="Second Benefit", member_id="SB1", order=2)
    yield "active", found
    yield "terminated", found.model_copy(update={"coverage": ended, "status": "terminated"})
    yield "future", found.model_copy(update={"coverage": future, "status": "future"})
    yield "another payer", found.model_copy(update={"other_coverages": (other,)})
    yield "every benefit", found.model_copy(update={"benefits": tuple(benefits())})
    for benefit in LIMITS:
        yield f"limit of {benefit.unit}", found.model_copy(update={"benefits": (benefit,)})
    for name, rejection in rejections(has_dependent=member is LEO):
        yield name, EligibilityAnswer(rejection=rejection)


def written_271() -> Iterator[tuple[str, str]]:
    """Yield 271 interchanges."""
    for request, member in (("270", ANA), ("270 for a dependent", LEO)):
        tree = request_tree(request)
        for name, answer in eligibility_answers(member):
            reply = write_eligibility(tree, [answer], HEADER)
            yield f"271 for a {member.relationship}: {name}", enclosed(reply, "005010X279A1")


def claims() -> Iterator[tuple[str, PayerClaim]]:
    """Yield claims in every state."""
    claim = PayerClaim(
        number="NWC451",
        payer_id="NW001",
        member_key=ANA.key,
        provider_id="1234567893",
        account="ACCT77",
        status="received",
        charge=250,
        start=date(2026, 10, 5),
        end=date(2026, 10, 5),
        received=date(2026, 10, 7),
        status_date=date(2026, 10, 7),
    )
    line = ClaimLine(procedure_code="99213", charge=250, paid=180.5, service_date=date(2026, 10, 5), status="paid")
    paid = claim.model_copy(
        update={
            "status": "paid",
            "paid": 180.5,
            "paid_date": date(2026, 11, 3),
            "payment_number": "EFT881",
            "adjustments": (Adjustment(group="contractual", reason="fee_schedule", amount=69.5),),
        }
    )
    yield "received", claim
    yield "paid", paid
    yield "paid, with lines", paid.model_copy(update={"lines": (line,)})
    lines = (
        line.model_copy(update={"charge": 150, "paid": 100.5}),
        line.model_copy(update={"procedure_code": "80061", "charge": 60, "paid": 48}),
        line.model_copy(update={"procedure_code": "83036", "charge": 40, "paid": 32}),
    )
    yield "paid, with several lines", paid.model_copy(update={"lines": lines})
    foreign = (lines[0], lines[1].model_copy(update={"procedure_code": "24331-1"}))
    yield "paid, with a code that is not of HCPCS", paid.model_copy(update={"lines": foreign})
    yield "paid nothing", claim.model_copy(update={"status": "paid"})
    yield "of two days", claim.model_copy(update={"end": date(2026, 10, 6)})
    for status in ("pended", "denied"):
        for reason in ("", "missing_authorization", "not_eligible", "duplicate", "missing_information", "other"):
            yield f"{status} {reason}".strip(), claim.model_copy(update={"status": status, "reason": reason})


def written_277() -> Iterator[tuple[str, str]]:
    """Yield 277 interchanges."""
    tree = request_tree("276")
    answers = [(name, ClaimAnswer(member=ANA, claims=(claim,))) for name, claim in claims()]
    answers.append(("several claims", ClaimAnswer(member=ANA, claims=tuple(claim for _, claim in claims()))))
    answers.append(("no claim", ClaimAnswer(member=ANA)))
    answers += [(name, ClaimAnswer(rejection=rejection)) for name, rejection in rejections(has_dependent=False)]
    for name, answer in answers:
        yield f"277: {name}", enclosed(write_claim_status(tree, [answer], HEADER), "005010X212")


def written_277_of_dataset() -> Iterator[str]:
    """Yield a 277 interchange for each claim of clinic-100."""
    book, tree = load_dataset().open_book(PayerConfig.model_validate({})), request_tree("276")
    for claim in book.claims.values():
        answer = ClaimAnswer(member=book.members[claim.member_key], claims=(claim,))
        yield enclosed(write_claim_status(tree, [answer], HEADER), "005010X212")


def authorizations(tree: Loop) -> Iterator[tuple[str, Authorization]]:
    """Yield decisions of every kind on a request."""
    query = read_authorization(tree).query
    for status in get_args(AuthorizationStatus):
        is_certified = status in ("approved", "modified")
        service = DecidedService(
            procedure_code="72148",
            status=status,
            quantity=1,
            start=date(2026, 12, 1),
            end=date(2026, 12, 31),
            trace="PA1S1",
        )
        decided = Authorization(
            id="NWP3001",
            number="NWA7001" if is_certified else None,
            payer_id="NW001",
            member_key=ANA.key,
            query=query,
            status=status,
            services=(service,),
            requested=SENT,
            decided=None if status == "pending" else SENT,
            valid_from=date(2026, 12, 1) if is_certified else None,
            valid_to=date(2027, 2, 15) if is_certified else None,
        )
        yield status, decided
        yield f"{status} with a text", decided.model_copy(update={"text": "Send six weeks of notes."})
        if status == "need_more_info":
            questions = tuple(
                ClinicalQuestion.model_validate({"id": f"q{number}", "text": "Which?", "type": kind})
                for number, kind in enumerate(("text", "boolean", "number", "attachment"))
            )
            yield "questions", decided.model_copy(update={"questions": questions})


def written_278() -> Iterator[tuple[str, str]]:
    """Yield 278 interchanges."""
    tree = request_tree("278 request")
    answers = [(name, AuthorizationAnswer(member=ANA, authorizations=(each,))) for name, each in authorizations(tree)]
    answers += [(name, AuthorizationAnswer(rejection=rejection)) for name, rejection in rejections(has_dependent=False)]
    for name, answer in answers:
        yield f"278: {name}", enclosed(write_authorization(tree, answer, HEADER), "005010X217")
