"""The order of segments and loops in a set: errors with the codes of IK304."""

from collections.abc import Callable

import pytest

from clerkship.formats.x12.transaction_set import parse_transaction_set
from clerkship.formats.x12.validation import validate_set
from tests.formats.x12.answers import (
    INQUIRY,
    authorization_answer_set,
    authorization_inquiry_set,
    claim_status_answer_set,
    eligibility_answer_set,
    rejection_set,
)
from tests.formats.x12.messages import (
    AUTHORIZATION,
    ELIGIBILITY,
    PARTIES,
    authorization_set,
    claim_status_set,
    eligibility_set,
    transaction_set,
)
from tests.formats.x12.validated import element_places, replace_segment, segment_places, segments_of, validate_text

VALID: dict[str, Callable[[], str]] = {
    "270": eligibility_set,
    "271": eligibility_answer_set,
    "276": claim_status_set,
    "277": claim_status_answer_set,
    "278_request": authorization_set,
    "278_response": authorization_answer_set,
    "278_inquiry": authorization_inquiry_set,
    "278_inquiry_response": lambda: authorization_answer_set(version=INQUIRY),
    "999": rejection_set,
}
TRN = "TRN*1*T270A*9HARBOR001"
DEPENDENT = ("NM1*03*1*OKAFOR*SAM", "DMG*D8*20150101*M")


@pytest.mark.parametrize("key", VALID)
def test_valid_sets_have_no_errors_and_the_grammar_of_their_transaction(key: str) -> None:
    result = validate_text(VALID[key]())
    assert result.errors == []
    assert result.grammar is not None
    assert result.grammar.key == key


@pytest.mark.parametrize("key", VALID)
def test_every_segment_is_in_the_tree_once(key: str) -> None:
    transaction = parse_transaction_set(VALID[key]())
    result = validate_set(transaction)
    assert sorted(map(id, result.tree.all_segments())) == sorted(map(id, transaction.segments))


def test_a_270_is_divided_into_loops_by_its_levels() -> None:
    result = validate_text(eligibility_set(dependent=DEPENDENT))
    ids = [loop.id for loop in result.tree.walk()]
    assert ids == ["", "2000A", "2100A", "2000B", "2100B", "2000C", "2100C", "2000D", "2100D", "2110D"]
    inquiry = result.tree.first("2110D")
    assert inquiry is not None
    assert [segment.render() for segment in inquiry.segments] == ["EQ*30"]


def test_a_278_has_the_event_below_the_dependent() -> None:
    text = authorization_set()
    text = replace_segment(text, "HL*4*3*EV*1", "HL*4*3*23*1", "NM1*QC*1*OKAFOR*SAM", "HL*5*4*EV*1")
    text = replace_segment(text, "HL*5*4*SS*0", "HL*6*5*SS*0")
    result = validate_text(text)
    assert result.errors == []
    dependent = result.tree.first("2000D")
    assert dependent is not None
    assert [loop.id for loop in dependent.loops] == ["2010D", "2000E"]


def test_several_subscribers_are_siblings() -> None:
    second = ["HL*4*2*22*0", TRN, PARTIES.subscriber, "EQ*30"]
    text = transaction_set("270", ELIGIBILITY, [*segments_of(eligibility_set()), *second])
    result = validate_text(text)
    assert result.errors == []
    assert len(result.tree.find_all("2000C")) == 2


def test_uses_of_one_segment_are_in_any_order() -> None:
    details = ("REF*EJ*ACCT31", "REF*BLT*111", "REF*1K*SMC1")
    assert validate_text(claim_status_set(details=details)).errors == []


def test_code_1_for_a_segment_that_x12_does_not_have() -> None:
    text = replace_segment(eligibility_set(), "EQ*30", "EQ*30", "QQQ*1")
    assert segment_places(validate_text(text)) == [("QQQ", 13, "2110C", "1")]


def test_code_2_for_a_segment_that_is_not_expected_at_a_level() -> None:
    text = replace_segment(eligibility_set(), "HL*2*1*21*1", "EQ*30", "HL*2*1*21*1")
    result = validate_text(text)
    assert segment_places(result) == [("EQ", 5, "2100A", "2")]
    assert result.errors[0].text == "EQ*30 is not expected in loop 2000A"


def test_code_3_for_a_mandatory_segment_that_is_missing_at_the_place_where_it_was_expected() -> None:
    bht = segments_of(eligibility_set())[0]
    assert segment_places(validate_text(replace_segment(eligibility_set(), bht))) == [("BHT", 2, "", "3")]
    text = replace_segment(eligibility_set(), PARTIES.provider)
    assert segment_places(validate_text(text)) == [("NM1", 6, "2100B", "3")]
    text = authorization_set(review="MSG*X", event=())
    assert segment_places(validate_text(text)) == [("UM", 12, "2000E", "3")]


