"""The elements of segments: errors with the codes of IK403."""

import pytest

from clerkship.formats.x12.element_checks import MAX_ELEMENT_ERRORS
from clerkship.formats.x12.grammar_tables import load_grammar
from clerkship.formats.x12.segment import X12Delimiters
from clerkship.formats.x12.segment_pattern import MAX_CACHED_DELIMITERS
from clerkship.formats.x12.transaction_set import parse_transaction_set
from clerkship.formats.x12.validation import MAX_SET_ERRORS, validate_set
from tests.formats.x12.answers import authorization_answer_set, claim_status_answer_set, eligibility_answer_set
from tests.formats.x12.messages import (
    ELIGIBILITY,
    PARTIES,
    authorization_set,
    eligibility_set,
    transaction_set,
    with_delimiters,
)
from tests.formats.x12.validated import element_places, replace_segment, segment_places, segments_of, validate_text

Place = tuple[int, int | None, int | None, str, str, str]
SUBSCRIBER = PARTIES.subscriber
BIRTH = PARTIES.birth
DATE = "DTP*291*D8*20261115"


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        pytest.param(SUBSCRIBER, "NM1*IL**OKAFOR*JUNE****MI*SM70010", (2, None, None, "1", "1065", ""), id="1 missing"),
        pytest.param(SUBSCRIBER, "NM1*IL*1*OKAFOR*JUNE****MI", (9, None, None, "2", "67", ""), id="2 P0809"),
        pytest.param(
            SUBSCRIBER, "NM1*IL*1*OKAFOR*JUNE*****SM70010", (8, None, None, "2", "66", ""), id="2 P0809 other"
        ),
        pytest.param("EQ*30", "EQ***FAM", (1, None, None, "2", "1365", ""), id="2 R0102"),
        pytest.param(DATE, DATE + "*X", (4, None, None, "3", "", "X"), id="3 too many"),
        pytest.param(DATE, DATE + "*", (4, None, None, "3", "", ""), id="3 separator after the last element"),
        pytest.param("EQ*30", "EQ*30*", (2, None, None, "3", "", ""), id="3 separator at the end"),
        pytest.param(SUBSCRIBER, "NM1*IL*1*OKAFOR*JUNE****MI*S", (9, None, None, "4", "67", "S"), id="4 short"),
        pytest.param(DATE, "DTP*29*D8*20261115", (1, None, None, "4", "374", "29"), id="4 short code"),
        pytest.param("EQ*30", "EQ*30X", (1, None, 1, "5", "1365", "30X"), id="5 long"),
        pytest.param(BIRTH, "DMG*D8*19790312*FF", (3, None, None, "5", "1068", "FF"), id="5 long code"),
        pytest.param(SUBSCRIBER, "NM1*IL*1*OKA\tFOR*JUNE", (3, None, None, "6", "1035", "OKA\tFOR"), id="6 control"),
        pytest.param(SUBSCRIBER, "NM1*IL*1*MUÑOZ*JUNE", (3, None, None, "6", "1035", "MUÑOZ"), id="6 accent"),
        pytest.param(SUBSCRIBER, "NM1*IL*1*  *JUNE", (3, None, None, "6", "1035", "  "), id="6 only spaces"),
        pytest.param(BIRTH, "DMG*D8*19790312*X", (3, None, None, "7", "1068", "X"), id="7 code"),
        pytest.param(DATE, "DTP*291*XX*20261115", (2, None, None, "7", "1250", "XX"), id="7 format"),
        pytest.param(DATE, "DTP*472*D8*20261115", (1, None, None, "I6", "374", "472"), id="I6 code of the standard"),
        pytest.param(DATE, "DTP*291*D8*20260230", (3, None, None, "8", "1251", "20260230"), id="8 date"),
        pytest.param(
            DATE, "DTP*291*D8*20261101-20261130", (3, None, None, "8", "1251", "20261101-20261130"), id="8 D8"
        ),
        pytest.param(DATE, "DTP*291*RD8*20261101", (3, None, None, "8", "1251", "20261101"), id="8 RD8"),
        pytest.param(BIRTH, "DMG*D8*19791312*F", (2, None, None, "8", "1251", "19791312"), id="8 birth date"),
        pytest.param(BIRTH, BIRTH + "*S", (4, None, None, "I10", "1067", "S"), id="I10 not used"),
        pytest.param(BIRTH, "DMG*D8^D8*19790312*F", (1, None, None, "12", "1250", "D8^D8"), id="12 repetitions"),
        pytest.param(BIRTH, "DMG*D8*19790312*F:M", (3, None, None, "13", "1068", "F:M"), id="13 components"),
        pytest.param("EQ*30", "EQ*30^^33", (1, None, 2, "1", "1365", ""), id="1 empty repetition"),
        pytest.param("EQ*30", "EQ*30^XYZ", (1, None, 2, "5", "1365", "XYZ"), id="5 in the second repetition"),
        pytest.param("EQ*30", "EQ**HC", (2, 2, None, "1", "234", ""), id="1 component"),
        pytest.param("EQ*30", "EQ**HC:99213:251", (2, 3, None, "5", "1339", "251"), id="5 component"),
        pytest.param("EQ*30", "EQ**QQ:99213", (2, 1, None, "7", "235", "QQ"), id="7 component"),
        pytest.param("EQ*30", "EQ**HC:99213:", (2, None, None, "13", "", "HC:99213:"), id="13 separator at the end"),
        pytest.param(
            "EQ*30", "EQ**HC:9:25:26:27:28:::X", (2, None, None, "13", "", "HC:9:25:26:27:28:::X"), id="13 too many"
        ),
    ],
)
def test_one_wrong_element_gives_one_error_with_its_place(old: str, new: str, place: Place) -> None:
    position = segments_of(eligibility_set()).index(old) + 2
    result = validate_text(replace_segment(eligibility_set(), old, new))
    assert [(error.position, error.code) for error in result.errors] == [(position, "8")]
    assert element_places(result.errors[0]) == [place]


