"""Datasets of tables: JSON files of records, a policy, and the functions over them."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import Field, model_validator

from clerkship.kit.depth import MAX_DEPTH, is_deeper_than
from clerkship.model.dataset import Dataset, DatasetFile, Record
from clerkship.model.errors import InputProblem
from clerkship.model.freeze import freeze
from clerkship.model.frozen import Frozen
from clerkship.model.names import did_you_mean
from clerkship.model.task import Entity
from clerkship.simulators.tables.source import FILE, find_mistakes, list_function_names
from clerkship.simulators.tables.table_set import HIDDEN_FILE, NAMES_FILE, POLICY_FILE
from clerkship.suite_files.dataset_type import DatasetSource, DatasetType
from clerkship.suite_files.document import FileDocument, FileFormats, open_document
from clerkship.suite_files.entities import BadBinding, RecordFinder
from clerkship.suite_files.records import MAX_PROBLEMS
from clerkship.suite_files.source import Unreadable, read_text

TABLES = "tables"
_FORMATS = FileFormats("tables", (".json",))
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class TableFile(Frozen):
    """A file with the records of one table."""

    file: Annotated[str, Field(min_length=1, description="JSON file beside this one: a map of id to record, or a list")]
    key: Annotated[str, Field(min_length=1, description="in a list, the field of a record that is its id")] = "id"


class TablesDatasetFile(DatasetFile):
    """Tables of records, with functions over them."""

    type: Literal["tables"]
    tables: Annotated[
        dict[str, TableFile],
        Field(min_length=1, description="table -> JSON file, or {file, key}"),
    ]
    functions: Annotated[str, Field(description="Python file of the functions that agents call, beside this one")]
    not_for_agents: Annotated[
        tuple[str, ...],
        Field(description="functions that agents do not get: those of people, of steps and of criteria"),
    ] = ()
    policy: Annotated[str | None, Field(description="text file that agents may read, beside this one")] = None

    @model_validator(mode="before")
    @classmethod
    def _from_names(cls, value: Any) -> Any:
        tables = value.get("tables") if isinstance(value, dict) else None
        if not isinstance(tables, dict):
            return value
        wrong = next((name for name in tables if _NAME.fullmatch(str(name)) is None), None)
        if wrong is not None:
            raise ValueError(f"tables: {str(wrong)[:80]!r} is not the name of a table (letters, digits and `_`)")
        named = {name: {"file": file} if isinstance(file, str) else file for name, file in tables.items()}
        return {**value, "tables": named}


def load_tables(written: TablesDatasetFile, source: DatasetSource) -> Dataset | None:
    """Load the records of all tables, the functions and the policy; return None after a reported mistake."""
    rows = [_load_table(name, table, source) for name, table in written.tables.items()]
    functions = source.read("functions", written.functions, read_text)
    policy = source.read("policy", written.policy, read_text) if written.policy is not None else ""
    mistakes = list(find_mistakes(functions)) if functions is not None else []
    for mistake in mistakes:
        file = str(source.folder.resolve_beside(Path(source.locate("functions").file), written.functions))
        source.problem(InputProblem(file=file, line=mistake.line, column=1, message=mistake.message, hint=mistake.hint))
    known = list_function_names(functions or "")
    unknown = [] if mistakes else [name for name in written.not_for_agents if name not in known]
    for name in unknown:
        here = source.locate("not_for_agents", written.not_for_agents.index(name))
        source.problem(here.problem(f"there is no function `{name[:80]}`", did_you_mean(name, known)))
    if functions is None or policy is None or mistakes or unknown or any(records is None for records in rows):
        return None
    files = {FILE: functions.encode(), NAMES_FILE: orjson.dumps(list(written.tables))}
    files |= {HIDDEN_FILE: orjson.dumps(list(written.not_for_agents))} if written.not_for_agents else {}
    files |= {POLICY_FILE: policy.encode()} if written.policy is not None else {}
    records = tuple(record for table in rows for record in table or ())
    return Dataset(name=written.name, type=written.type, records=records, files=files)


def _load_table(name: str, table: TableFile, source: DatasetSource) -> list[Record] | None:
    """Return the records of one table, each with its table and id; None after a reported mistake."""
    try:
        file = source.folder.resolve_beside(Path(source.locate("tables").file), table.file)
        document = open_document(file, _FORMATS)
    except Unreadable as unreadable:
        source.problem(source.locate("tables", name).problem(f"{table.file}: {unreadable.message}", unreadable.hint))
        return None
    records: list[Record] = []
    problems: list[InputProblem] = []
    for item in _read_records(document, table.key):
        if isinstance(item, InputProblem):
            problems.append(item)
        else:
            records.append({"type": name, "id": item[0], "record": item[1]})
    for problem in problems[:MAX_PROBLEMS]:
        source.problem(problem)
    return None if problems else records


def _read_records(document: FileDocument, key: str) -> Iterator[tuple[str, Any] | InputProblem]:
    """Yield the id and the content of each record of a file, or a problem."""
    [(_, text)] = document.texts()
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        message = f"it is not JSON: {error.msg.partition(':')[0].strip() or 'unexpected end of text'}"
        yield InputProblem(file=document.file, line=error.lineno, column=error.colno, message=message)
        return
    if not isinstance(data, dict | list):
        yield document.problem(0, (), "expected a map of id to record, or a list of records")
        return
    seen: set[str] = set()
    for place, record in data.items() if isinstance(data, dict) else enumerate(data):
        if not isinstance(record, dict) or is_deeper_than(record, MAX_DEPTH):
            yield document.problem(0, (place,), f"expected a record: a map, at most {MAX_DEPTH} levels deep")
            continue
        id = place if isinstance(place, str) else record.get(key)
        if not isinstance(id, str) or not id:
            hint = "write the name of the field that is the id as `key` of the table"
            yield document.problem(0, (place,), f"the record has no text as `{key}`", hint if id is None else "")
        elif id in seen:
            yield document.problem(0, (place,), f"two records have the id {id[:80]!r}")
        else:
            seen.add(id)
            yield id, record


class TableFinder(RecordFinder):
    """Finds records of tables: `type` is the table, and `where` has paths in the record, or `id`."""

    def __init__(self, dataset: Dataset) -> None:
        rows = [(str(each["type"]), _add_id(each)) for each in dataset.records]
        super().__init__(Dataset(name=dataset.name, type=dataset.type, records=tuple(row for _, row in rows)))
        self._tables = [table for table, _ in rows]
        self._names: list[str] = orjson.loads(dataset.files.get(NAMES_FILE, b"[]"))

    def find(self, query: Entity, now: datetime) -> Sequence[Record]:
        """Return all records of the table that match."""
        if query.type is None or query.type not in self._names:
            known = ", ".join(self._names)
            raise BadBinding(f"`{query.id}`: expected the name of a table as `type`: {known}")
        own = {id(record) for record, table in zip(self._records, self._tables, strict=True) if table == query.type}
        matches = super().find(query.model_copy(update={"type": None}), now)
        return [record for record in matches if id(record) in own]


def _add_id(row: Record) -> Record:
    record = row["record"]
    assert isinstance(record, dict)
    named: Record = freeze({"id": row["id"], **record})
    return named


TABLES_DATASET = DatasetType(
    name=TABLES,
    summary="tables of records, with functions over them",
    model=TablesDatasetFile,
    load=load_tables,
    finder=TableFinder,
    has_code=True,
)
