"""What a file says, once it is read as JSON, CSV or HL7: values by path. What cannot be read so says why."""

import codecs
import csv
import io
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import orjson

from clerkship.assertions.contract import compare_value
from clerkship.assertions.field_rows import compare_texts
from clerkship.assertions.text_value import matches_texts
from clerkship.hl7.batch import split_messages
from clerkship.hl7.message import BadMessage, Hl7Message, parse_message
from clerkship.hl7.path import parse_path
from clerkship.hl7.validation import validate_message
from clerkship.model.path import MISSING
from clerkship.model.path import lookup as lookup_json
from clerkship.model.run import FieldCheck

Form = Literal["json", "csv", "hl7", "text"]
MAX_READ = 20_000_000
"""Bytes of a file that is looked into; a larger one is not read."""
MAX_COLUMNS = 10_000
MAX_CELLS = 2_000_000
MAX_LINES = 500_000
DELIMITERS = ",;\t|"
ENCODINGS = ("utf-8", "utf-16", "utf-32", "ascii", "iso8859", "cp", "mac", "shift_jis", "euc", "gb", "big5", "koi8")
"""How the names of those begin that files are written in; Python knows others, which are none."""
MAX_HEADER_LENGTH = 100_000
MAX_REASON_LENGTH = 200
_QUOTED = re.compile(r'"(?:[^"]|"")*"?')
_CELL = re.compile(r"(?:rows)?\[(\d{1,7}|\*)\]\.(.+)|(?:rows\.)?(\d{1,7}|\*)\.(.+)", re.DOTALL)
_COLUMN = re.compile(r"columns(?:\[(\d{1,5})\]|\.(\d{1,5}))?")


class Unfit(Exception):
    """A file that is not what it should be; it says why, in words that go on after `it is`."""


class Content(ABC):
    """What a file says."""

    @abstractmethod
    def compare(self, path: str, expected: Any) -> FieldCheck:
        """One expectation beside what is there."""

    def flaws(self) -> Sequence[str]:
        """What the standard it is written by has against it."""
        return ()


class Json(Content):
    """Plain data."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def compare(self, path: str, expected: Any) -> FieldCheck:
        """By a dotted path."""
        return compare_value(path, expected, lookup_json(self._data, path))


class Table(Content):
    """Rows under a header; every cell is text."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.columns, self.rows = columns, rows
        self._places = {name: place for place, name in enumerate(columns)}

    def compare(self, path: str, expected: Any) -> FieldCheck:
        """`rows[0].mrn`, `[*].mrn`, `columns`, or `rows` for how many there are."""
        if path == "rows":
            return compare_value(path, expected, len(self.rows))
        header = _COLUMN.fullmatch(path)
        if header is not None:
            number = header[1] or header[2]
            return compare_value(
                path, expected, lookup_json(list(self.columns), number) if number else list(self.columns)
            )
        row, column = cell_at(path)
        if column not in self._places:
            return compare_value(path, expected, MISSING)
        found = self.rows if row == "*" else self.rows[int(row) : int(row) + 1]
        values = [cells[self._places[column]] for cells in found]
        return compare_texts(path, expected, values) if values else compare_value(path, expected, MISSING)

    def nearest_row(self, wanted: Mapping[str, Any]) -> list[FieldCheck]:
        """The row in which most of it is as wanted, cell by cell; of several the first."""
        known = [(self._places[name], expected) for name, expected in wanted.items() if name in self._places]
        best, most = 0, -1
        for number, cells in enumerate(self.rows):
            good = sum(matches_texts(expected, [cells[place]]) for place, expected in known)
            if good > most:
                best, most = number, good
            if good == len(wanted):
                break
        return [self.compare(f"rows[{best}].{name}", expected) for name, expected in wanted.items()]


class OneMessage(Content):
    """An HL7 message."""

    def __init__(self, message: Hl7Message) -> None:
        self._message = message

    def compare(self, path: str, expected: Any) -> FieldCheck:
        """`PID.5.1`; with a `[*]`, whether any is as expected."""
        return compare_texts(path, expected, [value for value in self._message.values(path) if value])

    def flaws(self) -> Sequence[str]:
        """What HL7 v2 has against it."""
        return [flaw.text for flaw in validate_message(self._message)]


def cell_at(path: str) -> tuple[str, str]:
    """The row and the column of a path in a table; raises ValueError where it is none."""
    found = _CELL.fullmatch(path)
    if found is None:
        raise ValueError(f"`{path[:60]}` is no path in CSV; write rows[0].NAME, [*].NAME, columns or rows")
    return found[1] or found[3], found[2] or found[4]


