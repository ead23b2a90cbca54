"""Control numbers, counts and identifiers of envelopes: each fault has its code of TA1 or 999."""

import re

import pytest

from clerkship.formats.x12.interchange import Interchange, parse_interchanges
from tests.formats.x12.messages import (
    CLAIM_STATUS,
    ELIGIBILITY,
    claim_status_set,
    eligibility_request,
    eligibility_set,
    functional_group,
    interchange,
)
from tests.formats.x12.parsing import NO_PROBLEMS, list_codes, parse_one

TEXT = eligibility_request()
GS = f"GS*HS*HARBOR*SUMMIT*20261115*0900*101*X*{ELIGIBILITY}~"
ST = f"ST*270*0001*{ELIGIBILITY}~"


def change(*changes: tuple[str, str]) -> Interchange:
    """Parse a valid request after replacing texts in it."""
    text = TEXT
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return parse_one(text)


def list_ta1_codes(*changes: tuple[str, str]) -> list[str]:
    """Return the codes of the interchange after a change; its groups and sets have no problems."""
    codes = list_codes(change(*changes))
    assert codes[1:] == NO_PROBLEMS[1:]
    return codes[0]


def test_different_control_numbers_of_isa_and_iea() -> None:
    assert list_ta1_codes(("IEA*1*000000101", "IEA*1*000000102")) == ["001"]
    assert list_ta1_codes(("IEA*1*000000101", "IEA*1*101")) == ["001"]
    assert list_ta1_codes(("IEA*1*000000101", "IEA*1")) == ["001"]


@pytest.mark.parametrize("count", ["0", "2", "", "x", "1.0", "-1", "9" * 5000, "¹"])
def test_wrong_number_of_groups(count: str) -> None:
    assert list_ta1_codes(("IEA*1*", f"IEA*{count}*")) == ["021"]


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("*00501*", "*00401*", ["003"]),
        ("*^*00501*", "*U*00401*", ["003"]),
        ("*00501*", "*0501*", ["003", "017"]),
        ("ISA*00*", "ISA*0*", ["010"]),
        ("ISA*00*", "ISA*01*", ["010"]),
        ("*00*          *ZZ*", "*02*          *ZZ*", ["012"]),
        ("ISA*00*          *00*", "ISA*99*          *00*", ["010"]),
        ("ISA*00*          *00*", "ISA*00*          *99*", ["012"]),
        ("ISA*00*          *00*", "ISA*99*          *99*", ["010", "012"]),
        ("ISA*00*          *00*", "ISA*03*LOGIN     *01*", []),
        ("ISA*00*          *", "ISA*00**", ["011"]),
        ("*ZZ*HARBOR ", "*z *HARBOR ", ["005"]),
        ("*HARBOR         *ZZ", "*HARBOR*ZZ", ["006"]),
        ("*HARBOR         *ZZ", "*               *ZZ", ["006"]),
        ("*ZZ*SUMMIT ", "*Z*SUMMIT ", ["007"]),
        ("*SUMMIT         *", "*SUMMIT*", ["008"]),
        ("*261115*", "*261315*", ["014"]),
        ("*261115*", "*20261115*", ["014"]),
        ("*0900*^", "*2460*^", ["015"]),
        ("*000000101*0*T", "*00000010A*0*T", ["018", "001"]),
        ("*000000101*0*T", "*101*0*T", ["018", "001"]),
        ("*0*T*:", "*2*T*:", ["019"]),
        ("*0*T*:", "*0*X*:", ["020"]),
        ("HARBOR         *ZZ", "HARBÖR         *ZZ", ["024"]),
        ("*^*00501", "*A*00501", ["016"]),
        ("*^*00501", "*:*00501", ["016"]),
        ("T*:~GS", "T*A~GS", ["027"]),
        ("T*:~GS", "T**~GS", ["027"]),
        ("T*:~GS", "T*\n~GS", ["027"]),
        ("*^*00501", "*\r*00501", ["016"]),
    ],
)
def test_faults_of_isa(old: str, new: str, codes: list[str]) -> None:
    assert list_ta1_codes((old, new)) == codes