def test_code_10_for_a_state_and_a_country_subdivision() -> None:
    address = ("N3*1 ELM ST", "N4*DENVER*CO*80202*CA***ON")
    result = validate_text(replace_segment(eligibility_set(), BIRTH, *address, BIRTH))
    assert segment_places(result) == [("N4", 11, "2100C", "8")]
    assert element_places(result.errors[0]) == [(7, None, None, "10", "1715", "ON")]


def test_code_2_for_a_country_subdivision_without_its_country() -> None:
    result = validate_text(replace_segment(eligibility_set(), BIRTH, "N4*TORONTO******ON", BIRTH))
    assert segment_places(result) == [("N4", 10, "2100C", "8")]
    assert element_places(result.errors[0]) == [(4, None, None, "2", "26", "")]


def test_a_wrong_date_and_time_in_the_header() -> None:
    header = segments_of(eligibility_set())[0]
    result = validate_text(replace_segment(eligibility_set(), header, "BHT*0022*13*T270A*20261315*2500"))
    assert element_places(result.errors[0]) == [
        (4, None, None, "8", "373", "20261315"),
        (5, None, None, "9", "337", "2500"),
    ]


@pytest.mark.parametrize(("time", "is_valid"), [("0900", True), ("090059", True), ("09005999", True), ("0960", False)])
def test_times_have_minutes_and_may_have_seconds(time: str, is_valid: bool) -> None:
    header = segments_of(eligibility_set())[0]
    result = validate_text(replace_segment(eligibility_set(), header, f"BHT*0022*13*T270A*20261115*{time}"))
    assert (result.errors == []) == is_valid


@pytest.mark.parametrize(
    ("amount", "code"),
    [
        ("25", None),
        ("25.50", None),
        (".5", None),
        ("-25", None),
        ("25.", None),
        ("1E3", "6"),
        ("$25", "6"),
        ("1" * 19, "5"),
    ],
)
def test_amounts_are_decimal_numbers(amount: str, code: str | None) -> None:
    result = validate_text(eligibility_answer_set(f"EB*B**98***27*{amount}"))
    codes = [element.code for error in result.errors for element in error.elements]
    assert codes == ([] if code is None else [code])


def test_the_length_of_a_number_leaves_out_sign_and_point() -> None:
    assert validate_text(eligibility_answer_set(f"EB*B**98***27*-{'1' * 16}.25")).errors == []


def test_eb03_repeats_and_eb02_does_not() -> None:
    assert validate_text(eligibility_answer_set(f"EB*1**{'^'.join(['30'] * 99)}")).errors == []
    result = validate_text(eligibility_answer_set(f"EB*1**{'^'.join(['30'] * 100)}"))
    assert [element.code for element in result.errors[0].elements] == ["12"]
    result = validate_text(eligibility_answer_set("EB*1*IND^FAM*30"))
    assert [element.code for element in result.errors[0].elements] == ["12"]


