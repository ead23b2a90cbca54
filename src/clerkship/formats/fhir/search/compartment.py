"""R4's CompartmentDefinitions: which resources belong to a patient, an encounter or a practitioner."""

from functools import cache
from pathlib import Path
from typing import cast

import orjson

TABLE = Path(__file__).parent.parent / "tables" / "compartments.json"


@cache
def _load_table() -> dict[str, dict[str, list[str]]]:
    return cast(dict[str, dict[str, list[str]]], orjson.loads(TABLE.read_bytes()))


def compartment_types() -> tuple[str, ...]:
    """Return the types that have a compartment."""
    return tuple(_load_table())


def compartment_parameters(compartment: str, type: str) -> tuple[str, ...]:
    """Return the search parameters that put a type in a compartment; none if it never is in it."""
    return tuple(_load_table().get(compartment, {}).get(type, ()))


def list_compartment_members(compartment: str) -> tuple[str, ...]:
    """Return the resource types that can be in a compartment, the type of its subject first."""
    return tuple(dict.fromkeys((compartment, *_load_table().get(compartment, {}))))
