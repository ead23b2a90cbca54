"""Requests of our own making, and replies that must be valid."""

from datetime import UTC, date, datetime

from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.segment import DEFAULT_X12_DELIMITERS, X12Delimiters
from clerkship.formats.x12.transaction_set import TransactionSet, parse_transaction_set
from clerkship.formats.x12.validation import validate_set
from clerkship.payer.answer import Coverage, Member
from clerkship.simulators.x12.transactions.reply import ReplyHeader

HEADER = ReplyHeader("0007", datetime(2026, 11, 15, 9, 1, tzinfo=UTC))
PAYER = "NM1*PR*2*NORTHPAY*****PI*NW001"
PROVIDER = "NM1*1P*2*CEDAR*****XX*1234567893"
REVIEWER = "NM1*X3*2*NORTHPAY*****PI*NW001"
SUBSCRIBER = "NM1*IL*1*RIVERA*ANA****MI*NW55501"
COVERAGE = Coverage(
    id="Coverage/1",
    payer_id="NW001",
    plan="north-ppo",
    plan_name="North PPO",
    group="G-100",
    start=date(2026, 1, 1),
)
ANA = Member(
    key="NW001/NW55501/0",
    payer_id="NW001",
    member_id="NW55501",
    family="Rivera",
    given=("Ana", "Lucía"),
    birth_date=date(1980, 2, 14),
    gender="female",
    coverages=(COVERAGE,),
)
BEN = Member(
    key="NW001/NW55501/1",
    payer_id="NW001",
    member_id="NW55501",
    family="Rivera",
    given=("Ben",),
    birth_date=date(2015, 5, 5),
    gender="male",
    relationship="child",
    coverages=(COVERAGE,),
)


def parse_request(code: str, version: str, *segments: str, delimiters: X12Delimiters = DEFAULT_X12_DELIMITERS) -> Loop:
    """Return the tree of a valid set, written with the default separators; they are replaced by those given."""
    body = [f"ST*{code}*0001*{version}", *segments, f"SE*{len(segments) + 2}*0001"]
    text = "~".join(body) + "~"
    replaced = text.translate({ord(old): new for old, new in zip(DEFAULT_X12_DELIMITERS, delimiters, strict=True)})
    validated = validate_set(parse_transaction_set(replaced, delimiters))
    assert list(validated.errors) == []
    return validated.tree


def list_segments(reply: TransactionSet) -> list[str]:
    """Return the segments of a reply, which must be valid."""
    validated = validate_set(reply)
    assert list(validated.errors) == []
    return reply.segment_texts


def parse_reply(reply: TransactionSet) -> Loop:
    """Return the tree of a reply, which must be valid."""
    validated = validate_set(reply)
    assert list(validated.errors) == []
    return validated.tree
