"""Tests of messages in ER7: parsing, rendering, paths, charsets."""

import pytest

from clerkship.formats.hl7.escape import DEFAULT_DELIMITERS, Delimiters, escape, unescape
from clerkship.formats.hl7.message import (
    BadMessage,
    BadMessagePath,
    MessagePath,
    build_field,
    build_segment,
    decode_message,
    encode_message,
    parse_message,
    parse_path,
    parse_segment,
)

ORU = (
    "MSH|^~\\&|LAB|NORTH|EHR|CLINIC|20260302090000||ORU^R01^ORU_R01|M1|P|2.5.1\r"
    "PID|1||77^^^NORTH^MR~88^^^SOUTH^MR||Lopez&de^Maria||19650315|F\r"
    "OBR|1|||24323-8^CMP^LN\r"
    "OBX|1|NM|2823-3^Potassium^LN||2.9|mmol/L\r"
    "OBX|2|TX|8251-1^Note^LN||high \\T\\ dry\\.br\\call back\r"
    "ZXX|anything|at all\r"
)


def test_message_round_trips() -> None:
    assert parse_message(ORU).render == ORU


def test_trailing_spaces_belong_to_last_field() -> None:
    text = "MSH|^~\\&|A\rPID|1|blank  \r"
    assert parse_message(text).render == text


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_any_line_end_is_parsed(end: str) -> None:
    assert parse_message(ORU.replace("\r", end)).render == ORU


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("MSH.1", "|"),
        ("MSH.2", "^~\\&"),
        ("MSH.9.2", "R01"),
        ("PID.5.1", "Lopez&de"),
        ("PID.5.1.1", "Lopez"),
        ("PID-5-1-2", "de"),
        ("PID.3.1", "77"),
        ("PID.3[2].1", "88"),
        ("PID.3[3].1", ""),
        ("PID.40", ""),
        ("OBX[2].5", "high & dry\ncall back"),
        ("OBX[3].5", None),
        ("ZXX.2", "at all"),
        ("ZXX", "ZXX|anything|at all"),
    ],
)
def test_values_are_found_by_path(path: str, expected: str | None) -> None:
    assert parse_message(ORU).value(path) == expected


def test_star_selects_every_value() -> None:
    assert list(parse_message(ORU).values("OBX[*].3.1")) == ["2823-3", "8251-1"]
    assert list(parse_message(ORU).values("PID.3[*].4")) == ["NORTH", "SOUTH"]


@pytest.mark.parametrize("text", ["", "PID.0", "pid.5", "PID.5.1.1.1", "PID.5[0]", "PID..5", "PIDX.1"])
def test_invalid_path_is_refused(text: str) -> None:
    with pytest.raises(BadMessagePath, match=r"PID\.5\.1"):
        parse_path(text)


def test_path_is_parsed_into_parts() -> None:
    assert parse_path("PID.3[2].4.1") == MessagePath("PID", 1, 3, 2, 4, 1)


@pytest.mark.parametrize("text", ["a|b^c~d\\e&f", "two\nlines", "tab\there", "plain", "\\", "\\F", "ends\\"])
def test_escape_round_trips(text: str) -> None:
    assert unescape(escape(text)) == text


def test_escape_sequences_are_decoded() -> None:
    assert unescape("\\H\\bold\\N\\ \\X48\\\\X49\\ \\X4a4B\\ \\.sp2\\end") == "bold HI JK \n\nend"
    assert unescape("\\C2842\\ \\Zab\\ \\") == "\\C2842\\ \\Zab\\ \\"
    assert escape("a#b", Delimiters(truncation="#")) == "a\\P\\b"


def test_custom_delimiters_are_used() -> None:
    message = parse_message(ORU.translate(str.maketrans("|^~\\&", "!@#$%")))
    assert message.value("PID.5.1.2") == "de"
    assert message.value("OBX[2].5") == "high % dry\ncall back"


@pytest.mark.parametrize(
    ("charset", "encoding"), [("8859/1", "iso-8859-1"), ("UNICODE UTF-8", "utf-8"), ("", "utf-8"), ("", "latin-1")]
)
def test_message_is_decoded_by_msh_18(charset: str, encoding: str) -> None:
    text = f"MSH|^~\\&|A|B|C|D|1||ADT^A01|1|P|2.5.1||||||{charset}\rPID|1||5||Müller"
    assert parse_message(text.encode(encoding)).value("PID.5.1") == "Müller"


def test_byte_order_mark_is_dropped() -> None:
    for encoding in ("utf-8-sig", "utf-16"):
        assert parse_message(ORU.encode(encoding)).render == ORU
    assert decode_message(b"\xef\xbb\xbfMSH|") == "MSH|"


@pytest.mark.parametrize("data", [b"", b"\r\n", b"PID|1", b"MSH", b"MSH|", b"MSH|^^^^|", b"MSHabcd", bytes(range(256))])
def test_non_message_is_refused(data: bytes) -> None:
    with pytest.raises(BadMessage):
        parse_message(data)


def test_segments_are_built_and_rendered() -> None:
    segment = build_segment("PID", {3: build_field("77", "", "", "NORTH", "MR"), 5: build_field("O^Neil", "Ann", "")})
    assert segment.render() == "PID|||77^^^NORTH^MR||O\\S\\Neil^Ann"
    assert build_segment("MSH", {9: "ACK"}).render() == "MSH|^~\\&|||||||ACK"
    assert parse_segment("PID|1", DEFAULT_DELIMITERS).with_field(3, "9").render() == "PID|1||9"


def test_msh_2_may_have_fewer_delimiters() -> None:
    message = parse_message("MSH|^|A|B|C|D|||ADT^A01|1~2&3|P|2.3\r")
    assert (message.type, message.trigger, message.control_id) == ("ADT", "A01", "1~2&3")
    assert list(message.values("MSH.10[*]")) == ["1~2&3"]


@pytest.mark.parametrize(
    ("stated", "charset"),
    [("8859/1", "iso-8859-1"), ("UNICODE UTF-8", "utf-8"), ("", "utf-8"), ("ASCII", "utf-8"), ("X", "utf-8")],
)
def test_message_is_encoded_in_stated_charset_if_possible(stated: str, charset: str) -> None:
    text = f"MSH|^~\\&|Köln||||||ADT^A01|1|P|2.5||||||{stated}\r"
    data, called = encode_message(text)
    assert (data, called) == (text.encode(charset), charset)
    assert decode_message(data) == text


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_detected(charset: str) -> None:
    text = "MSH|^~\\&|A|B|C|D|1||ADT^A01|1|P|2.5||||||UNICODE UTF-16\rPID|1||||Müller\r"
    assert parse_message(text.encode(charset)).render == text
    assert parse_message(text.encode()).render == text  # whatever MSH-18 states


@pytest.mark.parametrize("head", ["MSH^|", "MSH|^", "MSH|^~", "MSH|^~\\"])
def test_missing_delimiters_do_not_split(head: str) -> None:
    sign = head[3]
    message = parse_message(f"{head}{sign}A~B{sign}C&D\rPID{sign}1~2{sign}x&y")
    assert message.value("PID.1") == ("1" if "~" in head else "1~2")
    assert message.value("PID.2.1") == "x&y"
    assert parse_message(message.render).render == message.render


def test_without_escape_character_delimiters_become_spaces() -> None:
    assert escape("a|b\nc^d\\e", Delimiters("|", "^", "~", "", "")) == "a b c d\\e"
