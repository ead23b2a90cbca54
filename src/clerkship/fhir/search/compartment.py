"""What belongs to a patient, an encounter, a practitioner: R4's CompartmentDefinitions, from the table that ships."""

import json
from functools import cache
from pathlib import Path
from typing import cast

TABLE = Path(__file__).parent.parent / "tables" / "compartments.json"


@cache
def _load_table() -> dict[str, dict[str, list[str]]]:
    return cast(dict[str, dict[str, list[str]]], json.loads(TABLE.read_text(encoding="utf-8")))


def compartment_types() -> tuple[str, ...]:
    """What a compartment can be about."""
    return tuple(_load_table())


def compartment_parameters(compartment: str, type: str) -> tuple[str, ...]:
    """The parameters that put resources of a type in a compartment; none where they never are."""
    return tuple(_load_table().get(compartment, {}).get(type, ()))


def list_compartment_members(compartment: str) -> tuple[str, ...]:
    """The resource types that can be in a compartment, that of its subject first."""
    return tuple(dict.fromkeys((compartment, *_load_table().get(compartment, {}))))
