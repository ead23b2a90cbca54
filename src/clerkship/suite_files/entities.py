"""Bind the records that a task is about: one for each of its entities, and one for each task that `for_each` makes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from clerkship.model.dataset import Dataset, Record, RecordView
from clerkship.model.names import did_you_mean
from clerkship.model.task import Entity, ForEach
from clerkship.suite_files.definition import Definition, as_map
from clerkship.suite_files.definitions import FolderDefinitions
from clerkship.suite_files.entity_finder import BadBinding, DatasetFinder, build_record_name
from clerkship.suite_files.template_filler import TemplateFiller
from clerkship.suite_files.yaml import KeyPath

E = TypeVar("E", bound=Entity)
NOW_NAME = "now"
FOR_EACH_KEY = "for_each"


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
