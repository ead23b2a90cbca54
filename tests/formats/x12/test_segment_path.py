"""Paths to values in a set."""

import pytest

from clerkship.formats.x12.grammar_tables import load_grammar
from clerkship.formats.x12.segment_path import (
    BadSegmentPath,
    SegmentCondition,
    SegmentPath,
    find_values,
    parse_segment_path,
)
from tests.formats.x12.answers import authorization_answer_set, claim_status_answer_set, eligibility_answer_set
from tests.formats.x12.messages import eligibility_set
from tests.formats.x12.validated import validate_text


def test_a_path_is_parsed_into_its_parts() -> None:
    assert parse_segment_path("2110C/EB[1=C][6=23]*7") == SegmentPath(
        ("2110C",), "EB", (SegmentCondition(1, None, "C"), SegmentCondition(6, None, "23")), 7
    )
    assert parse_segment_path("STC*1:2") == SegmentPath((), "STC", (), 1, 2)
    assert parse_segment_path("2000E/2010EA/NM1") == SegmentPath(("2000E", "2010EA"), "NM1")


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("2110C/EB*1", ["1", "C", "B", "A", "F"]),
        ("2100C/EB*1", ["1", "C", "B", "A", "F"]),
        ("2000C/2110C/EB[1=C]*7", ["1500"]),
        ("EB[1=B]*3", ["98", "UC"]),
        ("EB[3=UC]*7", ["25"]),
        ("EB[7=]*1", ["1", "A", "F"]),
        ("EB[1=Z]*7", []),
        ("2100A/NM1*9", ["SUM01"]),
        ("2100A/EB*1", []),
        ("TRN*2", ["T270A"]),
        ("BHT*2", ["11"]),
        ("EB*13", []),
        ("2110C/EB[1=B]", ["EB*B**98^UC***27*25*****Y"]),
    ],
)
def test_values_of_an_answer(path: str, values: list[str]) -> None:
    assert find_values(validate_text(eligibility_answer_set()).tree, path) == values


def test_a_component_of_a_composite() -> None:
    tree = validate_text(claim_status_answer_set()).tree
    assert find_values(tree, "2200D/STC*1:1") == ["F1"]
    assert find_values(tree, "STC*1:2") == ["65"]
    assert find_values(tree, "STC*1") == ["F1:65"]
    assert find_values(tree, "STC*1:3") == []
    assert find_values(tree, "STC[1:2=65]*9") == ["EFT881"]


def test_the_loop_of_a_level_includes_the_levels_below() -> None:
    tree = validate_text(authorization_answer_set()).tree
    assert find_values(tree, "2000E/HCR*1") == ["A1", "A1"]
    assert find_values(tree, "2000F/HCR*1") == ["A1"]


@pytest.mark.parametrize(
    "text",
    [
        *("", "EB*", "EB*x", "EB*0", "EB*1:0", "EB*123", "eb*1", "E*1", "2100C", "2100C/", "/EB", "21/EB*1"),
        *("EB[1]*2", "EB[1=C*2", "EB*1*2", "EB.1", "EB*1 2", "2110C/" * 200 + "EB*1"),
    ],
)
def test_a_text_that_is_not_a_path_is_refused_with_the_expected_form(text: str) -> None:
    with pytest.raises(BadSegmentPath, match=r"is not a path .*; write a path as 2110C/EB\[1=C\]\*7"):
        parse_segment_path(text)


def test_a_path_can_be_checked_against_a_grammar() -> None:
    grammar = load_grammar("271")
    for path in ("2110C/EB*1", "2000A/EB*1", "TRN*2", "2120D/NM1*1"):
        parse_segment_path(path).check(grammar)
    with pytest.raises(BadSegmentPath, match="transaction 271 has no loop 2200D"):
        parse_segment_path("2200D/STC*1").check(grammar)
    with pytest.raises(BadSegmentPath, match="loop 2100A of transaction 271 has no segment EB"):
        parse_segment_path("2100A/EB*1").check(grammar)
    with pytest.raises(BadSegmentPath, match="transaction 271 has no segment HCR"):
        parse_segment_path("HCR*1").check(grammar)
    with pytest.raises(BadSegmentPath, match="segment EB has 14 elements"):
        parse_segment_path("EB*15").check(grammar)


def test_values_of_a_set_that_is_not_supported_are_found_without_loops() -> None:
    tree = validate_text(eligibility_set().replace("005010X279A1", "004010X092A1")).tree
    assert find_values(tree, "EQ*1") == ["30"]
    assert find_values(tree, "2110C/EQ*1") == []
