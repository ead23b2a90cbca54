"""Fuzz targets for X12: any bytes are parsed or refused, and what is parsed can be acknowledged."""

from contextlib import suppress
from datetime import datetime

from clerkship.formats.x12.acknowledgments import ACK_999_VERSION, build_999, build_ta1
from clerkship.formats.x12.charset import outside_pattern
from clerkship.formats.x12.interchange import FunctionalGroup, Interchange, NotX12, parse_interchanges
from clerkship.formats.x12.transaction_set import TransactionSet
from clerkship.formats.x12.validation import validate_set
from clerkship.formats.x12.writer import OutgoingEnvelope, OutgoingGroup, SetWriter, render_interchange
from tests.formats.x12.messages import (
    CLAIM_STATUS,
    ELIGIBILITY,
    acknowledgment,
    authorization_request,
    claim_status_request,
    claim_status_set,
    eligibility_request,
    eligibility_set,
    functional_group,
    interchange,
    with_delimiters,
)
from tests.formats.x12.parsing import BARS

ENVELOPE = OutgoingEnvelope("SUMMIT", "HARBOR", 1, datetime(2026, 11, 15, 9, 1))
WORDS_OF_X12 = (
    b"*", b"^", b":", b"~", b"|", b">", b"\n", b"\r\n", b"\0", b"~~", b"**", b" ", b"ISA*", b"IEA*1*000000101~",
    b"GS*HS*A*B*20261115*0900*1*X*005010X279A1~", b"GE*1*1~", b"ST*270*0001*005010X279A1~", b"SE*2*0001~", b"SE~",
    b"ST~", b"GS~", b"GE~", b"IEA~", b"TA1*000000101*261115*0900*A*000~", b"HL*1**20*1~", b"NM1*IL*1*A~", b"*00501*",
    b"*00401*", b"000000101", b"0001", b"9" * 30, b"-1", b"\xe9", b"\xc3\xa9", b"\xff\xfe", b"\xef\xbb\xbf", b"A" * 300,
    b"ISA",
    eligibility_request()[:106].encode(),
)  # fmt: skip
_TEXTS = [
    eligibility_request(),
    claim_status_request().replace("~", "~\r\n"),
    with_delimiters(authorization_request(), BARS),
    acknowledgment(),
    interchange("TA1*000000101*261115*0900*A*000~"),
    interchange(
        functional_group("HS", ELIGIBILITY, [eligibility_set("0001"), eligibility_set("0002")], "1"),
        functional_group("HR", CLAIM_STATUS, [claim_status_set()], "2"),
    ),
]
INTERCHANGES = [*(text.encode() for text in _TEXTS), "\n".join(_TEXTS[:3]).encode()]


def check_interchanges(data: bytes) -> None:
    """Parse interchanges, acknowledge and copy them."""
    try:
        parsed = parse_interchanges(data)
    except NotX12:
        return
    assert parsed
    for each in parsed:
        _acknowledge(each)
        for group in each.groups:
            _acknowledge_group(group)
            _copy_group(group)
    if not any(each.problems for each in parsed):
        _parse_again(parsed)


def _acknowledge(parsed: Interchange) -> None:
    for problem in [None, *parsed.problems]:
        _assert_is_valid(render_interchange(ENVELOPE, (), [build_ta1(parsed, problem)]))


def _acknowledge_group(group: FunctionalGroup) -> None:
    errors = [validate_set(transaction, "basic").errors for transaction in group.sets]
    written = build_999(group, errors)
    status, _, received, accepted = written.segments[-2].elements[1:5]
    assert (status in "AP") == (int(accepted) > 0)
    assert int(received) == len(group.sets)
    _assert_is_valid(render_interchange(ENVELOPE, [OutgoingGroup(1, ACK_999_VERSION, [written])]))


def _copy_group(group: FunctionalGroup) -> None:
    """Write the sets of a group anew. The copy is as valid as the characters of the envelope allow."""
    copies = [_copy_set(transaction, f"{number:04}") for number, transaction in enumerate(group.sets, 1)]
    (parsed,) = parse_interchanges(render_interchange(ENVELOPE, [OutgoingGroup(1, "V", copies, "ZZ")]))
    assert parsed.problems == []
    assert [each.render() for each in parsed.sets] == [copy.render() for copy in copies]
    assert not any(map(_has_bad_characters, copies))


def _copy_set(transaction: TransactionSet, number: str) -> TransactionSet:
    writer = SetWriter("271", number)
    for segment in transaction.segments[1:]:
        with suppress(ValueError):
            writer.copy(segment)
    return writer.build()


def _parse_again(parsed: list[Interchange]) -> None:
    text = "".join(each.render() for each in parsed)
    again = parse_interchanges(text)
    assert "".join(each.render() for each in again) == text
    assert [[set.problems for set in each.sets] for each in again] == [
        [set.problems for set in each.sets] for each in parsed
    ]


def _assert_is_valid(text: str) -> None:
    (parsed,) = parse_interchanges(text)
    assert parsed.problems == []
    assert all(not group.problems for group in parsed.groups)
    assert all(not transaction.problems and not _has_bad_characters(transaction) for transaction in parsed.sets)


def _has_bad_characters(transaction: TransactionSet) -> bool:
    return outside_pattern(transaction.delimiters, "extended").search(transaction.render()) is not None
