"""A change of YAML text changes only what differs."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.service.serving.drafts.yaml_editing import are_equal, edit_yaml, get_at
from clerkship.service.serving.drafts.yaml_rendering import require_renderable
from clerkship.service.serving.drafts.yaml_spans import Span, parse_spans
from clerkship.suite_files.yaml import build_text_tree, parse_yaml
from tests.examples import examples
from tests.service.serving.drafts.small_suite import FILES

SPECIAL = """\
? complex key
: value   # of a complex key
'quoted # key': [1, 2,   # inside
  3]
empty:
nested:
- - a   # first
  - b
-  c:  1

   # between
   d:   2
literal: |+
  kept

folded: >-
  one
  two
last: {a: , b: [x, {y: z}]}   # the last
# tail"""
TEXTS = [data.decode("utf-8-sig") for path, data in FILES.items() if path.endswith(".yml")] + [SPECIAL]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.sampled_from(
        (
            *("yes", "1e3", "0o17", "null", "a: b", "# c", "two\nlines\n", "  lead\n x\n", "{{ a }}", "", "~", "- x"),
            *("a\n\nb", "trailing \nx", "2026-03-02", "1:30", "!x", "*a", "&a", "%", "@", "<<", "=", "\r\n"),
            "long " * 50,
        )
    ),
)
KEYS = st.sampled_from(("new", "a", "yes", "with space", "#", "1", "", "a: b", "{{ x }}", "é"))
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)


def parse(text: str) -> Any:
    """Return the data of a text, in which an included file is a text."""
    return parse_yaml(text, "f.yml", lambda name, node: build_text_tree(name, f"included {name}")).data


