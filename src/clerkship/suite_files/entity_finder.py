"""Find records of a dataset by query."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from clerkship.model.dataset import Dataset, Record
from clerkship.model.matcher import describe_expected, is_matcher, matches_expected
from clerkship.model.path import lookup
from clerkship.model.pattern import PatternTooSlow
from clerkship.model.task import Entity, ForEach

K = TypeVar("K", bound=Hashable)
_MAX_SHOWN = 5


class BadBinding(Exception):
    """The query is invalid, or does not match exactly one record."""


class EntityFinder(Protocol):
    """Finds the records of one dataset. It is created once for each dataset of a folder, so it may cache indexes."""

    def find(self, query: Entity, now: datetime) -> Sequence[Record]:
        """Return all records that match, in the order of the dataset.

        Raise BadBinding for a `type` or `where` that cannot match any record of this type of dataset. A date without
        a zone in `where` is a day in the zone of `now`.
        """

    def summary(self, query: Entity) -> str:
        """Describe what the dataset has, for a query without matches: `it has 3 records`."""

    def title(self, record: Record) -> str:
        """Return the name of a record in messages."""

    def view(self, record: Record, now: datetime) -> Record:
        """Return the record as templates read it: itself, or a RecordView."""


class PathIndex(Generic[K]):
    """An index of the values at one path of many records. Literals are looked up; matchers are tried on each value."""

    def __init__(self, pairs: Iterable[tuple[K, Sequence[Any]]], fit: Callable[[Any, Sequence[Any]], bool]) -> None:
        self._values = dict(pairs)
        self._fit = fit
        self._keys: dict[Hashable, list[K]] = {}
        for key, values in self._values.items():
            for value in dict.fromkeys(map(_to_lookup_key, values)):
                self._keys.setdefault(value, []).append(key)

    @property
    def is_empty(self) -> bool:
        """Whether no record has a value at the path."""
        return not self._keys

    def find_matches(self, expected: Any) -> Sequence[K]:
        """Return the keys of the records that match."""
        lookup_key = _to_lookup_key(expected)
        if lookup_key is not None and not is_matcher(expected):
            return self._keys.get(lookup_key, ())
        return [key for key, values in self._values.items() if self._fit(expected, values)]


def _to_lookup_key(value: Any) -> Hashable:
    """Return a key that is equal for literals that are equal as JSON; None for other values."""
    if isinstance(value, bool):
        return ("flag", value)
    if isinstance(value, int | float):
        return ("number", float(value)) if abs(value) < 2**53 else None
    return ("text", value) if isinstance(value, str) else None


class RecordFinder:
    """Finds plain records, by dotted paths with literals and matchers."""

    def __init__(self, dataset: Dataset) -> None:
        self._records = dataset.records
        self._indexes: dict[str, PathIndex[int]] = {}

    def find(self, query: Entity, now: datetime) -> Sequence[Record]:
        """Return all records that match."""
        numbers = set(range(len(self._records)))
        for path, expected in query.where.items():
            numbers &= set(self._index(path).find_matches(expected))
        records = [self._records[number] for number in sorted(numbers)]
        return [r for r in records if query.type in (None, r.get("type"), r.get("resourceType"))]

    def _index(self, path: str) -> PathIndex[int]:
        if path not in self._indexes:
            pairs = ((number, (lookup(record, path),)) for number, record in enumerate(self._records))
            self._indexes[path] = PathIndex(pairs, lambda expected, values: matches_expected(expected, values[0]))
        return self._indexes[path]

    def summary(self, query: Entity) -> str:
        """Return the number of records, in words."""
        return f"it has {len(self._records)} records"

    def title(self, record: Record) -> str:
        """Return the record's id, or the beginning of the record."""
        return str(record.get("id") or record)[:40]

    def view(self, record: Record, now: datetime) -> Record:
        """Return the record itself."""
        return record


class NoRecordFinder(RecordFinder):
    """The finder for a dataset that holds files and no records."""

    def __init__(self, dataset: Dataset) -> None:
        super().__init__(dataset)
        self._name = dataset.name

    def find(self, query: Entity, now: datetime) -> Sequence[Record]:
        """Raise BadBinding."""
        raise BadBinding(
            f"`{query.id}` matches no {describe_query(query)} in {self._name}; it holds files, not records"
        )


class DatasetFinder:
    """Finds records in the datasets of one folder, with one finder for each dataset."""

    def __init__(self, open_finder: Callable[[Dataset], EntityFinder]) -> None:
        self._open_finder = open_finder
        self._finders: dict[str, EntityFinder] = {}

    def find_all(self, query: ForEach, dataset: Dataset, now: datetime) -> list[Record]:
        """Return the matching records, up to the limit, as templates read them. Raise BadBinding if there are none."""
        finder = self._finder(dataset)
        records = self._find(finder, query, now)
        if not records:
            raise _build_no_match_error(query, dataset, finder)
        return [finder.view(record, now) for record in records[: query.limit]]

    def find_one(self, query: Entity, dataset: Dataset, now: datetime) -> Record:
        """Return the only matching record. Raise BadBinding if there is none, or more than one."""
        finder = self._finder(dataset)
        records = self._find(finder, query, now)
        if len(records) == 1:
            return finder.view(records[0], now)
        if not records:
            raise _build_no_match_error(query, dataset, finder)
        names = ", ".join(map(finder.title, records[:_MAX_SHOWN]))
        more = ", …" if len(records) > _MAX_SHOWN else ""
        count = f"{len(records):,} of {dataset.name} match {describe_query(query)}"
        raise BadBinding(f"`{query.id}` must match one record, but {count}: {names}{more}")

    def _finder(self, dataset: Dataset) -> EntityFinder:
        if dataset.name not in self._finders:
            self._finders[dataset.name] = self._open_finder(dataset)
        return self._finders[dataset.name]

    def _find(self, finder: EntityFinder, query: Entity, now: datetime) -> Sequence[Record]:
        try:
            return finder.find(query, now)
        except PatternTooSlow as slow:
            raise BadBinding(f"`{query.id}`: {slow}") from None


def _build_no_match_error(query: Entity, dataset: Dataset, finder: EntityFinder) -> BadBinding:
    return BadBinding(f"`{query.id}` matches no {describe_query(query)} in {dataset.name}; {finder.summary(query)}")


def describe_query(query: Entity) -> str:
    """Return a query in words."""
    conditions = ", ".join(f"{path} {describe_expected(expected)}" for path, expected in query.where.items())
    return f"{query.type or 'record'}{f' with {conditions}' if conditions else ''}"


def build_record_name(record: Record, number: int) -> str:
    """Return the name of a record for the name of the task that is made for it."""
    name = record.get("id")
    return name if isinstance(name, str) and name else str(name) if isinstance(name, int) else str(number + 1)