def test_code_3_for_a_level_that_is_missing() -> None:
    text = transaction_set("270", ELIGIBILITY, segments_of(eligibility_set())[:5])
    assert segment_places(validate_text(text)) == [("HL", 5, "2000B", "8"), ("HL", 7, "2000C", "3")]
    header = segments_of(eligibility_set())[0]
    assert segment_places(validate_text(transaction_set("270", ELIGIBILITY, [header]))) == [("HL", 3, "2000A", "3")]


def test_code_3_for_a_level_that_is_left_out_and_no_error_for_what_follows() -> None:
    text = replace_segment(eligibility_set(), PARTIES.provider)
    text = replace_segment(text, "HL*2*1*21*1")
    text = replace_segment(text, "HL*3*2*22*0", "HL*2*1*22*0")
    assert segment_places(validate_text(text)) == [("HL", 5, "2000B", "3")]


@pytest.mark.parametrize(
    ("segments", "missing"),
    [
        (("LS*2120", "NM1*PR*2*OTHER PAYER", "LE*2120"), []),
        (("LS*2120", "NM1*PR*2*OTHER PAYER"), [("LE", 15, "2110C", "3")]),
        (("NM1*PR*2*OTHER PAYER", "LE*2120"), [("LS", 15, "2110C", "3")]),
        (("LS*2120", "LE*2120"), [("NM1", 15, "2120C", "3")]),
    ],
)
def test_the_parties_of_a_benefit_stand_between_ls_and_le(
    segments: tuple[str, ...], missing: list[tuple[str, int, str, str]]
) -> None:
    result = validate_text(eligibility_answer_set("EB*R**30", *segments, *["EB*1**30"] * (len(segments) == 2)))
    assert segment_places(result) == missing


def test_code_4_for_a_loop_that_occurs_too_often() -> None:
    text = replace_segment(eligibility_set(), PARTIES.subscriber, PARTIES.subscriber, PARTIES.subscriber)
    assert segment_places(validate_text(text)) == [("NM1", 10, "2100C", "4")]


def test_code_4_for_a_level_that_occurs_too_often() -> None:
    text = authorization_set(services=())
    text = replace_segment(text, "HI*ABK:M5416", "HL*5*3*EV*0", "UM*HS*I")
    assert segment_places(validate_text(text)) == [("HL", 13, "2000E", "4")]


def test_code_5_for_a_segment_that_occurs_too_often() -> None:
    text = replace_segment(eligibility_set(), PARTIES.birth, PARTIES.birth, PARTIES.birth)
    assert segment_places(validate_text(text)) == [("DMG", 11, "2100C", "5")]
    text = replace_segment(eligibility_set(), TRN, TRN, TRN, TRN)
    assert segment_places(validate_text(text)) == [("TRN", 10, "2000C", "5")]


def test_code_6_for_a_segment_of_another_transaction() -> None:
    text = replace_segment(eligibility_set(), "EQ*30", "CLM*A*1", "EQ*30")
    assert segment_places(validate_text(text)) == [("CLM", 12, "2100C", "6")]


def test_code_7_for_demographics_before_the_name_in_a_270() -> None:
    text = replace_segment(eligibility_set(), PARTIES.birth)
    text = replace_segment(text, PARTIES.subscriber, PARTIES.birth, PARTIES.subscriber)
    assert segment_places(validate_text(text)) == [("DMG", 9, "2000C", "7")]


def test_code_7_for_demographics_after_the_name_in_a_276() -> None:
    text = replace_segment(claim_status_set(), PARTIES.birth)
    text = replace_segment(text, PARTIES.subscriber, PARTIES.subscriber, PARTIES.birth)
    assert segment_places(validate_text(text)) == [("DMG", 11, "2100D", "7")]


def test_code_7_for_bht_after_the_first_level() -> None:
    bht = segments_of(eligibility_set())[0]
    text = replace_segment(eligibility_set(), "EQ*30", "EQ*30", bht)
    assert segment_places(validate_text(text)) == [("BHT", 13, "2110C", "7")]


def test_code_8_for_a_wrong_qualifier_and_no_error_for_the_segments_of_its_loop() -> None:
    text = eligibility_set(dependent=("NM1*QC*1*OKAFOR*SAM", DEPENDENT[1]))
    result = validate_text(text)
    assert segment_places(result) == [("NM1", 12, "2100D", "8")]
    assert element_places(result.errors[0]) == [(1, None, None, "I6", "98", "QC")]


def test_the_dependent_is_qc_in_a_276_and_a_278() -> None:
    details = ("REF*EJ*1",)
    text = claim_status_set(details=details)
    for entity, errors in [("QC", []), ("03", [("NM1", 14, "2100E", "8")])]:
        dependent = ["HL*5*4*23", "DMG*D8*20150101*M", f"NM1*{entity}*1*OKAFOR*SAM", "TRN*1*T276A"]
        changed = replace_segment(text, "TRN*1*T276A", *dependent)
        changed = replace_segment(changed, "HL*4*3*22*0", "HL*4*3*22*1")
        assert segment_places(validate_text(changed)) == errors


