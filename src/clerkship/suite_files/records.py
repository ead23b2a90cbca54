"""Datasets of plain records, in the YAML file itself or in JSON, NDJSON and CSV files."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field

from clerkship.model.dataset import Dataset, DatasetFile, Record
from clerkship.model.errors import InputProblem
from clerkship.suite_files.dataset_type import DatasetSource, DatasetType
from clerkship.suite_files.document import SUFFIXES, FileDocument, FileFormats
from clerkship.suite_files.source import MAX_DATASET_BYTES

CSV = ".csv"
RECORD_FORMATS = FileFormats("data", (*SUFFIXES, CSV))
MAX_PROBLEMS = 100
"""Maximum number of mistakes that are reported for one file."""
_UTF8_HINT = "save it as UTF-8"


class RecordsDatasetFile(DatasetFile):
    """Plain records, which tasks bind as entities."""

    type: Literal["records"]
    records: Annotated[tuple[Record, ...], Field(description="records in this file")] = ()
    file: Annotated[str | None, Field(description="a file beside this one: JSON, NDJSON, or CSV with a header row")] = (
        None
    )
    folder: Annotated[str | None, Field(description="a folder of such files beside this one, in order of name")] = None


def load_records(written: RecordsDatasetFile, source: DatasetSource) -> Dataset | None:
    """Load the records in the YAML file, then those of `file`, then those of `folder`."""
    documents = _open_documents(written, source)
    readers = [_DocumentReader(document) for document in documents or ()]
    records = [*written.records, *(record for reader in readers for record in reader.records())]
    problems = [problem for reader in readers for problem in reader.problems]
    for problem in problems:
        source.problem(problem)
    if documents is None or problems:
        return None
    return Dataset(name=written.name, type=written.type, records=tuple(records))


def _open_documents(written: RecordsDatasetFile, source: DatasetSource) -> list[FileDocument] | None:
    """Open the files that a dataset gives; return None after a reported mistake."""
    documents = source.documents(written.file, written.folder, RECORD_FORMATS)
    if sum(document.size for document in documents or ()) > MAX_DATASET_BYTES:
        key = "folder" if written.folder is not None else "file"
        source.note(key, f"the files have more than {MAX_DATASET_BYTES // 1_000_000} MB", "split the dataset")
        return None
    return documents


class _DocumentReader:
    """Reads the records of one file, and collects the problems in it."""

    def __init__(self, document: FileDocument) -> None:
        self._document = document
        self.problems: list[InputProblem] = []

    def records(self) -> Iterator[Record]:
        """Yield the records in the order of the file."""
        if self._document.name.removesuffix(".gz").endswith(CSV):
            yield from self._read_csv()
            return
        for line, text in self._document.texts():
            yield from self._read_json(line, text)

    def _read_json(self, line: int, text: bytes) -> Iterator[Record]:
        try:
            data = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            message = f"it is not JSON: {error.msg.partition(':')[0].strip() or 'unexpected end of text'}"
            problem = self._document.problem(line or error.lineno, (), message)
            self._add(replace(problem, column=error.colno))
            return
        is_list = isinstance(data, list) and not line
        for number, item in enumerate(data if is_list else [data]):
            if isinstance(item, dict):
                yield item
            else:
                expected = "expected a map" if line or is_list else "expected a list of maps, or one map"
                self._note(line, (number,) if is_list else (), f"{expected}, not {_describe_type(item)}")

    def _read_csv(self) -> Iterator[Record]:
        """Yield the rows after the header; all values are text."""
        try:
            text = "".join(text.decode("utf-8") for _, text in self._document.texts())
        except UnicodeDecodeError:
            self._note(1, (), "it is not UTF-8 text", _UTF8_HINT)
            return
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            header = next(rows, [])
            if self._is_header(header):
                yield from self._read_rows(header, rows)
        except csv.Error as error:
            self._note(rows.line_num, (), f"it is not CSV: {error}")

    def _is_header(self, header: list[str]) -> bool:
        repeated = sorted({name for name in header if header.count(name) > 1})
        if not header or not all(header):
            self._note(
                1,
                (),
                "the header row must have a name for every column",
                "write the names of the fields into the first row",
            )
        elif repeated:
            self._note(1, (), f"two columns have the name `{repeated[0][:60]}`", "rename one of them")
        return bool(header) and all(header) and not repeated

    def _read_rows(self, header: list[str], rows: Any) -> Iterator[Record]:
        for row in rows:
            if len(row) == len(header):
                yield dict(zip(header, row, strict=True))
            elif row:
                self._note(rows.line_num, (), f"expected {len(header)} values as in the header row, not {len(row)}")

    def _note(self, line: int, path: tuple[int | str, ...], message: str, hint: str = "") -> None:
        problem = self._document.problem(line, path, message, hint)
        self._add(replace(problem, column=problem.column or 1))

    def _add(self, problem: InputProblem) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


def _describe_type(value: object) -> str:
    names = {list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


RECORDS_DATASET = DatasetType(name="records", summary="plain records", model=RecordsDatasetFile, load=load_records)
