"""`${NAME}` is expanded in an author's text, and nowhere else."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.model.variables import expand, expand_text, join_escaped
from clerkship.suite_files.template_filler import TemplateFiller
from tests.examples import examples

VALUES = {"A" * count: "SECRET-VALUE" for count in range(1, 40)} | {"AB": "${A}"}
TEXT = st.lists(st.sampled_from(["$", "${", "{A}", "${A}", "$${A}", "{", "}", "A", "{AB}", " "]), max_size=6).map(
    "".join
)
AUTHORED = TEXT.filter(lambda text: "{{" not in text and not text.endswith("{"))
DATA: st.SearchStrategy[Any] = st.recursive(
    TEXT | st.integers(0, 9) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def expand_and_read(written: Any, **values: Any) -> Any:
    filled = TemplateFiller(values, (), _refuse, _refuse).fill(written, [])
    return expand(filled, VALUES, _refuse)


def _refuse(*words: Any) -> None:
    raise AssertionError(words)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=5))
def test_values_stay_as_they_are_and_the_authors_text_is_expanded(parts: list[str]) -> None:
    parts = parts if len(parts) % 2 else parts[:-1]
    expected = "".join(expand_text(part, VALUES) if place % 2 == 0 else part for place, part in enumerate(parts))
    assert expand_text(join_escaped(parts), VALUES) == expected


@settings(max_examples=examples(80), deadline=None)
@given(AUTHORED, TEXT, AUTHORED, TEXT)
def test_a_value_in_the_middle_of_a_text_reaches_the_agent_unchanged(a: str, one: str, b: str, two: str) -> None:
    response = expand_and_read(f"<{a}{{{{ x }}}}{b}{{{{ y }}}}>", x=one, y=two)
    assert response == f"<{expand_text(a, VALUES)}{one}{expand_text(b, VALUES)}{two}>"


@settings(max_examples=examples(80), deadline=None)
@given(DATA)
def test_a_value_of_any_type_reaches_the_agent_unchanged(value: Any) -> None:
    assert expand_and_read({"item": "{{ x }}"}, x=value) == {"item": value}


@settings(max_examples=examples(80), deadline=None)
@given(st.text(alphabet="{}%$\"' Ax", max_size=20))
def test_quotes_in_double_braces_give_any_text(text: str) -> None:
    quoted = "".join(f'{{{{ "{sign}" }}}}' if sign != '"' else "{{ '\"' }}" for sign in text)
    assert expand_and_read(f"<{quoted}>") == f"<{text}>"
