"""Templates do not change text that is not a template."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.suite_files.template import BadTemplate, render
from clerkship.suite_files.template_filler import TemplateFiller
from tests.examples import examples

PLAIN = st.text(max_size=40).filter(lambda text: "{{" not in text and "{%" not in text)
DATA: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=examples(60), deadline=None)
@given(DATA)
def test_data_without_double_braces_is_unchanged(data: Any) -> None:
    complaints: list[Any] = []
    filler = TemplateFiller({}, (), lambda *complaint: complaints.append(complaint), complaints.append)
    assert filler.fill(data, []) == data
    assert complaints == []


@settings(max_examples=examples(60), deadline=None)
@given(PLAIN.filter(lambda text: not text.endswith("{")), PLAIN, st.text(max_size=20))
def test_expression_is_replaced_by_its_value(before: str, after: str, value: str) -> None:
    text = render(f"{before}{{{{ a.b }}}}{after}", {"a": {"b": value}})
    assert text == (value if not (before + after).strip() else f"{before}{value}{after}")


@settings(max_examples=examples(100), deadline=None)
@given(st.text(alphabet="{}%|()\"'.[] ab0\n", max_size=40))
def test_any_text_is_filled_in_or_refused(text: str) -> None:
    try:
        render(text, {"a": {"b": [1, "x"]}, "b": None})
    except BadTemplate as bad:
        assert bad.message  # noqa: PT017  (either outcome is right; what may not happen is another exception)
