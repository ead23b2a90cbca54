"""Parse the content of a file as JSON, CSV or HL7, and compare values by path."""

import codecs
import csv
import io
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import orjson

from clerkship.assertions.field_rows import compare_texts, matches_texts
from clerkship.by_name import load
from clerkship.model.path import MISSING
from clerkship.model.path import lookup as lookup_json
from clerkship.model.run import FieldCheck
from clerkship.sandbox.assertion import compare_value

ContentFormat = Literal["json", "csv", "hl7", "text"]
MAX_PARSED_BYTES = 20_000_000
"""A larger file is not parsed."""
MAX_COLUMNS = 10_000
MAX_CELLS = 2_000_000
DELIMITERS = ",;\t|"
ENCODING_PREFIXES = (
    "utf-8",
    "utf-16",
    "utf-32",
    "ascii",
    "iso8859",
    "cp",
    "mac",
    "shift_jis",
    "euc",
    "gb",
    "big5",
    "koi8",
)
"""Prefixes of the names of text encodings. Python has other codecs that are not text encodings."""
MAX_HEADER_LENGTH = 100_000
MAX_REASON_LENGTH = 200
_QUOTED = re.compile(r'"(?:[^"]|"")*"?')
_CELL = re.compile(r"(?:rows)?\[(\d{1,7}|\*)\]\.(.+)|(?:rows\.)?(\d{1,7}|\*)\.(.+)", re.DOTALL)
_COLUMN = re.compile(r"columns(?:\[(\d{1,5})\]|\.(\d{1,5}))?")


class UnreadableContent(Exception):
    """The file is not in the expected format. The reason completes the sentence "it is …"."""


class Content(ABC):
    """The parsed content of a file."""

    @abstractmethod
    def compare(self, path: str, expected: Any) -> FieldCheck:
        """Compare the value at a path with what is expected."""

    def flaws(self) -> Sequence[str]:
        """Return the violations of the format's standard."""
        return ()


class JsonContent(Content):
    """JSON data."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def compare(self, path: str, expected: Any) -> FieldCheck:
        """Compare the value at a dotted path."""
        return compare_value(path, expected, lookup_json(self._data, path))


class CsvContent(Content):
    """Rows under a header; every cell is text."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.columns, self.rows = columns, rows
        self._column_index = {name: index for index, name in enumerate(columns)}

    def compare(self, path: str, expected: Any) -> FieldCheck:
        """Compare `rows[0].mrn`, `[*].mrn`, `columns`, or `rows` for the number of rows."""
        if path == "rows":
            return compare_value(path, expected, len(self.rows))
        header = _COLUMN.fullmatch(path)
        if header is not None:
            number = header[1] or header[2]
            return compare_value(
                path, expected, lookup_json(list(self.columns), number) if number else list(self.columns)
            )
        row, column = parse_cell_path(path)
        if column not in self._column_index:
            return compare_value(path, expected, MISSING)
        rows = self.rows if row == "*" else self.rows[int(row) : int(row) + 1]
        values = [cells[self._column_index[column]] for cells in rows]
        return compare_texts(path, expected, values) if values else compare_value(path, expected, MISSING)

    def compare_nearest_row(self, expected_cells: Mapping[str, Any]) -> list[FieldCheck]:
        """Compare the row with the most matching cells; of several the first."""
        known = [
            (self._column_index[name], expected)
            for name, expected in expected_cells.items()
            if name in self._column_index
        ]
        best, best_count = 0, -1
        for number, cells in enumerate(self.rows):
            matches = sum(matches_texts(expected, [cells[index]]) for index, expected in known)
            if matches > best_count:
                best, best_count = number, matches
            if matches == len(expected_cells):
                break
        return [self.compare(f"rows[{best}].{name}", expected) for name, expected in expected_cells.items()]


def parse_cell_path(path: str) -> tuple[str, str]:
    """Return the row and the column of a path in CSV. Raises ValueError if it is not one."""
    match = _CELL.fullmatch(path)
    if match is None:
        raise ValueError(f"`{path[:60]}` is not a path in CSV (expected: rows[0].NAME, [*].NAME, columns or rows)")
    return match[1] or match[3], match[2] or match[4]


