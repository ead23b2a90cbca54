"""The official search parameters of R4, from a table compiled by `scripts/fhir_parameters.py`.

Parameters that R4 defines and this server does not support are in the table too, with the reason.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast

import orjson

from clerkship.formats.fhir.resource import Resource, list_objects

ParameterType = Literal["token", "reference", "string", "date", "number", "quantity", "uri", "composite"]
TABLE = Path(__file__).parent / "tables" / "parameters.json"
_STEP = re.compile(r"([%\w]+)(?:\[(\w+)=(.+)\])?")
_TYPED_REFERENCE = re.compile(r"(?:^|/)([A-Z][A-Za-z]+)/[A-Za-z0-9\-.]{1,64}(?:/_history/[A-Za-z0-9\-.]{1,64})?$")
REFUSED_EVERYWHERE: Mapping[str, str] = MappingProxyType(
    {
        "_list": "searching by a List is not supported",
        "_contained": "contained resources are not searched",
        "_containedType": "contained resources are not searched",
        "_score": "matches have no score",
    }
)


class ParameterStep(NamedTuple):
    """One name of a path, and what must be so of the elements there: `telecom[system=phone]`."""

    name: str
    key: str = ""
    value: str = ""


class ParameterPath(NamedTuple):
    """One alternative path of a search parameter's expression, and the datatype at its end."""

    steps: tuple[ParameterStep, ...]
    kind: str
    systems: tuple[str, ...] = ()
    """The systems that the binding of a code implies."""


class CompositeComponent(NamedTuple):
    """A component of a composite parameter, relative to each root."""

    type: ParameterType
    paths: tuple[ParameterPath, ...]


class SearchParameter(NamedTuple):
    """One search parameter of one resource type."""

    name: str
    type: ParameterType
    paths: tuple[ParameterPath, ...]
    targets: frozenset[str] = frozenset()
    """The possible types of a reference."""
    components: tuple[CompositeComponent, ...] = ()
    documentation: str = ""


@cache
def _load_table() -> dict[str, Any]:
    return cast(dict[str, Any], orjson.loads(TABLE.read_bytes()))


@cache
def searchable_types() -> frozenset[str]:
    """Return every resource type of R4."""
    return frozenset(_load_table()["types"]) - {"Resource", "DomainResource"}


@cache
def get_parameters(type: str) -> Mapping[str, SearchParameter]:
    """Return the search parameters of a type, including those of every resource; `Resource` for only these."""
    types = _load_table()["types"]
    rows = types["Resource"] | types["DomainResource"] | types.get(type, {})
    return MappingProxyType({name: _build_parameter(name, row) for name, row in rows.items()})


@cache
def refused_parameters(type: str) -> Mapping[str, str]:
    """Return the parameters of a type that R4 defines and this server refuses, with the reason."""
    refused = _load_table()["refused"]
    return MappingProxyType(
        {**REFUSED_EVERYWHERE, **refused["Resource"], **refused["DomainResource"], **refused.get(type, {})}
    )


def _build_parameter(name: str, row: list[Any]) -> SearchParameter:
    sort, paths, targets, components, documentation = row
    target_types = searchable_types() if targets == "*" else frozenset(targets.split())
    parts = tuple(CompositeComponent(part, tuple(map(_parse_path, texts))) for part, texts in components)
    ends = "" if sort != "composite" else " root"
    return SearchParameter(
        name, sort, tuple(_parse_path(path + ends) for path in paths), target_types, parts, documentation
    )


def _parse_path(text: str) -> ParameterPath:
    *names, end = text.split()
    kind, _, number = end.partition("#")
    steps = tuple(
        ParameterStep(match[1], match[2] or "", match[3] or "") for match in map(_STEP.fullmatch, names) if match
    )
    return ParameterPath(steps, kind, tuple(_load_table()["systems"][int(number)]) if number else ())


def select_elements(path: ParameterPath, node: Any, resource: Resource) -> list[Any]:
    """Return the elements at a path, from a node of a resource on."""
    nodes = [node]
    for step in path.steps:
        if step.name == "%resource":
            nodes = [resource]
            continue
        nodes = _select_children(nodes, step.name)
        if step.key:
            nodes = [item for item in nodes if _meets_condition(step, item, resource)]
        if not nodes:
            break
    return nodes


def _select_children(nodes: list[Any], name: str) -> list[Any]:
    children: list[Any] = []
    for node in nodes:
        value = node.get(name) if isinstance(node, dict) else None
        if isinstance(value, list):
            children.extend(item for item in value if item is not None)
        elif value is not None:
            children.append(value)
    return children


def _meets_condition(step: ParameterStep, item: Any, resource: Resource) -> bool:
    if not isinstance(item, dict):
        return False
    if step.key == "is":
        return get_reference_type(item, resource) == step.value
    if step.key == "extension":
        return any(isinstance(each, dict) and each.get("url") == step.value for each in item.get("extension", ()))
    return bool(item.get(step.key) == step.value)


def get_reference_type(reference: Resource, resource: Resource) -> str | None:
    """Return the type that a Reference refers to: `resolve()` in R4's expressions, without reading the target."""
    text = reference.get("reference")
    if isinstance(text, str) and text.startswith("#"):
        contained = (item for item in list_objects(resource, "contained") if item.get("id") == text[1:])
        return next((item.get("resourceType") for item in contained), None)
    match = _TYPED_REFERENCE.search(text) if isinstance(text, str) else None
    return match[1] if match is not None else reference.get("type")
