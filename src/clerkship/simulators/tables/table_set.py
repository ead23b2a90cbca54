"""The tables, functions and policy that all playgrounds of an environment share."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import orjson

from clerkship.model.dataset import Dataset
from clerkship.simulators.tables.functions import TableFunction, load_functions
from clerkship.simulators.tables.source import FILE, list_function_names

POLICY_FILE, NAMES_FILE, HIDDEN_FILE = "policy.md", "tables.json", "not_for_agents.json"
"""The files of a dataset besides its functions: the policy, the names of its tables, and the functions that agents do
not get."""


def build_key(table: str, id: str) -> str:
    """Return the key of a record. The name of a table has no slash."""
    return f"{table}/{id}"


class TableSet(dict[str, Any]):
    """The records of a dataset by key, with its tables, functions and policy."""

    def __init__(
        self,
        records: Iterable[tuple[str, str, Mapping[str, Any]]] = (),
        names: Iterable[str] = (),
        source: str = "",
        policy: str | None = None,
        hidden: Iterable[str] = (),
    ) -> None:
        super().__init__()
        self.source, self.policy, self._hidden = source, policy, frozenset(hidden)
        self._ids: dict[str, dict[str, None]] = {name: {} for name in names}
        for table, id, record in records:
            self._ids.setdefault(table, {})[id] = None
            self[build_key(table, id)] = record

    @property
    def names(self) -> Sequence[str]:
        """The names of the tables."""
        return tuple(self._ids)

    @property
    def function_names(self) -> Sequence[str]:
        """The names of the functions, read without executing their code."""
        return list_function_names(self.source)

    @property
    def agent_function_names(self) -> Sequence[str]:
        """The names of the functions that agents get."""
        return [name for name in self.function_names if name not in self._hidden]

    @cached_property
    def functions(self) -> Mapping[str, TableFunction]:
        """The functions by name. Their code is executed when they are first needed."""
        return load_functions(self.source) if self.source else {}

    @property
    def agent_functions(self) -> Sequence[TableFunction]:
        """The functions that agents get."""
        return [function for name, function in self.functions.items() if name not in self._hidden]

    def ids(self, table: str) -> Iterable[str]:
        """Return the ids of the records of a table, in order."""
        return self._ids.get(table, {})


def merge_tables(datasets: Sequence[Dataset]) -> TableSet:
    """Return the tables of all datasets. Of two records, functions or policies of one name, the later one counts."""
    records = [(str(each["type"]), str(each["id"]), each["record"]) for dataset in datasets for each in dataset.records]
    names = [name for dataset in datasets for name in orjson.loads(dataset.files.get(NAMES_FILE, b"[]"))]
    files = {path: data.decode() for dataset in datasets for path, data in dataset.files.items()}
    hidden = [name for dataset in datasets for name in orjson.loads(dataset.files.get(HIDDEN_FILE, b"[]"))]
    return TableSet(records, names, files.get(FILE, ""), files.get(POLICY_FILE), hidden)  # type: ignore[arg-type]
