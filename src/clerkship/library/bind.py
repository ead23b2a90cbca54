"""Entities to records, and their values into templates."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from clerkship.library.template import BadTemplate, render
from clerkship.model.dataset import Dataset, Record
from clerkship.model.matcher import describe, holds
from clerkship.model.path import lookup
from clerkship.model.pattern import PatternTooSlow
from clerkship.model.task import Entity

MOST_WRITTEN = 10_000_000
Path = list[int | str]


class BadBinding(Exception):
    """A query that finds no record, or more than one."""


def bind(entity: Entity, dataset: Dataset) -> Record:
    """The one record an entity means."""
    try:
        found = [record for record in dataset.records if _fits(entity, record)]
    except PatternTooSlow as slow:
        raise BadBinding(f"`{entity.id}`: {slow}") from None
    if len(found) == 1:
        return found[0]
    asked = ", ".join(f"{path} {describe(expected)}" for path, expected in entity.where.items())
    query = f"{entity.type or 'record'}{f' with {asked}' if asked else ''}"
    if not found:
        there = f"it has {len(dataset.records)} records" if dataset.type == "records" else "it holds files, not records"
        raise BadBinding(f"`{entity.id}` finds no {query} in {dataset.name}; {there}")
    names = ", ".join(str(record.get("id") or record)[:40] for record in found[:5])
    more = ", …" if len(found) > 5 else ""
    raise BadBinding(
        f"`{entity.id}` must find one record, but {len(found)} of {dataset.name} fit {query}: {names}{more}"
    )


def _fits(entity: Entity, record: Record) -> bool:
    return entity.type in (None, record.get("type"), record.get("resourceType")) and all(
        holds(expected, lookup(record, path)) for path, expected in entity.where.items()
    )


@dataclass
class Filler:
    """Fills the templates of one task; each bad one is reported at its place, or passed over."""

    values: Mapping[str, Any]
    unbound: Collection[str]
    """Names whose own mistake has been reported: what uses them is passed over."""
    complain: Callable[[Path, str, str], None]
    pass_over: Callable[[Path], None]
    room: int = MOST_WRITTEN

    def fill(self, data: Any, path: Path) -> Any:
        """The same data with every template filled in."""
        if isinstance(data, str):
            return self._fill_text(data, path) if "{{" in data or "{%" in data else data
        if isinstance(data, dict):
            return {key: self.fill(value, [*path, key]) for key, value in data.items()}
        if isinstance(data, list):
            return [self.fill(value, [*path, number]) for number, value in enumerate(data)]
        return data

    def _fill_text(self, text: str, path: Path) -> Any:
        if self.room < 0:
            self.pass_over(path)
            return text
        try:
            value = render(text, self.values)
        except BadTemplate as bad:
            if bad.unknown and bad.unknown in self.unbound:
                self.pass_over(path)
            else:
                self.complain(path, bad.message, bad.hint)
            return text
        self.room -= len(orjson.dumps(value))
        if self.room < 0:
            self.complain(path, f"the task's templates write more than {MOST_WRITTEN:,} characters in all", "")
        return value
