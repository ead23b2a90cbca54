"""The tables of grammars: they are consistent, and compiled once."""

from collections import Counter
from collections.abc import Iterator

import pytest

from clerkship.formats.x12.grammar import Grammar, LoopSpec, SegmentSpec
from clerkship.formats.x12.grammar_tables import list_grammars, load_grammar, load_table
from clerkship.formats.x12.json_view import to_key
from clerkship.formats.x12.segment import DEFAULT_X12_DELIMITERS
from clerkship.formats.x12.segment_pattern import ElementSpec, SegmentRule, parse_rule

KEYS = list_grammars()


def walk_loops(grammar: Grammar) -> Iterator[LoopSpec]:
    yield grammar.root
    yield from grammar.loops.values()


def walk_segments(grammar: Grammar) -> Iterator[tuple[LoopSpec, SegmentSpec]]:
    for loop in walk_loops(grammar):
        for item in loop.items:
            if item.loop is None:
                yield loop, item.segment


def walk_elements(grammar: Grammar) -> Iterator[tuple[str, ElementSpec]]:
    for loop, segment in walk_segments(grammar):
        for element in segment.elements:
            yield f"{loop.id}/{segment.id}{element.position:02}", element
            for component in element.components:
                yield f"{loop.id}/{segment.id}{element.position:02}:{component.position}", component


def test_there_is_a_grammar_for_each_transaction_and_direction() -> None:
    assert [
        *("270", "271", "276", "277", "278_inquiry", "278_inquiry_response", "278_request", "278_response", "999"),
    ] == KEYS


def test_a_grammar_is_compiled_once() -> None:
    assert load_grammar("270") is load_grammar("270")


def test_an_unknown_grammar_is_refused_with_the_names_of_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"there is no grammar `850` \(expected one of: 270, 271"):
        load_grammar("850")


@pytest.mark.parametrize("key", KEYS)
def test_a_set_begins_with_st_and_ends_with_se(key: str) -> None:
    items = load_grammar(key).root.items
    assert (items[0].segment.id, items[-1].segment.id) == ("ST", "SE")
    assert items[0].segment.elements[0].codes == frozenset({load_grammar(key).code})


@pytest.mark.parametrize("key", KEYS)
def test_the_first_segment_of_a_loop_is_required_and_single(key: str) -> None:
    for loop in load_grammar(key).loops.values():
        first = loop.items[0]
        assert first.loop is None, loop.id
        assert first.segment.is_required, loop.id
        assert first.max == 1, loop.id


@pytest.mark.parametrize("key", KEYS)
def test_the_levels_of_a_grammar_are_below_levels_named_before_them(key: str) -> None:
    grammar = load_grammar(key)
    for loop in grammar.levels.values():
        for parent in grammar.parents[loop.id]:
            assert parent == "" or grammar.loops[parent].rank < loop.rank


@pytest.mark.parametrize("key", KEYS)
def test_uses_of_a_segment_at_one_place_differ_in_their_qualifiers(key: str) -> None:
    for loop in walk_loops(load_grammar(key)):
        for segment_id, items in loop.items_by_id.items():
            if len(items) > 1:
                qualifiers = [code for item in items for code in item.segment.qualifiers or ["any"]]
                assert max(Counter(qualifiers).values()) == 1, (loop.id, segment_id)


@pytest.mark.parametrize("key", KEYS)
def test_codes_fit_the_length_of_their_element(key: str) -> None:
    for place, element in walk_elements(load_grammar(key)):
        for code in element.codes or ():
            assert element.min <= len(code) <= element.max, (place, code)


@pytest.mark.parametrize("key", KEYS)
def test_composites_begin_with_a_required_component_where_they_are_used(key: str) -> None:
    for place, element in walk_elements(load_grammar(key)):
        if element.components and element.usage != "N":
            assert element.components[0].usage == "R", place


@pytest.mark.parametrize("key", KEYS)
def test_labels_give_each_element_and_each_part_of_a_loop_its_own_key(key: str) -> None:
    grammar = load_grammar(key)
    for loop, segment in walk_segments(grammar):
        keys = [to_key(element.label) for element in segment.elements]
        assert max(Counter(keys).values()) == 1, (loop.id, segment.id)
        assert "segment" not in keys, (loop.id, segment.id)
    for loop in walk_loops(grammar):
        parts = {(to_key(item.segment.label), item.segment.id) for item in loop.items if item.loop is None}
        parts |= {(to_key(item.loop.label), "loop") for item in loop.items if item.loop is not None}
        parts |= {(to_key(level.label), "level") for level in loop.levels}
        keys = [part for part, _ in parts]
        assert max(Counter(keys).values()) == 1, (loop.id, keys)


def test_names_of_codes_fit_the_elements_they_are_for() -> None:
    elements = load_table("elements")
    for number, codes in load_table("codes").items():
        if number in elements:
            for code, name in codes.items():
                assert elements[number]["min"] <= len(code) <= elements[number]["max"], (number, code)
                assert name


def test_codes_are_named_only_for_elements_that_a_grammar_uses() -> None:
    elements = [element for key in KEYS for _, element in walk_elements(load_grammar(key)) if element.usage != "N"]
    named = {frozenset(element.meanings) for element in elements}
    assert [number for number, codes in load_table("codes").items() if frozenset(codes) not in named] == []


@pytest.mark.parametrize("key", KEYS)
def test_the_patterns_of_all_segments_compile(key: str) -> None:
    for _, segment in walk_segments(load_grammar(key)):
        assert segment.use_delimiters(DEFAULT_X12_DELIMITERS)("") is None


def test_rules_between_elements_are_parsed() -> None:
    assert parse_rule("P0809") == SegmentRule("P", (8, 9))
    assert parse_rule("C110910") == SegmentRule("C", (11, 9, 10))
    for text in ("", "P08", "X0809", "P080", "Pxxyy"):
        with pytest.raises(ValueError, match="is not a rule between elements"):
            parse_rule(text)
