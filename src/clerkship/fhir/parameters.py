"""What every resource type can be searched by: the official R4 SearchParameters, from the table that ships.

The table is compiled by `scripts/fhir_parameters.py`. What R4 defines and nobody can search by here is in it too, with
the reason.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast

from clerkship.fhir.resource import Resource, objects_in

Sort = Literal["token", "reference", "string", "date", "number", "quantity", "uri", "composite"]
TABLE = Path(__file__).parent / "tables" / "parameters.json"
_STEP = re.compile(r"([%\w]+)(?:\[(\w+)=(.+)\])?")
_TYPED = re.compile(r"(?:^|/)([A-Z][A-Za-z]+)/[A-Za-z0-9\-.]{1,64}(?:/_history/[A-Za-z0-9\-.]{1,64})?$")
REFUSED_EVERYWHERE: Mapping[str, str] = MappingProxyType(
    {
        "_list": "searching by a List is not supported",
        "_contained": "contained resources are not searched",
        "_containedType": "contained resources are not searched",
        "_score": "matches have no score",
    }
)


class Step(NamedTuple):
    """One name of a path, and what must be so of the elements there: `telecom[system=phone]`."""

    name: str
    key: str = ""
    value: str = ""


class Arm(NamedTuple):
    """One way an expression goes, and the datatype at its end."""

    steps: tuple[Step, ...]
    kind: str
    systems: tuple[str, ...] = ()
    """For a code, the systems that its binding implies."""


class Component(NamedTuple):
    """A part of a composite, read from each of its roots."""

    type: Sort
    arms: tuple[Arm, ...]


class Parameter(NamedTuple):
    """One search parameter of one resource type."""

    name: str
    type: Sort
    arms: tuple[Arm, ...]
    targets: frozenset[str] = frozenset()
    """What a reference there may mean."""
    components: tuple[Component, ...] = ()
    documentation: str = ""


@cache
def _table() -> dict[str, Any]:
    return cast(dict[str, Any], json.loads(TABLE.read_text(encoding="utf-8")))


@cache
def searchable_types() -> frozenset[str]:
    """Every resource type of R4."""
    return frozenset(_table()["types"]) - {"Resource", "DomainResource"}


@cache
def parameters_of(type: str) -> Mapping[str, Parameter]:
    """What resources of a type can be searched by, those of every resource among them; `Resource` for these alone."""
    types = _table()["types"]
    rows = types["Resource"] | types["DomainResource"] | types.get(type, {})
    return MappingProxyType({name: _parameter(name, row) for name, row in rows.items()})


@cache
def refused_parameters(type: str) -> Mapping[str, str]:
    """What R4 defines for a type and this refuses, with the reason."""
    refused = _table()["refused"]
    return MappingProxyType(
        {**REFUSED_EVERYWHERE, **refused["Resource"], **refused["DomainResource"], **refused.get(type, {})}
    )


def _parameter(name: str, row: list[Any]) -> Parameter:
    sort, arms, targets, components, documentation = row
    meant = searchable_types() if targets == "*" else frozenset(targets.split())
    made = tuple(Component(part, tuple(map(_arm, texts))) for part, texts in components)
    ends = "" if sort != "composite" else " root"
    return Parameter(name, sort, tuple(_arm(arm + ends) for arm in arms), meant, made, documentation)


def _arm(text: str) -> Arm:
    *names, end = text.split()
    kind, _, number = end.partition("#")
    steps = tuple(Step(found[1], found[2] or "", found[3] or "") for found in map(_STEP.fullmatch, names) if found)
    return Arm(steps, kind, tuple(_table()["systems"][int(number)]) if number else ())


def elements(arm: Arm, node: Any, resource: Resource) -> list[Any]:
    """What is at the end of an arm, from a node of a resource on."""
    here = [node]
    for step in arm.steps:
        if step.name == "%resource":
            here = [resource]
            continue
        here = _further(here, step.name)
        if step.key:
            here = [item for item in here if _holds(step, item, resource)]
        if not here:
            break
    return here


def _further(nodes: list[Any], name: str) -> list[Any]:
    found: list[Any] = []
    for node in nodes:
        value = node.get(name) if isinstance(node, dict) else None
        if isinstance(value, list):
            found.extend(item for item in value if item is not None)
        elif value is not None:
            found.append(value)
    return found


def _holds(step: Step, item: Any, resource: Resource) -> bool:
    if not isinstance(item, dict):
        return False
    if step.key == "is":
        return referred_type(item, resource) == step.value
    if step.key == "extension":
        return any(isinstance(each, dict) and each.get("url") == step.value for each in item.get("extension", ()))
    return bool(item.get(step.key) == step.value)


def referred_type(reference: Resource, resource: Resource) -> str | None:
    """The type of what a Reference means: `resolve()` of R4's expressions, decided without looking."""
    text = reference.get("reference")
    if isinstance(text, str) and text.startswith("#"):
        meant = (item for item in objects_in(resource, "contained") if item.get("id") == text[1:])
        return next((item.get("resourceType") for item in meant), None)
    found = _TYPED.search(text) if isinstance(text, str) else None
    return found[1] if found is not None else reference.get("type")
