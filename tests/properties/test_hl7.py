"""HL7 messages round trip, nothing raises on any input, and splitting of bytes does not matter."""

from datetime import UTC, datetime
from itertools import cycle

import hl7
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from clerkship.formats.hl7.ack import ack_mode, build_ack, parse_ack
from clerkship.formats.hl7.batch import split_messages
from clerkship.formats.hl7.escape import DEFAULT_DELIMITERS, Delimiters, escape, unescape
from clerkship.formats.hl7.framing import Deframer, Frame, frame_message
from clerkship.formats.hl7.message import (
    BadMessage,
    BadMessagePath,
    Hl7Message,
    MessagePath,
    Segment,
    decode_message,
    parse_message,
    parse_path,
    parse_segment,
)
from clerkship.formats.hl7.tables import VERSIONS
from clerkship.formats.hl7.validation import MAX_FLAWS, validate_message

AT = datetime(2026, 3, 2, tzinfo=UTC)
SIGNS = "|^~\\&#*!?%$@+=:;<>"
delimiters = st.lists(st.sampled_from(SIGNS), min_size=5, max_size=6, unique=True).map(
    lambda signs: Delimiters(*signs)
) | st.just(DEFAULT_DELIMITERS)
words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\x85"), max_size=12)
names = st.sampled_from(["PID", "PV1", "OBR", "OBX", "NTE", "ORC", "EVN", "ZAB", "TXA", "SCH", "QQQ"])
kinds = st.sampled_from(
    ["ADT^A01", "ORU^R01^ORU_R01", "ORM^O01", "SIU^S12", "MDM^T02^MDM_T02", "ACK^A01^ACK", "ABC", ""]
)


texts = st.lists(words, min_size=1, max_size=12)
shapes = st.lists(
    st.tuples(names, st.lists(st.sampled_from(["", "-", "-^-", "-~-", "-^-&-~-^", '""', "^^"]), max_size=6)), max_size=6
)
"""Segments with fields in which a word stands for each `-`."""


@st.composite
def messages(draw: st.DrawFn, signs: st.SearchStrategy[Delimiters] = delimiters) -> Hl7Message:
    """A well-formed message with arbitrary content."""
    own, results = draw(signs), cycle(draw(texts))
    kind = draw(kinds).replace("^", own.component)
    header = ["MSH", own.field, own.encoding, "A", "B", "C", "D", "20260302", "", kind, "1", "P"]
    header.append(draw(st.sampled_from([*VERSIONS, "2.8.2", "2.2", ""])))
    usual = {"^": own.component, "~": own.repetition, "&": own.subcomponent}
    body = [
        [
            name,
            *(
                "".join(escape(next(results), own) if sign == "-" else usual.get(sign, sign) for sign in shape)
                for shape in fields
            ),
        ]
        for name, fields in draw(shapes)
    ]
    return Hl7Message([Segment(header, own), *(Segment(fields, own) for fields in body)])


@given(messages())
@example(parse_message("MSH|^~\\&|A\rPID|1|blank \r"))
def test_message_round_trips(message: Hl7Message) -> None:
    again = parse_message(message.render.encode())
    assert again.render == message.render
    assert again.delimiters == message.delimiters
    assert [segment.fields for segment in again.segments] == [segment.fields for segment in message.segments]
    assert split_messages(message.render).messages == [message.render]


@given(messages())
def test_any_message_is_validated_and_acknowledged(message: Hl7Message) -> None:
    flaws = validate_message(message)
    assert len(flaws) <= MAX_FLAWS
    assert all(flaw.text and flaw.code and flaw.sequence > 0 for flaw in flaws)
    answer = build_ack(message, "AE", flaws, control_id="1", at=AT, text="so it is")
    assert parse_ack(parse_message(answer.render)).control_id == message.control_id
    if message.trigger and message.version in VERSIONS:
        assert [flaw for flaw in validate_message(answer) if flaw.segment != "MSH"] == []
    assert ack_mode(message) == "original"


@given(st.binary(max_size=300) | st.text(max_size=300))
@example(b"MSH|^~\\&")
@example("MSH|^~\\&|||||||ADT^A01||\rOBX|||||")
def test_garbage_is_parsed_or_refused(data: bytes | str) -> None:
    try:
        message = parse_message(data)
    except BadMessage:
        return
    validate_message(message)
    message.value("PID.3[2].1")
    build_ack(message, "AR", validate_message(message), control_id="1", at=AT)


