"""Filters are parsed as fhirpathpy parses them."""

from hypothesis import given
from hypothesis import strategies as st

from clerkship.formats.fhir.expression import InvalidFhirPath, parse_any
from clerkship.formats.fhir.filter_syntax import SyntaxTree, parse_filters

NAMES = st.sampled_from(["code", "coding", "_id", "a1", "where", "day", "contains", "as", "is", "div", "true", "years"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(".".join)
TEXTS = st.sampled_from(["x", "", "http://loinc.org", "a b", "//", "/*", ")", "= '", "\\n", "`", "é", '"', "$"])
FILTERS = st.builds("where({}{}'{}')".format, PATHS, st.sampled_from(["=", " = ", "!=", "  ="]), TEXTS)
EXPRESSIONS = st.lists(NAMES | FILTERS | st.sampled_from(["first()", "x[0]", ""]), min_size=1, max_size=4).map(".".join)


def parse_or_none(text: str) -> SyntaxTree | None:
    try:
        return parse_any(text)
    except InvalidFhirPath:
        return None


@given(EXPRESSIONS)
def test_tree_of_names_and_filters_is_that_of_the_whole_parser(text: str) -> None:
    tree = parse_filters(text)
    assert tree is None or tree == parse_or_none(text)


def test_filters_of_the_suites_need_no_other_parser() -> None:
    for text in (
        "code.coding.where(system = 'http://loinc.org').code",
        "link.where(type = 'replaced-by').other.reference",
        "a.where(b.c='d')",
    ):
        tree = parse_filters(text)
        assert tree is not None, text
        assert tree == parse_any(text), text


def test_words_of_the_grammar_are_left_to_the_whole_parser() -> None:
    assert parse_filters("period.where(day = '1')") is None
    assert parse_filters("a.where(is = '1')") is None
    assert parse_filters("where(a = 'b').c") is None