def test_code_i6_for_a_patient_without_an_inquiry() -> None:
    result = validate_text(replace_segment(eligibility_set(), "EQ*30"))
    assert segment_places(result) == [("EQ", 12, "2110C", "I6")]
    text = claim_status_set(details=())
    assert segment_places(validate_text(replace_segment(text, "TRN*1*T276A"))) == [("TRN", 12, "2200D", "I6")]


@pytest.mark.parametrize(
    ("old", "new", "element"),
    [
        ("HL*2*1*21*1", "HL*7*1*21*1", (1, "I12", "628", "7")),
        ("HL*2*1*21*1", "HL*2*9*21*1", (2, "I12", "734", "9")),
        ("HL*2*1*21*1", "HL*2**21*1", (2, "1", "734", "")),
        ("HL*2*1*21*1", "HL*2*1*21*0", (4, "I12", "736", "0")),
        ("HL*2*1*21*1", "HL*2*1*21*7", (4, "7", "736", "7")),
        ("HL*2*1*21*1", "HL*2*1*ZZ*1", (3, "7", "735", "ZZ")),
        ("HL*2*1*21*1", "HL*2*1*EV*1", (3, "I6", "735", "EV")),
        ("HL*1**20*1", "HL*1*1*20*1", (2, "I10", "734", "1")),
    ],
)
def test_levels_have_numbers_in_step_a_parent_and_a_statement_of_children(
    old: str, new: str, element: tuple[int, str, str, str]
) -> None:
    result = validate_text(replace_segment(eligibility_set(), old, new))
    errors = [error for error in result.errors if error.position == (5 if old.startswith("HL*2") else 3)]
    assert [error.code for error in errors] == ["8"]
    assert [(e.position, e.code, e.element_number, e.value) for e in errors[0].elements] == [element]


def test_a_level_that_states_children_has_them() -> None:
    result = validate_text(replace_segment(eligibility_set(), "HL*3*2*22*0", "HL*3*2*22*1"))
    assert segment_places(result)[0] == ("HL", 7, "2000C", "8")
    assert element_places(result.errors[0]) == [(4, None, None, "I12", "736", "1")]


def test_errors_carry_the_trace_number_of_their_request() -> None:
    result = validate_text(replace_segment(authorization_set(), PARTIES.subscriber, "NM1*IL*1*OKAFOR*JUNE****MI"))
    assert [error.trace for error in result.errors] == ["T278A"]
    result = validate_text(replace_segment(authorization_set(), "SV1*HC:72148**UN*1", "SV1*HC:72148**ZZ*1"))
    assert [error.trace for error in result.errors] == ["T278AS1"]
    result = validate_text(replace_segment(eligibility_set(), PARTIES.provider, PARTIES.provider[:-11]))
    assert [error.trace for error in result.errors] == [""]


def test_a_request_and_a_response_are_told_apart_by_bht02() -> None:
    result = validate_text(
        replace_segment(authorization_set(), "BHT*0007*13*T278A*20261115*0900", "BHT*0007*99*T278A*20261115*0900")
    )
    assert result.grammar is not None
    assert result.grammar.key == "278_request"
    assert [(error.segment, error.elements[0].code) for error in result.errors] == [("BHT", "7")]


@pytest.mark.parametrize(
    ("code", "version", "error", "words"),
    [
        ("837", "005010X222A1", "1", "professional claim"),
        ("835", "005010X221A1", "1", "remittance advice"),
        ("277", "005010X214", "I6", "277CA"),
        ("278", "005010X216", "I6", "services review notification"),
        ("270", "004010X092A1", "I6", "use 005010X279 or 005010X279A1"),
        ("278", "005010X999", "I6", "use 005010X215 or 005010X217"),
        ("123", "", "1", "transaction `123`"),
    ],
)
def test_transactions_that_are_not_supported_are_refused_by_name(
    code: str, version: str, error: str, words: str
) -> None:
    result = validate_text(transaction_set(code, version, ["BHT*0019*00"]))
    assert result.grammar is None
    assert result.errors == []
    assert result.unsupported is not None
    assert result.unsupported.error == error
    assert words in result.unsupported.text
    assert [segment.id for segment in result.tree.segments] == ["ST", "BHT", "SE"]


def test_the_version_of_the_group_is_used_if_the_set_states_none() -> None:
    text = authorization_set().replace(f"ST*278*0001*{AUTHORIZATION}", "ST*278*0001")
    result = validate_set(parse_transaction_set(text, group_version=AUTHORIZATION))
    assert segment_places(result) == [("ST", 1, "", "8")]
    assert element_places(result.errors[0]) == [(3, None, None, "1", "1705", "")]
