"""pyx12 accepts every TA1 and 999 that is written for broken messages."""

from datetime import datetime

from clerkship.formats.x12.acknowledgments import ACK_999_VERSION, build_999, build_ta1
from clerkship.formats.x12.interchange import FunctionalGroup, Interchange, NotX12, parse_interchanges
from clerkship.formats.x12.problems import EnvelopeProblem
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.validation import validate_set
from clerkship.formats.x12.writer import OutgoingEnvelope, OutgoingGroup, render_interchange
from tests.clients.x12_judges.every_change import changed_messages
from tests.clients.x12_judges.judges import node_x12_errors, pyx12_errors
from tests.clients.x12_judges.messages import BODIES, CLINIC, PAYER, interchange, valid_message
from tests.clients.x12_judges.mutations import broken_messages

ENVELOPE = OutgoingEnvelope(PAYER, CLINIC, 901, datetime(2026, 11, 15, 9, 1))


def received_groups() -> list[FunctionalGroup]:
    """Return the groups of all valid and broken messages but acknowledgments, which are not acknowledged."""
    requests = [name for name in BODIES if not name.startswith("999")]
    texts = [interchange(valid_message(name)) for name in requests]
    texts += broken_messages().values()
    texts += [text for name in requests for text in changed_messages(name).values()]
    groups = [group for text in texts for each in parse_readable(text) for group in each.groups]
    return [group for group in groups if not group.is_acknowledgment]


def parse_readable(text: str) -> list[Interchange]:
    """Return the interchanges of a text; none if it has no ISA that can be read, for which there is no answer."""
    try:
        return parse_interchanges(text)
    except NotX12:
        return []


def acknowledge(group: FunctionalGroup, number: int) -> TransactionSet:
    """Return the 999 for a group."""
    return build_999(group, [validate_set(each).errors for each in group.sets], f"{number:04d}")


def test_judges_accept_every_999() -> None:
    acknowledgments = [acknowledge(group, number) for number, group in enumerate(received_groups(), 1)]
    statuses = {each.segments[-2].raw(1) for each in acknowledgments}
    assert len(acknowledgments) > 1000
    assert statuses == {"A", "R"}
    # All in one interchange, because pyx12 reads its map anew for each.
    text = render_interchange(ENVELOPE, [OutgoingGroup(901, ACK_999_VERSION, acknowledgments)])
    assert pyx12_errors([text]) == [[]]
    assert node_x12_errors([text]) == [[]]


def test_999_for_several_sets_of_which_one_is_broken_is_accepted() -> None:
    isa, gs, *body, ge, iea = valid_message("270")
    broken = [segment.replace("*0001", "*0002").replace("EQ*30", "EQ*Q9Q") for segment in body]
    text = interchange([isa, gs, *body, *broken, ge.replace("GE*1", "GE*2"), iea])
    (received,) = parse_interchanges(text)
    acknowledgment = acknowledge(received.groups[0], 1)
    assert acknowledgment.segments[-2].elements == ["AK9", "P", "2", "2", "1"]
    answer = render_interchange(ENVELOPE, [OutgoingGroup(901, ACK_999_VERSION, [acknowledgment])])
    assert pyx12_errors([answer]) == [[]]


def test_pyx12_accepts_every_ta1() -> None:
    received = [each for text in broken_messages().values() for each in parse_readable(text)]
    problems = {problem.code: problem for each in received for problem in each.problems}
    # What a receiver finds that keeps a record: unknown parties, a control number used before.
    problems |= {code: EnvelopeProblem(code, "") for code in ("006", "008", "020", "025")}
    (valid,) = parse_interchanges(interchange(valid_message("270")))
    segments = [build_ta1(valid), *(build_ta1(valid, problem) for problem in problems.values())]
    texts = [render_interchange(ENVELOPE, acknowledgments=[segment]) for segment in segments]
    assert len(texts) > 6
    assert [errors for errors in pyx12_errors(texts) if errors] == []
