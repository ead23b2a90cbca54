"""JSON with exact decimals: every number keeps its digits, however it is written."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clerkship.formats.fhir import exact

DIGITS = st.text("0123456789", min_size=1, max_size=20)
INTEGERS = DIGITS.map(lambda text: text.lstrip("0") or "0")
EXPONENTS = st.builds(
    "".join, st.tuples(st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.sampled_from("079"))
)
NUMBERS = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "-"]),
        INTEGERS,
        st.just("") | DIGITS.map(lambda text: f".{text}"),
        st.just("") | EXPONENTS,
    ),
).filter(lambda text: text != "-0")  # an integer, which has no sign then
DOCUMENTS = st.builds(
    lambda number, form: form % number,
    NUMBERS,
    st.sampled_from(["[%s]", '{"a":%s}', '{"a": %s ,"b":"1.0"}', '["1e5",%s\n]', '[1,\t%s,"2.16.840.1.113883.4.1"]']),
)  # fmt: skip


def read_texts(data: Any) -> list[str]:
    """Return the digits of all numbers in parsed data."""
    if isinstance(data, dict):
        return [text for item in data.values() for text in read_texts(item)]
    if isinstance(data, list):
        return [text for item in data for text in read_texts(item)]
    if isinstance(data, str):
        return []
    return [data.text if isinstance(data, exact.Decimal) else repr(data)]


@given(DOCUMENTS)
@example("[1.50]")
@example("[0.00001]")
@example("[1e5]")
@example("[12345678901234567890]")
def test_numbers_keep_their_digits(document: str) -> None:
    kept = read_texts(exact.loads(document.encode()))
    written = read_texts(json.loads(document, parse_float=exact.Decimal, parse_int=exact.Decimal))
    assert kept == written


@pytest.mark.parametrize("text", ["1.25", "-0.5", "120", "0", "98.6", "123456789012345"])
def test_numbers_that_floats_keep_are_plain(text: str) -> None:
    [value] = exact.loads(f"[{text}]".encode())
    assert type(value) in (int, float)
    assert repr(value) == text
