"""Tests of the charsets of MSH-18: decoding, and acknowledgments in them."""

from datetime import UTC, datetime

import pytest

from clerkship.formats.hl7.ack import build_ack
from clerkship.formats.hl7.batch import split_messages
from clerkship.formats.hl7.charset import find_codec, replace_unencodable
from clerkship.formats.hl7.message import Flaw, decode_message, encode_message, parse_message
from clerkship.formats.hl7.validation import validate_message

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
NAMED = [
    ("GB 18030-2000", "gb18030", "张伟"),
    ("BIG-5", "big5", "陳志明"),
    ("KS X 1001", "euc_kr", "김철수"),
    ("~ISO IR87", "iso2022_jp", "山田^太郎"),
    ("~ISO IR14~ISO IR87~ISO IR159", "iso2022_jp_ext", "ﾔﾏﾀﾞ 山田 ¥"),
    ("ISO IR87", "iso2022_jp", "山田"),
    ("8859/5", "iso-8859-5", "Иванов"),
    ("8859/15", "iso-8859-15", "Œuvré €"),
    ("ISO-8859-1", "latin-1", "Müller"),
    ("UNICODE UTF-8", "utf-8", "Müller 山田"),
    ("windows-1252", "cp1252", "O’Brien"),
]
WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]


def admission(name: str, charset: str) -> str:
    header = f"MSH|^~\\&|A|B|C|D|20260302||ADT^A01^ADT_A01|1|P|2.5.1||||||{charset}"
    return f"{header}\rEVN||20260302\rPID|1||7^^^B||{name}\rPV1|1|O\r"


@pytest.mark.parametrize(("charset", "codec", "name"), NAMED)
def test_charset_of_table_0211_round_trips(charset: str, codec: str, name: str) -> None:
    text = admission(name, charset)
    data = text.encode(codec)
    assert decode_message(data) == text
    assert split_messages(data).messages == [text]
    assert split_messages(data + data).messages == [text, text]
    assert decode_message(encode_message(text)[0]) == text
    assert validate_message(parse_message(text)) == []


@pytest.mark.parametrize("codec", WIDE)
def test_wide_charsets_are_detected(codec: str) -> None:
    text = admission("山田", f"UNICODE {codec[:6].upper()}")
    assert split_messages(text.encode(codec)).messages == [text]
    assert parse_message(text.encode(codec)).render == text
    data, called = encode_message(text)
    assert (called, data.decode(called)) == (codec[:6], text)


@pytest.mark.parametrize("charset", ["CNS 11643-1992", "KLINGON", "8859/12", "~X"])
def test_unknown_charset_is_a_flaw(charset: str) -> None:
    [flaw] = validate_message(parse_message(admission("Lopez", charset)))
    assert (flaw.code, flaw.segment, flaw.field) == ("103", "MSH", 18)
    assert "table 0211" in flaw.text


def test_unstated_charset_falls_back_to_windows_1252() -> None:
    assert decode_message(admission("O’Brien – Müller", "").encode("cp1252")) == admission("O’Brien – Müller", "")
    assert "\x81" in decode_message(admission("a\x81ü", "").encode("latin-1"))  # not in Windows-1252


@pytest.mark.parametrize(
    ("charset", "quoted"), [("ASCII", "M?ller ??"), ("8859/1", "Müller ??"), ("BIG-5", "M?ller 山田")]
)
def test_ack_is_encodable_in_stated_charset(charset: str, quoted: str) -> None:
    flaw = Flaw("102", "'Müller 山田' is not a number", "OBX", 1, 5)
    answer = build_ack(parse_message(admission("x", charset)), "AE", [flaw], control_id="A1", at=AT)
    data, _ = encode_message(answer.render)
    codec = find_codec(charset)
    assert codec is not None
    read = parse_message(data.decode(codec))
    assert (read.value("MSH.18"), read.value("ERR.8")) == (charset, f"'{quoted}' is not a number")


def test_ack_of_unknown_charset_states_utf_8() -> None:
    flaw = Flaw("102", "'Müller' is not a number")
    answer = build_ack(parse_message(admission("x", "KLINGON")), "AE", [flaw], control_id="A1", at=AT)
    assert answer.value("MSH.18") == "UNICODE UTF-8"
    assert "Müller" in encode_message(answer.render)[0].decode()
    assert validate_message(answer) == []


def test_unencodable_character_is_not_replaced_by_delimiter() -> None:
    message = parse_message("MSH#*!?%#A#B#C#D#20260302##ADT*A01#1#P#2.5######ASCII\r")
    answer = build_ack(message, "AE", [Flaw("102", "Ümlaut")], control_id="A1", at=AT)
    assert answer.value("ERR.8") == " mlaut"
    assert replace_unencodable("us-ascii", "plain") == "plain"
