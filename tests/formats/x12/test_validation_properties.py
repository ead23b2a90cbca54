"""Edits of valid sets: validation never raises, always ends, and reports places inside the set."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clerkship.formats.x12.element_checks import check_elements
from clerkship.formats.x12.grammar import SegmentSpec
from clerkship.formats.x12.grammar_tables import list_grammars, load_grammar
from clerkship.formats.x12.json_view import view_set
from clerkship.formats.x12.segment import DEFAULT_X12_DELIMITERS, X12Segment
from clerkship.formats.x12.transaction_set import TransactionSet, parse_transaction_set
from clerkship.formats.x12.validation import MAX_SET_ERRORS, validate_set
from tests.choices import mark_slow_after
from tests.examples import examples
from tests.formats.x12.answers import (
    authorization_answer_set,
    authorization_inquiry_set,
    claim_status_answer_set,
    eligibility_answer_set,
    rejection_set,
)
from tests.formats.x12.messages import ELIGIBILITY, PARTIES, authorization_set, claim_status_set, eligibility_set
from tests.waiting import processor_limit

SETS = [
    eligibility_set(),
    eligibility_set(dependent=("NM1*03*1*OKAFOR*SAM",)),
    eligibility_answer_set(),
    claim_status_set(),
    claim_status_answer_set(),
    authorization_set(),
    authorization_answer_set(),
    authorization_inquiry_set(),
    rejection_set(),
]
POOL = sorted({segment for text in SETS for segment in text.rstrip("~").split("~")})
SEGMENT_CODES = {"1", "2", "3", "4", "5", "6", "7", "8", "I4", "I6", "I7", "I8", "I9"}
ELEMENT_CODES = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "12", "13", "I6", "I9", "I10", "I11", "I12", "I13"}
values = st.one_of(
    st.sampled_from(["", "1", "HC:99213", "30^33", "20260230", "ZZ", "D8", "É", "\x00"]), st.text(max_size=6)
)


@st.composite
def edited_sets(draw: st.DrawFn) -> TransactionSet:
    """Draw a valid set after some edits: segments removed, moved, repeated, replaced; elements changed or added."""
    segments = draw(st.sampled_from(SETS)).rstrip("~").split("~")
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, max(len(segments) - 1, 0)))
        edit = draw(st.sampled_from(["remove", "repeat", "insert", "move", "element", "append"]))
        if edit == "insert" or not segments:
            segments.insert(at, draw(st.sampled_from(POOL) | st.text(min_size=1, max_size=5)))
        elif edit == "remove":
            del segments[at]
        elif edit == "repeat":
            segments[at:at] = [segments[at]] * draw(st.integers(1, 12))
        elif edit == "move":
            segments.insert(draw(st.integers(0, len(segments) - 1)), segments.pop(at))
        else:
            elements = segments[at].split("*")
            place = draw(st.integers(1, max(len(elements) - 1, 1)))
            elements[place : place + (edit == "element")] = [draw(values)]
            segments[at] = "*".join(elements)
    return TransactionSet(segments or ["ST"], group_version=ELIGIBILITY)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(edited_sets())
def test_edited_sets_are_checked_without_exceptions_and_errors_have_places_inside_the_set(
    transaction: TransactionSet,
) -> None:
    result = validate_set(transaction)
    count = len(transaction.segments)
    assert len(result.errors) <= MAX_SET_ERRORS
    assert sorted(map(id, result.tree.all_segments())) == sorted(map(id, transaction.segments))
    positions = [error.position for error in result.errors]
    assert positions == sorted(positions)
    for error in result.errors:
        assert 1 <= error.position <= count
        assert error.code in SEGMENT_CODES
        assert (error.code == "8") == bool(error.elements)
        assert error.loop == "" or (result.grammar is not None and error.loop in result.grammar.loops)
        for element in error.elements:
            assert element.code in ELEMENT_CODES
            assert 1 <= element.position <= max(len(transaction.segments[error.position - 1].elements), 22)
            assert element.element_number == "" or element.element_number.isdigit()
    view_set(result)


SPECS = [
    item.segment
    for key in list_grammars()
    for loop in [load_grammar(key).root, *load_grammar(key).loops.values()]
    for item in loop.items
    if item.loop is None
]


@st.composite
def segments_near_a_spec(draw: st.DrawFn) -> tuple[SegmentSpec, X12Segment]:
    """Draw a specification, and a segment that fits it more or less."""
    spec = draw(st.sampled_from(SPECS))
    elements = []
    for element in spec.elements[: draw(st.integers(1, len(spec.elements) + 1))]:
        codes = sorted(element.codes or ()) or ["12"]
        choices = [st.sampled_from(codes), values]
        if element.usage != "R":
            choices.insert(0, st.just(""))
        if element.components:
            parts = [draw(st.sampled_from([*sorted(part.codes or ()), "12", ""])) for part in element.components[:4]]
            choices.insert(0, st.just(":".join(parts).rstrip(":")))
        if element.number == "1251" or element.type == "DT":
            choices.insert(0, st.sampled_from(["20261115", "20261231", "20261101-20261130", "2026"]))
        elements.append(draw(st.one_of(choices)).replace("*", ""))
    while len(elements) > 1 and not elements[-1]:
        elements.pop()
    return spec, X12Segment([spec.id, *elements])


@settings(max_examples=examples(500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(segments_near_a_spec())
def test_a_segment_that_matches_the_pattern_of_its_specification_has_no_errors_but_of_rules(
    case: tuple[SegmentSpec, X12Segment],
) -> None:
    spec, segment = case
    if spec.use_delimiters(DEFAULT_X12_DELIMITERS)(segment.render()) is not None:
        errors = [error for error in check_elements(segment, spec) if error.code not in {"2", "10", "I9"}]
        assert errors == []


@pytest.mark.parametrize(
    "segments",
    mark_slow_after(
        2,
        [
            [f"HL*{number}*{number - 1}*22*1" for number in range(4, 10_004)],
            ["EB*1**" + "30^" * 1000] * 1000,
            ["EB*1**30"] * 10_000,
            ["EB*QQ"] * 10_000,
            ["QQQ*1"] * 10_000,
            [f"HL*{number}*1*23*1" for number in range(4, 10_004)],
            ["NM1*IL*1*OKAFOR"] * 10_000,
        ],
    ),
    ids=lambda segments: segments[0][:12],
)
def test_a_set_with_ten_thousand_segments_takes_time_in_proportion(segments: list[str]) -> None:
    text = eligibility_answer_set(*segments)
    transaction = parse_transaction_set(text)
    with processor_limit(5):
        result = validate_set(transaction)
    assert sum(len(loop.segments) for loop in result.tree.walk()) == len(transaction.segments)
    assert PARTIES.member_id in view_set(result)["segments"][8]