def check_path(form: Form, path: str) -> None:
    """Whether it can be a path in such a file; raises ValueError."""
    if form == "hl7":
        parse_path(path)
    elif form == "csv" and path != "rows" and _COLUMN.fullmatch(path) is None:
        cell_at(path)
    elif form == "text":
        raise ValueError("`fields` are for `parse: json`, `csv` or `hl7`; text has `text`")


def check_encoding(name: str | None) -> str | None:
    """Whether it is one that files are written in; raises ValueError."""
    try:
        known = name is None or codecs.lookup(name).name.startswith(ENCODINGS)
    except (LookupError, ValueError):
        known = False
    if not known:
        raise ValueError(f"unknown encoding {name!r}; write utf-8, latin-1, cp1252, utf-16 or the like")
    return name


def decode(data: bytes, encoding: str | None, errors: str = "strict") -> str:
    """As text, without a byte order mark; UTF-8 unless another encoding is said, or the mark says UTF-16."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode(encoding or ("utf-16" if wide else "utf-8-sig"), errors).removeprefix("\ufeff")


def read(form: Form, data: bytes, encoding: str | None = None) -> list[Content]:
    """What it says; of HL7 each message by itself. Raises Unfit."""
    if len(data) > MAX_READ:
        raise Unfit(f"too large to be looked into: {len(data):,} bytes, and {MAX_READ:,} are read")
    if form == "hl7":
        return _read_hl7(data)
    try:
        text = decode(data, encoding)
    except UnicodeError:
        raise Unfit(f"not {encoding or 'UTF-8'} text") from None
    return [_read_json(text) if form == "json" else _read_csv(text)] if form != "text" else []


def _read_json(text: str) -> Json:
    try:
        data = orjson.loads(text)
        orjson.dumps(data)  # which takes less nesting than it reads: so whatever is shown of it can be
    except orjson.JSONDecodeError as error:
        raise Unfit("not JSON" if text.strip() else "not JSON but empty") from error
    except orjson.JSONEncodeError:
        raise Unfit("JSON that is nested too deep to be looked into") from None
    return Json(data)


def _read_csv(text: str) -> Table:
    """A header, and rows of as many cells; strictly quoted, blank lines passed over."""
    if "\0" in text:
        raise Unfit("not CSV: it has a NUL in it")
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    rows: list[list[str]] = []
    cells = 0
    try:
        columns = next(filter(None, lines), [])
        _check_header(columns)
        for row in filter(None, lines):
            cells += len(row)
            if len(row) != len(columns):
                told = f"line {lines.line_num} has {len(row)} cells, and the header {len(columns)}"
                raise Unfit(f"not CSV: {told}")
            if cells > MAX_CELLS:
                raise Unfit(f"too large to be looked into: it has more than {MAX_CELLS:,} cells")
            rows.append(row)
    except csv.Error as error:
        raise Unfit(f"not CSV: line {lines.line_num}: {str(error)[:MAX_REASON_LENGTH]}") from None
    return Table(columns, rows)


def _check_header(columns: Sequence[str]) -> None:
    if not any(columns):
        raise Unfit("not CSV: it has no header")
    if len(columns) > MAX_COLUMNS:
        raise Unfit(f"too large to be looked into: it has more than {MAX_COLUMNS:,} columns")
    doubled = next((name for name, times in Counter(columns).items() if times > 1), None)
    if doubled is not None:
        raise Unfit(f"not CSV that can be looked into: its header has {doubled[:60]!r} twice")


def _delimiter(text: str) -> str:
    """Of comma, semicolon, tab and bar the one that the header has most of, outside of quotes."""
    header = re.split(r"[\r\n]", text[:MAX_HEADER_LENGTH].lstrip("\r\n"), maxsplit=1)[0]
    bare = _QUOTED.sub("", header)
    return max(DELIMITERS, key=bare.count)


def _read_hl7(data: bytes) -> list[Content]:
    if data.count(b"\r") + data.count(b"\n") > MAX_LINES:
        raise Unfit(f"too large to be looked into: it has more than {MAX_LINES:,} lines")
    messages = split_messages(data).messages
    if not messages:
        raise Unfit("not HL7: no message begins in it with MSH")
    try:
        return [OneMessage(parse_message(message)) for message in messages]
    except BadMessage as bad:
        raise Unfit(f"not HL7: {str(bad)[:MAX_REASON_LENGTH]}") from None
