"""Any file content can be checked by a criterion."""

import csv
import io
from contextlib import suppress
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clerkship.simulators.files.assertions.file_present import FilePresent
from clerkship.simulators.files.content import ContentFormat, CsvContent, UnreadableContent, parse_file
from tests.assertions.log_builder import LogBuilder
from tests.examples import examples

ANYTHING = st.one_of(
    st.binary(max_size=200),
    st.text(alphabet="ab\"'|^~\\&;,\t\r\n{}[]:019", max_size=200).map(str.encode),
    st.text(alphabet="ab|^~\\&\r\n", max_size=200).map(lambda text: b"MSH|^~\\&|" + text.encode()),
    st.text(max_size=50).map(lambda text: text.encode("utf-16", "surrogatepass")),
)
PATHS = {"json": "a.0.b", "csv": "[*].a", "hl7": "PID.3[*].1"}
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=10)


@pytest.mark.parametrize("form", get_args(ContentFormat))
@settings(max_examples=examples(100), deadline=None)
@given(data=ANYTHING)
def test_any_file_is_parsed_or_reported_as_unreadable(form: ContentFormat, data: bytes) -> None:
    with suppress(UnreadableContent):
        parse_file(form, data)
    args = {"path": "a", "parse": form, "fields": [{"path": PATHS[form], "expected": 5}] if form in PATHS else []}
    results = FilePresent.model_validate(args).check(LogBuilder().with_files("drop", {"a": data}).evidence())
    assert results.detail


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(
        CELLS.filter(lambda name: name.strip() and not set(name) & set(",;\t|\n\r")),
        min_size=2,
        max_size=4,
        unique=True,
    ),
    st.lists(st.lists(CELLS, min_size=4, max_size=4), max_size=4),
    st.sampled_from(",;\t|"),
)
def test_table_round_trips(columns: list[str], cells: list[list[str]], delimiter: str) -> None:
    out = io.StringIO(newline="")
    rows = [row[: len(columns)] for row in cells]
    csv.writer(out, delimiter=delimiter).writerows([columns, *rows])
    [table] = parse_file("csv", out.getvalue().encode())
    assert isinstance(table, CsvContent)
    assert (table.columns, table.rows) == ([name.removeprefix("\ufeff") for name in columns[:1]] + columns[1:], rows)
