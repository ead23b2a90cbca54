"""The structure definitions of R4, from a table compiled from the official definitions (CC0)."""

import gzip
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import orjson

_TABLES = Path(__file__).parent / "tables"
NAMES: Mapping[str, list[str]] = orjson.loads((_TABLES / "names.json").read_bytes())
"""Resource types, choice elements and their datatypes; a separate file, because the definitions are large."""
RESOURCE_TYPES = frozenset(NAMES["resource_types"])
"""The 146 concrete resource types; Resource and DomainResource are abstract."""


class ElementDefinition(NamedTuple):
    """One element of a type."""

    name: str
    """The name in FHIRPath: `value` for `valueQuantity`."""
    spellings: Mapping[str, str]
    """Names in JSON with their type: one, or one for each type of a choice."""
    min: int
    many: bool
    choice: bool
    summary: bool
    bare: bool
    """Whether it is a plain value that cannot have id or extensions (`_name` in JSON)."""
    targets: frozenset[str]
    """The allowed resource types of a reference; empty if all are allowed."""
    codes: str | None
    """The value set of a required binding; None if there is none, or its codes cannot be listed."""


class StructureDefinition(NamedTuple):
    """A type, or a backbone element of a type (`Observation.component`)."""

    name: str
    kind: Literal["resource", "complex-type", "backbone"]
    elements: tuple[ElementDefinition, ...]


@cache
def _load_table() -> Any:
    return orjson.loads(gzip.decompress((_TABLES / "structures.json.gz").read_bytes()))


def is_structure(name: str) -> bool:
    """Return whether a type has elements; primitives have none."""
    return name in _load_table()["types"]


@cache
def get_structure(name: str) -> StructureDefinition:
    """Return the definition of a type; raises KeyError if R4 has no such type."""
    row = _load_table()["types"][name]
    return StructureDefinition(name, row["kind"], tuple(_build_element(*item) for item in row["elements"].items()))


def _build_element(name: str, row: Any) -> ElementDefinition:
    plain = name.removesuffix("[x]")
    choice = plain != name
    return ElementDefinition(
        name=plain,
        spellings=MappingProxyType({_build_json_name(plain, type) if choice else name: type for type in row["types"]}),
        min=row.get("min", 0),
        many=row.get("many", False),
        choice=choice,
        summary=row.get("summary", False),
        bare=row.get("bare", False),
        targets=frozenset(row.get("targets", ())),
        codes=row.get("codes"),
    )


def _build_json_name(name: str, type: str) -> str:
    known = "Quantity" if type == "SimpleQuantity" else type
    return name + known[0].upper() + known[1:]


def get_value_set(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the codes of a required binding, by system."""
    return {system: tuple(codes) for system, codes in _load_table()["codes"][name].items()}


@cache
def element_names(type: str) -> frozenset[str]:
    """Return the JSON names of the top-level elements of a resource type; none for an unknown type."""
    return _select_names(type, lambda element: True)


@cache
def mandatory_elements(type: str) -> frozenset[str]:
    """Return the JSON names of mandatory elements, including all names of mandatory choices."""
    return _select_names(type, lambda element: element.min > 0)


@cache
def summary_elements(type: str) -> frozenset[str]:
    """Return the JSON names of the elements in a summary (R4 §3.1.1.5.9), including mandatory ones."""
    return _select_names(type, lambda element: element.summary or element.min > 0)


def _select_names(type: str, is_selected: Callable[[ElementDefinition], bool]) -> frozenset[str]:
    if type not in RESOURCE_TYPES:
        return frozenset()
    selected = (element for element in get_structure(type).elements if is_selected(element))
    return frozenset(spelling for element in selected for spelling in element.spellings)