def test_a_date_late_in_its_month_is_valid() -> None:
    for date in ("20260131", "20240229", "20261231"):
        assert validate_text(eligibility_set(date=date)).errors == []


def test_a_decision_needs_a_number_if_it_certifies() -> None:
    assert validate_text(authorization_answer_set("HCR*A3**25^26", service=("HCR*A3",))).errors == []
    result = validate_text(authorization_answer_set("HCR*A1"))
    assert segment_places(result) == [("HCR", 12, "2000E", "8")]
    assert element_places(result.errors[0]) == [(2, None, None, "I9", "127", "")]


def test_a_partial_certification_is_of_the_event_only() -> None:
    assert validate_text(authorization_answer_set("HCR*A2*SMA1")).errors == []
    result = validate_text(authorization_answer_set(service=("HCR*A2*SMA1", "SV1*HC:72148**UN*1")))
    assert [(error.loop, error.elements[0].code) for error in result.errors] == [("2000F", "I6")]


def test_a_status_has_a_category_and_a_status_code() -> None:
    result = validate_text(claim_status_answer_set("STC*F1*20261101"))
    assert element_places(result.errors[0]) == [(1, 2, None, "1", "1271", "")]


def test_a_diagnosis_names_its_code_list() -> None:
    result = validate_text(authorization_set(event=("HI*ABK:M5416*QQQ:M5416",)))
    assert element_places(result.errors[0]) == [(2, 1, None, "7", "1270", "QQQ")]


def test_other_separators_give_the_same_errors() -> None:
    delimiters = X12Delimiters("|", "!", ">", "\n")
    broken = replace_segment(eligibility_set(service_types="30^1"), "EQ*30^1", "EQ*30^XYZ*HC:99213:251")
    expected = validate_text(broken)
    result = validate_set(parse_transaction_set(with_delimiters(broken, delimiters), delimiters))
    assert result.errors == expected.errors
    valid = with_delimiters(eligibility_set(service_types="30^1"), delimiters)
    assert validate_set(parse_transaction_set(valid, delimiters)).errors == []


def test_a_digit_as_separator_is_never_part_of_a_value() -> None:
    text = with_delimiters(eligibility_set(), X12Delimiters("*", "^", "6", "~"))
    result = validate_set(parse_transaction_set(text, X12Delimiters("*", "^", "6", "~")))
    codes = {(error.segment, element.position, element.code) for error in result.errors for element in error.elements}
    assert {("BHT", 4, "13"), ("DTP", 3, "13"), ("NM1", 9, "13")} <= codes


def test_patterns_are_kept_for_a_limited_number_of_separators() -> None:
    separators = [chr(code) for code in range(0x21, 0x7F) if not chr(code).isalnum() and chr(code) not in "*:~.-"]
    assert len(separators) > MAX_CACHED_DELIMITERS
    for separator in separators:
        delimiters = X12Delimiters("*", separator, ":", "~")
        text = with_delimiters(eligibility_set(), delimiters)
        assert validate_set(parse_transaction_set(text, delimiters)).errors == []
    spec = load_grammar("270").root.items[0].segment
    assert len(spec._patterns) <= MAX_CACHED_DELIMITERS


def test_errors_are_limited_for_a_segment_and_a_set() -> None:
    result = validate_text(eligibility_answer_set("EB*1**" + "^".join(["TOOLONG"] * 90)))
    assert len(result.errors[0].elements) == MAX_ELEMENT_ERRORS
    result = validate_text(eligibility_answer_set(*["EB*QQ"] * 500))
    assert len(result.errors) == MAX_SET_ERRORS
    assert len(result.tree.find_all("2110C")) == 500


def test_a_long_value_is_cut_in_the_error() -> None:
    result = validate_text(replace_segment(eligibility_set(), "EQ*30", f"EQ*{'3' * 5000}"))
    assert result.errors[0].elements[0].value == "3" * 99
    assert len(result.errors[0].text) < 200


def test_a_segment_without_elements_is_in_error() -> None:
    result = validate_text(transaction_set("270", ELIGIBILITY, [*segments_of(eligibility_set()), "III"]))
    assert [(error.segment, error.code) for error in result.errors] == [("III", "8")]