@pytest.mark.parametrize("terminator", ["", " ", "*", "1", "é"])
def test_invalid_segment_terminator(terminator: str) -> None:
    parsed = change(("*:~GS", f"*:{terminator}GS"))
    assert list_codes(parsed) == [["004"], [], []]
    assert parsed.control_number == "000000101"


@pytest.mark.parametrize(
    "gs",
    [
        "GS~",
        "GS*HS~",
        GS.replace("*HS*", "*H*"),
        GS.replace("*HS*HARBOR*", "*HS**"),
        GS.replace("20261115", "261115"),
        GS.replace("0900", "9"),
        GS.replace("*X*", "**"),
        GS.replace("*X*", "*T*"),
        GS.replace("~", "*~"),
        GS.replace(f"*{ELIGIBILITY}", ""),
    ],
)
def test_malformed_group_header_is_a_fault_of_the_interchange(gs: str) -> None:
    assert list_codes(change((GS, gs)))[0] == ["024"]


def test_problem_of_a_group_header_names_the_element() -> None:
    (problem,) = change((GS, GS.replace("*X*", "*T*"))).problems
    assert problem.text.endswith("is not a valid GS: has 'T' in GS07 (expected: X, for X12)")


def test_interchange_without_content() -> None:
    assert list_codes(parse_one(interchange())) == [["024"], [], []]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (GS, ""),
        (GS, f"{GS}NTE*X~"),
        ("GE*1*101~", "GE*1*101~NTE*X~"),
        ("GE*1*101~", "GE*1*101~GE*1*101~"),
        ("GE*1*101~", "SE*1*0001~GE*1*101~"),
        ("GE*1*101~", "TA1*000000001*261115*0900*A*000~GE*1*101~"),
        ("GE*1*101~", "GE*1*101~~"),
        (GS, f" {GS}"),
        (GS, f"{ST}{GS}"),
    ],
)
def test_segments_in_the_wrong_place_are_a_fault_of_the_structure(old: str, new: str) -> None:
    assert "022" in list_codes(change((old, new)))[0]


def test_text_after_the_interchange_is_a_fault_of_the_structure() -> None:
    for rest in ("GS*HS~", "IEA*1*000000101~", "ISA*00~", "x"):
        assert list_codes(parse_one(TEXT + rest)) == [["022"], [], []]


def test_next_interchange_is_found_after_stray_text() -> None:
    first, second = parse_interchanges(f"{TEXT}ISABELLA was here\n{TEXT}")
    assert [list_codes(first)[0], list_codes(second)[0]] == [["022"], []]


@pytest.mark.parametrize("line_break", ["", "\n"])
def test_interchange_without_iea_before_the_next(line_break: str) -> None:
    first, second = parse_interchanges(TEXT.replace("IEA*1*000000101~", line_break) + TEXT)
    assert list_codes(first) == [["022"], [], []]
    assert list_codes(second) == NO_PROBLEMS


def test_interchange_cut_off_within_a_segment_before_the_next() -> None:
    first, second = parse_interchanges(f"{TEXT[: TEXT.index('OKAFOR')]}\n{TEXT}")
    assert list_codes(first) == [["022"], ["3"], ["2"]]
    assert list_codes(second) == NO_PROBLEMS