def check_content_path(format: ContentFormat, path: str) -> None:
    """Raise ValueError if a path is not valid for the format."""
    if format == "hl7":
        load("clerkship.formats.hl7.message:parse_path")(path)
    elif format == "csv" and path != "rows" and _COLUMN.fullmatch(path) is None:
        parse_cell_path(path)
    elif format == "text":
        raise ValueError("`fields` go with `parse: json`, `csv` or `hl7`; use `text` for text")


def check_encoding(name: str | None) -> str | None:
    """Return the name of a text encoding. Raises ValueError if it is unknown."""
    try:
        known = name is None or codecs.lookup(name).name.startswith(ENCODING_PREFIXES)
    except (LookupError, ValueError):
        known = False
    if not known:
        raise ValueError(f"unknown encoding {name!r} (expected: utf-8, latin-1, cp1252 or utf-16, for example)")
    return name


def decode_text(data: bytes, encoding: str | None, errors: str = "strict") -> str:
    """Decode a file and drop its byte order mark: as UTF-8 unless an encoding is given, or the mark is UTF-16's."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode(encoding or ("utf-16" if wide else "utf-8-sig"), errors).removeprefix("\ufeff")


def parse_file(format: ContentFormat, data: bytes, encoding: str | None = None) -> list[Content]:
    """Parse a file; an HL7 file has one item for each message. Raises UnreadableContent."""
    if len(data) > MAX_PARSED_BYTES:
        raise UnreadableContent(f"too large to be parsed: {len(data):,} bytes (limit: {MAX_PARSED_BYTES:,})")
    if format == "hl7":
        messages: list[Content] = load("clerkship.simulators.files.hl7_content:parse_messages")(data)
        return messages
    try:
        text = decode_text(data, encoding)
    except UnicodeError:
        raise UnreadableContent(f"not {encoding or 'UTF-8'} text") from None
    return [_parse_json(text) if format == "json" else _parse_csv(text)] if format != "text" else []


def _parse_json(text: str) -> JsonContent:
    try:
        data = orjson.loads(text)
        orjson.dumps(data)  # orjson writes less nesting than it reads; values are written when they are shown
    except orjson.JSONDecodeError as error:
        raise UnreadableContent("not JSON" if text.strip() else "empty, not JSON") from error
    except orjson.JSONEncodeError:
        raise UnreadableContent("JSON that is nested too deep to be parsed") from None
    return JsonContent(data)


def _parse_csv(text: str) -> CsvContent:
    """Parse a header and rows of the same length, with strict quoting; blank lines are skipped."""
    if "\0" in text:
        raise UnreadableContent("not CSV: it contains a NUL")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=_detect_delimiter(text), strict=True)
    rows: list[list[str]] = []
    cells = 0
    try:
        columns = next(filter(None, lines), [])
        _check_header(columns)
        for row in filter(None, lines):
            cells += len(row)
            if len(row) != len(columns):
                problem = f"line {lines.line_num} has {len(row)} cells, and the header {len(columns)}"
                raise UnreadableContent(f"not CSV: {problem}")
            if cells > MAX_CELLS:
                raise UnreadableContent(f"too large to be parsed: it has more than {MAX_CELLS:,} cells")
            rows.append(row)
    except csv.Error as error:
        raise UnreadableContent(f"not CSV: line {lines.line_num}: {str(error)[:MAX_REASON_LENGTH]}") from None
    return CsvContent(columns, rows)


def _check_header(columns: Sequence[str]) -> None:
    if not any(columns):
        raise UnreadableContent("not CSV: it has no header")
    if len(columns) > MAX_COLUMNS:
        raise UnreadableContent(f"too large to be parsed: it has more than {MAX_COLUMNS:,} columns")
    doubled = next((name for name, times in Counter(columns).items() if times > 1), None)
    if doubled is not None:
        raise UnreadableContent(f"not valid CSV: its header has {doubled[:60]!r} twice")


def _detect_delimiter(text: str) -> str:
    """Return the delimiter that occurs most often in the header, outside quotes."""
    header = re.split(r"[\r\n]", text[:MAX_HEADER_LENGTH].lstrip("\r\n"), maxsplit=1)[0]
    unquoted = _QUOTED.sub("", header)
    return max(DELIMITERS, key=unquoted.count)
