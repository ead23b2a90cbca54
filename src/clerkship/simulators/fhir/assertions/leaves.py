"""A resource taken apart into its values, each at its path: what two states of it are compared by."""

import re
from collections.abc import Iterator
from typing import Any

from clerkship.fhir import choice
from clerkship.fhir.fhirpath import Steps
from clerkship.fhir.resource import Resource
from clerkship.model.path import MISSING

_SERVER_ELEMENTS = frozenset({"meta.versionId", "meta.lastUpdated"})
"""What a server writes at every turn, and nobody else."""
_PART = re.compile(r"[^.\[\]]+")


def flatten_resource(resource: Resource | None) -> dict[str, Any]:
    """`name[0].given[1]` -> `Maria`; but for what the server writes at every turn."""
    found = dict(_flatten(resource, "")) if resource is not None else {}
    return {path: value for path, value in found.items() if path not in _SERVER_ELEMENTS}


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
    """Whether a value is at a path or below it. Without an index every item is meant; `value` is any `value[x]`."""
    return find_covered_steps(field, leaf) is not None


def find_covered_steps(field: Steps, leaf: str) -> Steps | None:
    """The steps from the resource to the value that a path means and that a leaf is, or is part of: of a list the item.
    None where the leaf is elsewhere."""
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
    """What stands at exact steps; MISSING for nothing."""
    value: Any = resource
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return value


def remove_indexes(leaf: str) -> str:
    """A leaf's path without its places: `name[0].given[1]` -> `name.given`."""
    return ".".join(part for part in parse_leaf_path(leaf) if isinstance(part, str))


def parse_leaf_path(leaf: str) -> Steps:
    """A leaf's path step by step: `name[0].family` -> `name, 0, family`."""
    return [int(part) if part.isdigit() else part for part in _PART.findall(leaf)]


def _matches_step(step: str | int, part: str | int) -> bool:
    return step == part or (isinstance(step, str) and part in choice.list_choice_names(step)) or part == f"_{step}"