def test_delimiters_that_change_within_an_interchange() -> None:
    start = TEXT.index("GE*")
    parsed = parse_one(TEXT[:start] + TEXT[start:].replace("*", "|"))
    assert list_codes(parsed) == [["023", "022"], ["3"], []]


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("GE*1*101~", "", ["3"]),
        ("GE*1*101~", "GE*1*102~", ["4"]),
        ("GE*1*101~", "GE*1~", ["4"]),
        ("GE*1*101~", "GE*2*101~", ["5"]),
        ("GE*1*101~", "GE**101~", ["5"]),
        ("GE*1*101~", "GE*x*1~", ["4", "5"]),
        ("*101*X", "*A1*X", ["6", "4"]),
        ("*101*X", "*1234567890*X", ["6", "4"]),
    ],
)
def test_faults_of_groups(old: str, new: str, codes: list[str]) -> None:
    assert list_codes(change((old, new))) == [[], codes, []]


def test_group_without_sets() -> None:
    assert list_codes(parse_one(interchange(functional_group("HS", ELIGIBILITY, [])))) == [[], ["5"], []]


def test_group_number_that_is_used_twice() -> None:
    groups = [functional_group("HS", ELIGIBILITY, [eligibility_set()], "7") for _ in range(3)]
    first, *others = parse_one(interchange(*groups)).groups
    assert first.problems == []
    assert [[problem.code for problem in group.problems] for group in others] == [["19"], ["19"]]


def test_group_without_ge_before_the_next() -> None:
    text = interchange(
        functional_group("HS", ELIGIBILITY, [eligibility_set()], "1").replace("GE*1*1~", ""),
        functional_group("HR", CLAIM_STATUS, [claim_status_set()], "2"),
    )
    assert list_codes(parse_one(text)) == [[], ["3"], []]


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("SE*13*0001~", "", ["2"]),
        ("SE*13*0001~", "SE*13*0002~", ["3"]),
        ("SE*13*0001~", "SE*13~", ["3"]),
        ("SE*13*0001~", "SE*12*0001~", ["4"]),
        ("SE*13*0001~", "SE~", ["3", "4"]),
        ("EQ*30~", "EQ*30~~", ["4"]),
        ("ST*270*", "ST**", ["6"]),
        ("ST*270*", "ST*27A*", ["6"]),
        ("ST*270*", "ST*276*", ["18"]),
        ("ST*270*0001", "ST*270*1", ["7", "3"]),
        ("ST*270*0001", "ST*270*0001000100", ["7", "3"]),
        (ST, "ST~", ["6", "7", "3"]),
        (ST, "ST*270*0001*005010X212~", ["I6"]),
    ],
)
def test_faults_of_sets(old: str, new: str, codes: list[str]) -> None:
    assert list_codes(change((old, new))) == [[], [], codes]


def test_set_number_that_is_used_twice_in_a_group() -> None:
    parsed = parse_one(eligibility_request(eligibility_set("0001"), eligibility_set("0002"), eligibility_set("0001")))
    assert [[problem.code for problem in each.problems] for each in parsed.sets] == [[], [], ["23"]]


def test_set_number_may_be_used_in_another_group() -> None:
    groups = [functional_group("HS", ELIGIBILITY, [eligibility_set()], number) for number in "12"]
    assert list_codes(parse_one(interchange(*groups))) == NO_PROBLEMS


def test_set_without_se_before_the_next() -> None:
    first = eligibility_set("0001").replace("SE*13*0001~", "")
    parsed = parse_one(eligibility_request(first, eligibility_set("0002")))
    assert [[problem.code for problem in each.problems] for each in parsed.sets] == [["2"], []]
    assert parsed.groups[0].problems == []


def test_truncated_interchange_reports_what_is_missing() -> None:
    for length in range(106, len(TEXT)):
        text = TEXT[:length]
        interchange_codes, group_codes, set_codes = list_codes(parse_one(text))
        assert interchange_codes[0] == "023", text
        if length < TEXT.index("~GE*") + 3:
            assert ("3" in group_codes) == bool(re.search(r"~GS($|\*)", text)), text
        if length < TEXT.index("~SE*") + 3:
            assert ("2" in set_codes) == bool(re.search(r"~ST($|\*)", text)), text
        if length > TEXT.index("~GE*1*101~") + 9:
            assert (group_codes, set_codes) == ([], []), text
