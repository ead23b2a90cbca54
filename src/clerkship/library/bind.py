"""Entities to records, and their values into templates."""

from collections.abc import Callable, Mapping
from typing import Any

from clerkship.library.template import BadTemplate, render
from clerkship.model.dataset import Dataset, Record
from clerkship.model.matcher import describe, holds
from clerkship.model.path import lookup
from clerkship.model.task import Entity

Complain = Callable[[list[int | str], str, str], None]


class BadBinding(Exception):
    """A query that finds no record, or more than one."""


def bind(entity: Entity, dataset: Dataset) -> Record:
    """The one record an entity means."""
    found = [
        record
        for record in dataset.records
        if entity.type in (None, record.get("type"), record.get("resourceType"))
        and all(holds(expected, lookup(record, path)) for path, expected in entity.where.items())
    ]
    if len(found) == 1:
        return found[0]
    asked = ", ".join(f"{path} {describe(expected)}" for path, expected in entity.where.items())
    query = " ".join(part for part in (entity.type or "records", f"with {asked}" if asked else "") if part)
    if not found:
        raise BadBinding(f"`{entity.id}` finds no {query} in {dataset.name} ({len(dataset.records)} records)")
    names = ", ".join(str(record.get("id") or record)[:40] for record in found[:5])
    raise BadBinding(f"`{entity.id}` finds {len(found)} {query} in {dataset.name}: {names}; it must find one")


def render_at(data: Any, path: list[int | str], values: Mapping[str, Any], complain: Complain) -> Any:
    """The same data with every template filled in; each bad one is reported at its place."""
    if isinstance(data, str):
        try:
            return render(data, values)
        except BadTemplate as bad:
            complain(path, bad.message, bad.hint)
            return data
    if isinstance(data, dict):
        return {key: render_at(value, [*path, key], values, complain) for key, value in data.items()}
    if isinstance(data, list):
        return [render_at(value, [*path, number], values, complain) for number, value in enumerate(data)]
    return data