def list_paths(data: Any, path: tuple[int | str, ...] = ()) -> list[tuple[int | str, ...]]:
    """Return the paths of all values."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(inner for key, value in items for inner in list_paths(value, (*path, key)))]


def find_comments(text: str) -> list[tuple[int, str]]:
    """Return the comments of a text with their positions: what begins with `#` outside of values."""
    comments, at = list[tuple[int, str]](), 0
    for start, end in [*sorted(_list_scalars(parse_spans(text))), (len(text), len(text))]:
        line_start = at
        for line in text[at:start].split("\n"):
            if "#" in line:
                comments.append((line_start + line.index("#"), line[line.index("#") :].strip()))
            line_start += len(line) + 1
        at = max(at, end)
    return comments


def _list_scalars(span: Span) -> list[tuple[int, int]]:
    own = [] if span.kind in ("map", "list") else [(span.start, span.end)]
    inner = [each for pair in span.children for each in pair if each is not None]
    return own + [place for each in inner for place in _list_scalars(each)]


@settings(max_examples=examples(600), deadline=None)
@given(st.data())
def test_any_change_has_the_wanted_meaning(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    changed = copy.deepcopy(parse(text))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list_paths(changed)[1:] or [()]))
        parent: Any = get_at(changed, path[:-1])
        action = data.draw(st.sampled_from(("set", "remove", "insert"))) if path else ""
        if action == "set":
            parent[path[-1]] = data.draw(VALUES)
        elif action == "remove":
            del parent[path[-1]]
        elif action == "insert" and isinstance(parent, list):
            parent.insert(int(path[-1]), data.draw(VALUES))
        elif action == "insert":
            parent[data.draw(KEYS)] = data.draw(VALUES)
    assert are_equal(parse(edit_yaml(text, (), changed, parse)), changed)


@settings(max_examples=examples(600, quick=20), deadline=None)
@given(st.data())
def test_every_byte_outside_of_a_replaced_value_stays(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(TEXTS))
    path = data.draw(st.sampled_from(list_paths(parse(text))[1:]))
    old, value = get_at(parse(text), path), data.draw(SCALARS)
    # A value that others share by an alias, or that is in an included file, is written out.
    if "*" in text or "!include" in text or are_equal(old, value):
        return
    span, key, start = parse_spans(text), None, 0
    for part in path:
        child = span.find(text, part)
        assert child is not None
        key, span = child
        start = key.end if key is not None else span.start
    edited = edit_yaml(text, path, value, parse)
    line_end = text.find("\n", span.end)
    assert edited.startswith(text[:start])
    assert edited.endswith(text[span.end if span.end < line_end else max(line_end, 0) :].lstrip("\n") or "")
    outside = [comment for at, comment in find_comments(text) if not start <= at < span.end]
    kept = [comment for _, comment in find_comments(edited)]
    assert [comment for comment in outside if comment not in kept] == []


@pytest.mark.parametrize(
    ("path", "value", "lines"),
    [
        (("task", "name"), "Write: it", {"  name: Write a letter   # short": "  name: 'Write: it'   # short"}),
        (("task", "tags"), ["write"], {'  tags: [letters, "write"]': '  tags: ["write"]'}),
        (("task", "criteria", 0, "weight"), 2, {}),
        (("task", "criteria", 0, "weight"), 3, {"    weight: 2.0   # counts twice": "    weight: 3   # counts twice"}),
        (
            ("task", "criteria", 1, "assertion", "answer_matches"),
            "ok",
            {'      answer_matches: {matches: "(?i)done"}   # any case': "      answer_matches: ok   # any case"},
        ),
        (("task", "solution"), None, {"  solution: solutions/write.py": "  solution: null"}),
    ],
)
def test_a_replaced_value_changes_its_line_alone(
    path: tuple[int | str, ...], value: Any, lines: dict[str, str]
) -> None:
    text = FILES["tasks/write.yml"].decode("utf-8-sig")
    expected = "\n".join(lines.get(line, line) for line in text.split("\n"))
    assert edit_yaml(text, path, value, parse) == expected


def test_a_new_item_is_written_where_it_stands_in_the_list() -> None:
    text = FILES["tasks/write.yml"].decode("utf-8-sig")
    criteria = parse(text)["task"]["criteria"]
    edited = edit_yaml(text, ("task", "criteria"), [criteria[0], {"label": "New"}, criteria[1]], parse)
    assert edited == text.replace("  - label: Said so", "  - label: New\n  - label: Said so")


def test_a_removed_item_takes_its_lines_with_it_and_leaves_the_comments_above() -> None:
    text = FILES["tasks/write.yml"].decode("utf-8-sig")
    edited = edit_yaml(text, ("task", "criteria"), parse(text)["task"]["criteria"][1:], parse)
    start, end = text.index("  - label: The letter"), text.index("\n  - label: Said so")
    assert edited == text[:start] + text[end:]


def test_a_shared_value_is_changed_in_one_place_alone() -> None:
    text = FILES["tasks/count.yml"].decode()
    edited = edit_yaml(text, ("tasks", 0, "tags"), ["count"], parse)
    assert parse(edited)["tasks"][0]["tags"] == ["count"]
    assert parse(edited)["tasks"][1]["tags"] == ["count", "read"]
    assert "# The same, asked in another way." in edited


def test_an_included_value_that_does_not_change_stays_included() -> None:
    text = FILES["tasks/count.yml"].decode()
    assert edit_yaml(text, ("tasks", 1, "name"), "Again", parse) == text.replace("Count them again", "Again")


def test_line_breaks_of_other_systems_stay() -> None:
    text = FILES["datasets.yml"].decode()
    edited = edit_yaml(text, ("datasets", 1, "name"), "persons", parse)
    assert edited == text.replace("people,", "persons,")


def test_a_file_with_very_many_differences_is_written_in_bounded_time() -> None:
    text = "".join(f"key{number}: [{number}]  # {number}\n" for number in range(300))
    wanted = {f"key{number}": [number + 1] for number in range(300)}
    calls = 0

    def count(written: str) -> Any:
        nonlocal calls
        calls += 1
        return parse(written)

    assert parse(edit_yaml(text, (), wanted, count)) == wanted
    assert calls * len(text) < 450_000


@pytest.mark.parametrize(
    ("value", "field"),
    [(float("inf"), "a.0"), (2**63, "a.0"), ("\ud800", "a.0"), ({"\udfff": 1}, "a.0")],
)
def test_what_no_file_can_hold_is_refused_with_its_field(value: Any, field: str) -> None:
    with pytest.raises(Exception, match=f"^{field}: "):
        require_renderable({"a": [value]})
