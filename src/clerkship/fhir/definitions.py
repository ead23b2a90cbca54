"""What R4 says resources are made of, from a table compiled out of the official definitions (CC0)."""

import gzip
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import orjson

_TABLES = Path(__file__).parent / "tables"
NAMES: Mapping[str, list[str]] = orjson.loads((_TABLES / "names.json").read_bytes())
"""Resource types, and the elements and datatypes of choices; read without the definitions, which are large."""
RESOURCE_TYPES = frozenset(NAMES["resource_types"])
"""The 146 types of which there are resources; Resource and DomainResource, the other two, are abstract."""


class Element(NamedTuple):
    """One element of a type, as its definition has it."""

    name: str
    """As it is spelled in FHIRPath: `value` for what is written `valueQuantity`."""
    spellings: Mapping[str, str]
    """How it is written in JSON, and what type that gives it: one, or one for each type of a choice."""
    min: int
    many: bool
    choice: bool
    summary: bool
    bare: bool
    """Whether it is a value alone, which can have neither id nor extensions (`_name` in JSON)."""
    targets: frozenset[str]
    """The types of resource that a reference may mean; none where it may mean any."""
    codes: str | None
    """The value set of a required binding; None where there is none, or its codes cannot be listed."""


class Structure(NamedTuple):
    """A type, or what stands in one place of a type (`Observation.component`)."""

    name: str
    kind: Literal["resource", "complex-type", "backbone"]
    elements: tuple[Element, ...]


@cache
def _table() -> Any:
    return orjson.loads(gzip.decompress((_TABLES / "structures.json.gz").read_bytes()))


def is_structure(name: str) -> bool:
    """Whether it is a type that has elements; a primitive has none."""
    return name in _table()["types"]


@cache
def structure(name: str) -> Structure:
    """What a type is made of; KeyError where R4 has none of that name."""
    said = _table()["types"][name]
    return Structure(name, said["kind"], tuple(_element(*item) for item in said["elements"].items()))


def _element(name: str, said: Any) -> Element:
    plain = name.removesuffix("[x]")
    choice = plain != name
    return Element(
        name=plain,
        spellings=MappingProxyType({_spelling(plain, type) if choice else name: type for type in said["types"]}),
        min=said.get("min", 0),
        many=said.get("many", False),
        choice=choice,
        summary=said.get("summary", False),
        bare=said.get("bare", False),
        targets=frozenset(said.get("targets", ())),
        codes=said.get("codes"),
    )


def _spelling(name: str, type: str) -> str:
    known = "Quantity" if type == "SimpleQuantity" else type
    return name + known[0].upper() + known[1:]


def value_set(name: str) -> Mapping[str, tuple[str, ...]]:
    """The codes of a required binding, by their system."""
    return {system: tuple(codes) for system, codes in _table()["codes"][name].items()}


@cache
def elements(type: str) -> frozenset[str]:
    """The names that may stand at the top of a resource, choices in every spelling; none for what is no type."""
    return _names(type, lambda element: True)


@cache
def mandatory_elements(type: str) -> frozenset[str]:
    """Those that must be there; of a choice any spelling, so all of them are here."""
    return _names(type, lambda element: element.min > 0)


@cache
def summary_elements(type: str) -> frozenset[str]:
    """Those of a summary (R4 §3.1.1.5.9): marked as such, and the mandatory ones."""
    return _names(type, lambda element: element.summary or element.min > 0)


def _names(type: str, wanted: Callable[[Element], bool]) -> frozenset[str]:
    if type not in RESOURCE_TYPES:
        return frozenset()
    found = (element for element in structure(type).elements if wanted(element))
    return frozenset(spelling for element in found for spelling in element.spellings)
