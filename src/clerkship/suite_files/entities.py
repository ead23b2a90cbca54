"""Bind the records that a task is about: one for each of its entities, and one for each task that `for_each` makes."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from pydantic import ValidationError

from clerkship.model.dataset import Dataset, Record, RecordView
from clerkship.model.matcher import describe_expected, is_matcher, matches_expected
from clerkship.model.names import did_you_mean
from clerkship.model.path import lookup
from clerkship.model.pattern import PatternTooSlow
from clerkship.model.task import Entity, ForEach
from clerkship.suite_files.definition import Definition, as_map
from clerkship.suite_files.definitions import FolderDefinitions
from clerkship.suite_files.template_filler import TemplateFiller
from clerkship.suite_files.yaml import KeyPath

K = TypeVar("K", bound=Hashable)
_MAX_SHOWN = 5
E = TypeVar("E", bound=Entity)
NOW_NAME = "now"
FOR_EACH_KEY = "for_each"


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


class ForEachRecord(NamedTuple):
    """One record that `for_each` selected."""

    name: str
    record: Record


@dataclass(frozen=True)
class TaskBindings:
    """The values that a task's templates can refer to."""

    now: datetime
    records: dict[str, Record] = field(default_factory=dict)
    unbound: set[str] = field(default_factory=set)
    """Ids of entities without a record. Their mistakes are already reported."""
    entities: list[Any] = field(default_factory=list)
    """The entities as in the file, with their templates filled."""
    name: str = ""
    """Name of the record of `for_each`."""
    subject: Entity | None = None
    """The record of `for_each`, as an entity."""

    def values(self) -> dict[str, Any]:
        """Return the value of each name in templates."""
        return {**self.records, NOW_NAME: self.now.isoformat()}

    def to_snapshot_records(self) -> dict[str, Record]:
        """Return the records as plain data, for the snapshot."""
        return {
            id: record.plain(record) if isinstance(record, RecordView) else record
            for id, record in self.records.items()
        }


@dataclass
class EntityBinder:
    """Finds the records of tasks."""

    datasets: Mapping[str, Dataset]
    definitions: FolderDefinitions
    filler: Callable[[Definition, Mapping[str, Any], set[str]], TemplateFiller]
    finder: DatasetFinder

    def bind(self, definition: Definition, now: datetime) -> Iterator[TaskBindings]:
        """Yield the bindings of each task of a definition: of one task, or of one for each record that `for_each`
        selects.
        """
        written = definition.fields.get(FOR_EACH_KEY)
        if written is None:
            yield self._bind(definition, TaskBindings(now))
            return
        query = self._read(definition, ForEach, written, [FOR_EACH_KEY], TaskBindings(now))
        subjects = self._subjects(definition, query, now) if query is not None else []
        if query is None or not subjects:
            yield self._bind(definition, TaskBindings(now, unbound=_find_names(written)))
            return
        for subject in subjects:
            yield self._bind(definition, _bind_record(query, subject, now))

    def _subjects(self, definition: Definition, query: ForEach, now: datetime) -> list[ForEachRecord]:
        if query.id == NOW_NAME:
            definition.problem([FOR_EACH_KEY, "id"], f"the id `{NOW_NAME}` is reserved for the current time")
            return []
        dataset = self._dataset(definition, query, [FOR_EACH_KEY])
        if dataset is None:
            return []
        try:
            records = self.finder.find_all(query, dataset, now)
        except BadBinding as bad:
            definition.problem([FOR_EACH_KEY], str(bad))
            return []
        return [ForEachRecord(build_record_name(record, number), record) for number, record in enumerate(records)]

    def _bind(self, definition: Definition, bound: TaskBindings) -> TaskBindings:
        """Add the records of the task's own entities. Each may refer to those before it."""
        written = definition.fields.get("entities")
        for number, item in enumerate(written if isinstance(written, list) else ()):
            path: KeyPath = ["entities", number]
            entity = self._read(definition, Entity, item, path, bound)
            bound.entities.append(item if entity is None else entity.model_dump(exclude_unset=True))
            if entity is None:
                bound.unbound.update(_find_names(item))
                continue
            if entity.id in bound.records or entity.id in bound.unbound or entity.id == NOW_NAME:
                definition.problem([*path, "id"], f"the id `{entity.id}` is already used")
            elif (record := self._find(definition, entity, path, bound)) is not None:
                bound.records[entity.id] = record
            else:
                bound.unbound.add(entity.id)
        return bound

    def _read(self, definition: Definition, model: type[E], item: Any, path: KeyPath, bound: TaskBindings) -> E | None:
        """Return a query with its templates filled; None if it is invalid, which is reported when the task is read."""
        if isinstance(item, dict) and isinstance(item.get("where"), dict):
            filler = replace(self.filler(definition, bound.values(), bound.unbound), escapes=False)
            item = {**item, "where": filler.fill(item["where"], [*definition.path, *path, "where"])}
            if filler.failed:
                return None
        try:
            return model.model_validate(item)
        except ValidationError:
            return None

    def _find(self, definition: Definition, entity: Entity, path: KeyPath, bound: TaskBindings) -> Record | None:
        dataset = self._dataset(definition, entity, path)
        if dataset is None:
            return None
        try:
            return self.finder.find_one(entity, dataset, bound.now)
        except BadBinding as bad:
            definition.problem(path, f"for {bound.name}, {bad}" if bound.name else str(bad))
            return None

    def _dataset(self, definition: Definition, query: Entity, path: KeyPath) -> Dataset | None:
        if self.definitions.is_unknown("dataset", query.dataset):
            hint = did_you_mean(query.dataset, self.definitions.names("dataset"))
            definition.problem([*path, "dataset"], f"unknown dataset `{query.dataset}`", hint)
        return self.datasets.get(query.dataset)


def _bind_record(query: ForEach, subject: ForEachRecord, now: datetime) -> TaskBindings:
    where = {"id": subject.record["id"]} if "id" in subject.record else dict(query.where)
    entity = Entity(id=query.id, dataset=query.dataset, type=query.type, where=where)
    return TaskBindings(now, {query.id: subject.record}, name=subject.name, subject=entity)


def _find_names(written: Any) -> set[str]:
    """Return the names that invalid entities may define: the `id`, or without one, every text of its other keys."""
    entity = as_map(written)
    names = [entity["id"]] if "id" in entity else entity.values()
    return {name for name in names if isinstance(name, str)}
