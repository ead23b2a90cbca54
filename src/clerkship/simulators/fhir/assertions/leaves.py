"""Flatten a resource into its values by path, in order to compare two versions."""

import re
from collections.abc import Iterator
from typing import Any

from clerkship.formats.fhir.fhirpath import Steps, list_choice_names
from clerkship.formats.fhir.resource import Resource
from clerkship.model.path import MISSING

_SERVER_ELEMENTS = frozenset({"meta.versionId", "meta.lastUpdated"})
"""Elements that the server writes with every version."""
_PART = re.compile(r"[^.\[\]]+")


def flatten_resource(resource: Resource | None) -> dict[str, Any]:
    """Return the values of a resource by path, such as `name[0].given[1]`, without those that the server sets."""
    values = dict(_flatten(resource, "")) if resource is not None else {}
    return {path: value for path, value in values.items() if path not in _SERVER_ELEMENTS}


def _flatten(data: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(data, dict) and data:
        for name, value in data.items():
            yield from _flatten(value, f"{path}.{name}" if path else name)
    elif isinstance(data, list) and data:
        for number, value in enumerate(data):
            yield from _flatten(value, f"{path}[{number}]")
    else:
        yield path, data


def path_covers(field: Steps, leaf: str) -> bool:
    """Return whether a value is at a path or below it. Without an index all items match; `value` is any `value[x]`."""
    return find_covered_steps(field, leaf) is not None


def find_covered_steps(field: Steps, leaf: str) -> Steps | None:
    """Return the steps to the value at `field` that contains the leaf (of a list, the item); None if there is none."""
    parts = parse_leaf_path(leaf)
    place = 0
    for step in field:
        while isinstance(step, str) and place < len(parts) and isinstance(parts[place], int):
            place += 1
        if place == len(parts) or not _matches_step(step, parts[place]):
            return None
        place += 1
    if place < len(parts) and isinstance(parts[place], int):
        place += 1
    return parts[:place]


def get_value_at(resource: Resource, steps: Steps) -> Any:
    """Return the value at exact steps; MISSING if there is none."""
    value: Any = resource
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return value


def remove_indexes(leaf: str) -> str:
    """Return a leaf's path without indexes: `name[0].given[1]` -> `name.given`."""
    return ".".join(part for part in parse_leaf_path(leaf) if isinstance(part, str))


def parse_leaf_path(leaf: str) -> Steps:
    """Return the steps of a leaf's path: `name[0].family` -> `name, 0, family`."""
    return [int(part) if part.isdigit() else part for part in _PART.findall(leaf)]


def _matches_step(step: str | int, part: str | int) -> bool:
    return step == part or (isinstance(step, str) and part in list_choice_names(step)) or part == f"_{step}"
