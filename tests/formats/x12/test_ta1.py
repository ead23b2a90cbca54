"""TA1, and the interchange that carries it."""

from datetime import datetime

import pytest

from clerkship.formats.x12.acknowledgments import build_ta1
from clerkship.formats.x12.interchange import parse_interchanges
from clerkship.formats.x12.problems import EnvelopeProblem
from clerkship.formats.x12.segment import X12Delimiters
from clerkship.formats.x12.writer import OutgoingEnvelope, OutgoingGroup, render_interchange
from tests.formats.x12.messages import ELIGIBILITY, eligibility_request, with_delimiters
from tests.formats.x12.parsing import BARS, NO_PROBLEMS, list_codes, parse_one

REQUEST = parse_one(eligibility_request())
ENVELOPE = OutgoingEnvelope("SUMMIT", "HARBOR", 1, datetime(2026, 11, 15, 9, 1))


def test_accepted_interchange() -> None:
    assert build_ta1(REQUEST).render() == "TA1*000000101*261115*0900*A*000"


def test_rejected_interchange_names_the_problem() -> None:
    ta1 = build_ta1(REQUEST, EnvelopeProblem("025", "the control number was used before"))
    assert ta1.render() == "TA1*000000101*261115*0900*R*025"


def test_ta1_stands_before_the_groups() -> None:
    group = OutgoingGroup(7, ELIGIBILITY, REQUEST.sets)
    text = render_interchange(ENVELOPE, [group], [build_ta1(REQUEST)])
    assert text[106:].startswith("TA1*000000101*261115*0900*A*000~GS*HS*SUMMIT*HARBOR*20261115*0901*7*X*")
    parsed = parse_one(text)
    assert list_codes(parsed) == NO_PROBLEMS
    assert [segment.raw(5) for segment in parsed.acknowledgments] == ["000"]
    assert not parsed.is_acknowledgment
    assert parsed.render() == text


def test_interchange_of_ta1_alone_is_an_acknowledgment() -> None:
    parsed = parse_one(render_interchange(ENVELOPE, (), [build_ta1(REQUEST)]))
    assert list_codes(parsed) == NO_PROBLEMS
    assert parsed.is_acknowledgment
    assert not REQUEST.is_acknowledgment


def test_ta1_takes_the_separators_of_the_interchange_around_it() -> None:
    envelope = OutgoingEnvelope("A", "B", 1, ENVELOPE.created, delimiters=BARS)
    assert "\nTA1|000000101|261115|0900|A|000\n" in render_interchange(envelope, (), [build_ta1(REQUEST)])


def test_unreadable_values_of_isa_do_not_break_the_ta1() -> None:
    text = with_delimiters(eligibility_request(), X12Delimiters("|", "!", ">", "#"))
    parsed = parse_one(text.replace("|000000101|0|", "|0*0~0:0^1|0|"))
    (answer,) = parse_interchanges(render_interchange(ENVELOPE, (), [build_ta1(parsed, parsed.problems[0])]))
    assert answer.acknowledgments[0].elements == ["TA1", "000000001", "261115", "0900", "R", "018"]


@pytest.mark.parametrize(
    ("old", "new", "ta1"),
    [
        ("*000000101*0*T", "*00003003*0*T", "TA1*000003003*261115*0900*R*018"),
        ("*000000101*0*T", "* 00003003*0*T", "TA1*000003003*261115*0900*R*018"),
        ("*000000101*0*T", "*ABCDEFGHI*0*T", "TA1*000000000*261115*0900*R*018"),
        ("*261115*0900*^", "*20261115*0900*^", "TA1*000000101*261115*0900*R*014"),
        ("*261115*0900*^", "*261115*900*^", "TA1*000000101*261115*0900*R*015"),
    ],
)
def test_copied_elements_have_the_digits_that_ta1_needs(old: str, new: str, ta1: str) -> None:
    parsed = parse_one(eligibility_request().replace(old, new))
    assert build_ta1(parsed, parsed.problems[0]).render() == ta1
