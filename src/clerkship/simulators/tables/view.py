"""The tables as functions see them: plain dicts that are copied when they are read, so that a call can be undone."""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, NamedTuple, NoReturn

import orjson

from clerkship.kit.depth import MAX_DEPTH, is_deeper_than
from clerkship.model.path import MISSING

_STRICT = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS
Record = dict[str, Any]


class NotJson(TypeError):
    """A value that a function returned or stored is not JSON."""


class UnknownTable(KeyError):
    """A function used a table that the dataset does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class NoSuchRecord(KeyError, ValueError):
    """A function read a record that does not exist. If the function does not catch it, the call is refused."""

    def __str__(self) -> str:
        return str(self.args[0])


def copy_json(value: Any) -> Any:
    """Return a plain copy of JSON data, which is faster than a deep copy."""
    return orjson.loads(orjson.dumps(value))


def to_json(value: Any, what: str) -> bytes:
    """Write a value of a function as JSON; raise NotJson."""
    if is_deeper_than(value):
        raise NotJson(f"{what} is nested more than {MAX_DEPTH} levels deep")
    try:
        return orjson.dumps(value, option=_STRICT)
    except TypeError as error:
        raise NotJson(f"{what} is not JSON: {error}") from None


class TableSource(NamedTuple):
    """Where a table is read from."""

    name: str
    list_ids: Callable[[], Iterable[str]]
    read: Callable[[str], Any]
    """Returns a record, or MISSING."""


class RecordTable(MutableMapping[str, Record]):
    """One table: a map of id to record. A record may be changed in place."""

    def __init__(self, source: TableSource) -> None:
        self._source = source
        self._own: dict[str, Any] = {}
        """Records that were read or stored; MISSING for a deleted one."""

    def __getitem__(self, id: str) -> Record:
        if id not in self._own:
            stored = self._source.read(id) if isinstance(id, str) else MISSING
            if stored is MISSING:
                self._refuse(id)
            self._own[id] = copy_json(stored)
        elif self._own[id] is MISSING:
            self._refuse(id)
        record: Record = self._own[id]
        return record

    def _refuse(self, id: object) -> NoReturn:
        raise NoSuchRecord(f"there is no record {str(id)[:80]!r} in {self._source.name}")

    def __setitem__(self, id: str, record: Record) -> None:
        if not isinstance(id, str) or not id:
            raise NotJson(f"{self._source.name}: the id {id!r} is not a text")
        if not isinstance(record, dict):
            raise NotJson(f"{self._source.name}: the record {id!r} is not a dict")
        self._own[id] = record

    def __delitem__(self, id: str) -> None:
        if id not in self:
            self._refuse(id)
        self._own[id] = MISSING

    def __contains__(self, id: object) -> bool:
        if id in self._own:
            return self._own[id] is not MISSING
        return isinstance(id, str) and self._source.read(id) is not MISSING

    def __iter__(self) -> Iterator[str]:
        stored = list(self._source.list_ids())
        known = set(stored)
        created = [id for id in self._own if id not in known]
        return iter([id for id in (*stored, *created) if self._own.get(id, {}) is not MISSING])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def list_changes(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield the id of each record that differs, with the stored record and the new one; MISSING for none."""
        for id, after in self._own.items():
            before = self._source.read(id)
            if after is MISSING:
                if before is not MISSING:
                    yield id, before, MISSING
                continue
            written = orjson.loads(to_json(after, f"{self._source.name}: the record {id!r}"))
            if before is MISSING or written != before:
                yield id, before, written


class Tables(Mapping[str, RecordTable]):
    """All tables of a sandbox during one call."""

    def __init__(self, sources: Iterable[TableSource]) -> None:
        self._tables = {source.name: RecordTable(source) for source in sources}

    def __getitem__(self, name: str) -> RecordTable:
        if name not in self._tables:
            raise UnknownTable(f"there is no table {name!r} (tables: {', '.join(self._tables) or 'none'})")
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)
