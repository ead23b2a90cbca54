"""Tests of acknowledgments in each version."""

from datetime import UTC, datetime

import pytest

from clerkship.formats.hl7.ack import Ack, ack_mode, build_ack, is_ack_wanted, parse_ack
from clerkship.formats.hl7.message import BadMessage, Flaw, Hl7Message, parse_message
from clerkship.formats.hl7.tables import VERSIONS
from clerkship.formats.hl7.validation import validate_message

AT = datetime(2026, 3, 2, 9, 0, 5, tzinfo=UTC)
FLAWS = [
    Flaw("101", "PID-3 is missing", "PID", 1, 3),
    Flaw("102", "OBX-5: '|^&~\\' is not a number", "OBX", 2, 5, 1, 2),
    Flaw("100", "PV1 is missing after PID", "PV1"),
]


def build_message(
    version: str = "2.5.1", *, header: str = "MSH|^~\\&|LAB|NORTH^1.2^ISO|EHR|CLINIC", rest: str = ""
) -> Hl7Message:
    return parse_message(f"{header}|20260302||ORU^R01^ORU_R01|M1|T|{version}{rest}\rPID|1\r")


def build_answer(message: Hl7Message, code: str = "AA", flaws: list[Flaw] | None = None, text: str = "") -> Hl7Message:
    return build_ack(message, code, flaws or [], control_id="A1", at=AT, text=text)


def test_ack_is_addressed_to_sender() -> None:
    assert build_answer(build_message()).render == (
        "MSH|^~\\&|EHR|CLINIC|LAB|NORTH^1.2^ISO|20260302090005+0000||ACK^R01^ACK|A1|T|2.5.1\rMSA|AA|M1\r"
    )


def test_ack_before_2_3_1_has_no_trigger_event() -> None:
    assert build_answer(build_message("2.3")).header.raw(9) == "ACK"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("code", ["AA", "AE", "AR", "CA", "CE", "CR"])
def test_ack_is_valid_and_parses_back(version: str, code: str) -> None:
    wrong = FLAWS if code[1] != "A" else []
    written = build_answer(build_message(version), code, wrong, "it | is ~ so")
    assert validate_message(written) == []
    said = parse_ack(parse_message(written.render.encode()))
    assert (said.code, said.control_id) == (code, "M1")
    assert said.text == ("it | is ~ so" if version < "2.7" else "")
    assert [(flaw.code, flaw.text, flaw.segment, flaw.sequence, flaw.field) for flaw in said.errors] == [
        (flaw.code, flaw.text, flaw.segment, flaw.sequence, flaw.field) for flaw in wrong
    ]


def test_errors_before_2_5_are_repetitions_of_err_1() -> None:
    written = build_answer(build_message("2.4"), "AE", FLAWS[:1])
    assert written.segments[2].render() == "ERR|PID^1^3^101&PID-3 is missing&HL70357"


def test_errors_from_2_5_have_location_code_and_text() -> None:
    errors = [segment.render() for segment in build_answer(build_message(), "AE", FLAWS[:2]).all("ERR")]
    assert errors == [
        "ERR||PID^1^3|101^Required field missing^HL70357|E||||PID-3 is missing",
        "ERR||OBX^2^5^1^2|102^Data type error^HL70357|E||||OBX-5: '\\F\\\\S\\\\T\\\\R\\\\E\\' is not a number",
    ]


def test_text_without_flaws_is_in_ack_of_every_version() -> None:
    assert build_answer(build_message("2.5"), "AR", text="not today").segments[1].render() == "MSA|AR|M1|not today"
    [error] = parse_ack(build_answer(build_message("2.8"), "AR", text="not today")).errors
    assert (error.code, error.text) == ("207", "not today")


def test_ack_uses_delimiters_and_charset_of_message() -> None:
    message = parse_message("MSH#*!?%#LAB#N#E#C#20260302##ADT*A01*ADT_A01#M1#P#2.5.1######8859/1\r")
    written = build_answer(message, "AE", [Flaw("101", "a # b", "PID", 1, 3)])
    assert written.render == (
        "MSH#*!?%#E#C#LAB#N#20260302090005+0000##ACK*A01*ACK#A1#P#2.5.1######8859/1\rMSA#AE#M1\r"
        "ERR##PID*1*3#101*Required field missing*HL70357#E####a ?F? b\r"
    )
    assert validate_message(written) == []


def test_unknown_version_is_answered_in_2_5_1() -> None:
    assert build_answer(build_message("9.1"), "AR").version == "2.5.1"
    assert build_answer(parse_message("MSH|^~\\&"), "AR").render.startswith(
        "MSH|^~\\&|||||20260302090005+0000||ACK^^ACK|A1|P|2.5.1\rMSA|AR|\r"
    )


def test_message_without_msa_is_not_an_ack() -> None:
    with pytest.raises(BadMessage, match="MSA"):
        parse_ack(build_message())


def test_acks_of_other_systems_are_parsed() -> None:
    header = "MSH|^~\\&|A|B|C|D|20260302||ACK|9|P|2.3\r"
    text = f"{header}MSA|AE|M1|no such patient\rERR|PID^x^3^204&Unknown key identifier~^^^207\r"
    assert parse_ack(parse_message(text)) == Ack(
        "AE",
        "M1",
        "no such patient",
        (Flaw("204", "Unknown key identifier", "PID", 1, 3), Flaw("207", "")),
    )
    odd = parse_message("MSH|^~\\&|A|B|C|D|20260302||ACK|9|P|2.5\rMSA|AR|M1\rERR|||207^Internal|E||||\rERR\r")
    assert parse_ack(odd).errors == (Flaw("207", "Internal"),)


def test_ack_conditions_of_table_0155() -> None:
    assert ack_mode(build_message()) == "original"
    assert ack_mode(build_message(rest="|||AL|NE")) == "enhanced"
    assert ack_mode(build_message(rest="||||ER")) == "enhanced"
    expected = {"AL": (True, True), "NE": (False, False), "ER": (False, True), "SU": (True, False), "": (False, False)}
    assert {
        condition: (is_ack_wanted(condition, True), is_ack_wanted(condition, False)) for condition in expected
    } == expected