@given(st.text('MSH|^~\\&ABTFPIDOX.123\r\n \x0b\x1c"', max_size=200), st.booleans())
def test_malformed_messages_are_validated(text: str, headed: bool) -> None:
    whole = f"MSH|^~\\&|A|B|C|D|20260302||ORU^R01|1|P|2.5.1\rPID|1\r{text}" if headed else text
    batch = split_messages(whole)
    for results in batch.messages:
        try:
            validate_message(parse_message(results))
        except BadMessage:
            continue
    assert split_messages(whole.encode()).messages == batch.messages


@given(words | st.text(max_size=20), delimiters)
def test_escaped_text_round_trips(text: str, signs: Delimiters) -> None:
    written = escape(text, signs)
    for sign in (signs.field, signs.component, signs.repetition, signs.subcomponent, "\r", "\n"):
        assert sign not in written
    assert unescape(written, signs) == text.replace("\r\n", "\n")


@given(st.text(max_size=40), delimiters)
def test_any_text_can_be_unescaped(text: str, signs: Delimiters) -> None:
    unescape(text, signs)


@given(words)
def test_the_library_hl7_reads_what_we_escape(text: str) -> None:
    message = hl7.parse(f"MSH|^~\\&|A|B|C|D|20260302||ADT^A01|1|P|2.5\rPID|{escape(text)}|\r")
    if "\\" not in text:  # it cannot tell a backslash that was escaped from one that was not
        assert message.unescape(str(message.segment("PID")(1))) == text
    assert str(message.segment("PID")(1)) == parse_segment(f"PID|{escape(text)}").raw(1)


@given(messages(st.just(DEFAULT_DELIMITERS)))
def test_the_library_hl7_finds_the_same_values(message: Hl7Message) -> None:
    assume(message.render == message.render.strip() + "\r")  # the library strips spaces at both ends of a message
    other = hl7.parse(message.render)
    for segment, theirs in zip(message.segments, other, strict=True):
        assert segment.render() == str(theirs)
        for number in range(3 if segment.name == "MSH" else 1, len(segment.fields)):
            assert segment.raw(number) == str(theirs(number))


paths = st.builds(
    MessagePath,
    names,
    st.integers(0, 3),
    st.none() | st.integers(1, 12),
    st.integers(0, 3),
    st.none() | st.integers(1, 5),
    st.none() | st.integers(1, 5),
)


@given(messages(), paths)
def test_any_path_has_a_value_or_none(message: Hl7Message, path: MessagePath) -> None:
    results = list(message.values(path))
    assert message.value(path) == (results[0] if results else None)


@given(st.text("PIDOBX123[]*.-0 ", max_size=15))
def test_any_text_is_parsed_as_path_or_refused(text: str) -> None:
    try:
        path = parse_path(text)
    except BadMessagePath:
        return
    assert path.occurrence >= 0


@given(st.lists(st.binary(max_size=40), max_size=6), st.data())
def test_frames_do_not_depend_on_how_bytes_are_split(parts: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(
        data.draw(st.sampled_from([part, frame_message(part), b"\x0b" + part + b"\x1c"])) for part in parts
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    whole, cut = Deframer(30), Deframer(30)
    expected = whole.feed(stream)
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert [found for piece in pieces for found in cut.feed(piece)] == expected
    assert (cut.ignored_bytes, cut.is_open) == (whole.ignored_bytes, whole.is_open)


@given(st.lists(st.binary(max_size=60).filter(lambda data: not set(data) & {0x0B, 0x1C}), max_size=8))
def test_frames_round_trip(parts: list[bytes]) -> None:
    assert Deframer(100).feed(b"".join(frame_message(part) for part in parts)) == [Frame(part) for part in parts]


@given(
    st.binary(max_size=80), st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"MSH|^~\\&|" + b"|" * 15])
)
def test_any_bytes_can_be_decoded(data: bytes, start: bytes) -> None:
    decode_message(start + data)


@pytest.mark.parametrize(
    "charset", ["ASCII", "8859/1", "8859/15", "UNICODE UTF-8", "UNICODE UTF-16", "GB 18030-2000", "??"]
)
@given(st.binary(max_size=60))
def test_wrong_charset_does_not_raise(charset: str, data: bytes) -> None:
    decode_message(b"MSH|^~\\&|A|B|C|D|1||ADT^A01|1|P|2.5||||||" + charset.encode() + b"\rPID|" + data)
