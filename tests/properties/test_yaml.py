"""JSON documents parse as YAML, and any text is parsed or refused."""

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from clerkship.suite_files.yaml import InvalidYaml, parse_yaml
from tests.examples import examples

# json.dumps writes what lies beyond U+FFFF as a pair of escapes, which JSON has and YAML has not (§5.7).
TEXT = st.text(st.characters(codec="utf-8", max_codepoint=0xFFFF), max_size=30)
DATA: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=25,
)


def same(first: Any, other: Any) -> bool:
    """Return whether values are equal and of the same types: 1 is neither true nor 1.0."""
    if isinstance(first, dict) and isinstance(other, dict):
        return first.keys() == other.keys() and all(same(first[key], other[key]) for key in first)
    if isinstance(first, list) and isinstance(other, list):
        return len(first) == len(other) and all(map(same, first, other))
    return type(first) is type(other) and bool(first == other)


@settings(max_examples=examples(100), deadline=None)
@given(DATA, st.sampled_from([None, 2]))
@example(data=[1e16, 5e-324, -0.0, 1.0], indent=None)
@example(data={"<<": {"a": 1}, "": "", "~": "null", "yes": "no"}, indent=None)
def test_json_document_parses_as_yaml(data: Any, indent: int | None) -> None:
    tree = parse_yaml(json.dumps(data, indent=indent), "f.json")
    assert tree.mistakes == []
    assert same(tree.data, data)


@settings(max_examples=examples(100), deadline=None)
@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=30))
def test_printable_text_of_any_plane_round_trips(text: str) -> None:
    assert parse_yaml(json.dumps([text], ensure_ascii=False), "f.json").data == [text]


@settings(max_examples=examples(100), deadline=None)
@given(st.text(alphabet="{}[]:,-?&*!|>'\"#%@`~ab01.\n\t <=", max_size=60))
def test_any_text_is_parsed_or_refused_with_a_position(text: str) -> None:
    try:
        tree = parse_yaml(text, "f.yml")
    except InvalidYaml as bad:
        results = [bad]
    else:
        results = tree.mistakes
        json.dumps(tree.data, allow_nan=False)
    lines = text.count("\n") + 1
    assert all(1 <= bad.line <= lines + 1 and bad.column >= 1 for bad in results)
