"""What this server can do, as a CapabilityStatement (R4 http: capabilities), told by routes, parameters and config."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from clerkship.fhir.definitions import RESOURCE_TYPES
from clerkship.fhir.parameters import Parameter, parameters_of
from clerkship.fhir.resource import render
from clerkship.sandbox.route import Route
from clerkship.simulators.fhir.events import CapabilitiesRead
from clerkship.simulators.fhir.outcome import FHIR_JSON
from clerkship.simulators.fhir.reading import only
from clerkship.simulators.fhir.versions import instant
from clerkship.simulators.fhir.wire import GENERAL, JSON_PATCH, Answer, Ask
from clerkship.simulators.fhir.writing import NOT_STORED

TYPE_LEVEL: Mapping[str, str] = {
    "read": "read",
    "vread": "vread",
    "update": "update",
    "patch": "patch",
    "delete": "delete",
    "history_instance": "history-instance",
    "history_type": "history-type",
    "create": "create",
    "search_type": "search-type",
}
"""Operations of routes, and what a CapabilityStatement calls them (http://hl7.org/fhir/restful-interaction)."""
SYSTEM_LEVEL: Mapping[str, tuple[str, ...]] = {
    "bundle": ("transaction", "batch"),
    "search_system": ("search-system",),
    "history_system": ("history-system",),
}
OPERATIONS: Mapping[str, tuple[str, str]] = {
    "everything": ("Patient", "http://hl7.org/fhir/OperationDefinition/Patient-everything"),
    "validate": ("", "http://hl7.org/fhir/OperationDefinition/Resource-validate"),
}
"""Operations with a `$`, on one type or (empty) on every."""
WRITES = frozenset({"update", "patch", "delete", "create", "bundle"})


def read(ask: Ask, routes: Sequence[Route]) -> Answer:
    """Somebody asks what the server can do."""
    only(ask, GENERAL)
    ask.draft.note(CapabilitiesRead())
    config = ask.draft.settings
    checked = config.references == "checked"
    statement = _statement(tuple(route.operation for route in routes), config.read_only, config.client_ids, checked)
    stamped = {
        **statement,
        "date": instant(ask.draft.act.now),
        "implementation": {"description": "a simulated electronic health record", "url": ask.draft.base},
    }
    return Answer(200, render(stamped))


@lru_cache(maxsize=16)
def _statement(operations: tuple[str, ...], read_only: bool, client_ids: bool, checked: bool) -> dict[str, Any]:
    """All but what differs from one request to the next."""
    offered = [name for name in operations if not (read_only and name in WRITES)]
    rest = {
        "mode": "server",
        "security": {"description": "a bearer token, as the run gives it to the agent"},
        "resource": [_resource(type, offered, client_ids, checked) for type in sorted(RESOURCE_TYPES - NOT_STORED)],
        "interaction": [{"code": code} for name in offered for code in SYSTEM_LEVEL.get(name, ())],
        "searchParam": [_parameter(found) for found in parameters_of("Resource").values()],
    }
    return {
        "resourceType": "CapabilityStatement",
        "status": "active",
        "kind": "instance",
        "fhirVersion": "4.0.1",
        "format": [FHIR_JSON, "json"],
        "patchFormat": [JSON_PATCH],
        "software": {"name": "Clerkship"},
        "rest": [rest],
    }


def _resource(type: str, offered: Sequence[str], client_ids: bool, checked: bool) -> dict[str, Any]:
    parameters = parameters_of(type)
    links = sorted(f"{type}:{found.name}" for found in parameters.values() if found.type == "reference")
    said: dict[str, Any] = {
        "type": type,
        "interaction": [{"code": TYPE_LEVEL[name]} for name in offered if name in TYPE_LEVEL],
        "versioning": "versioned",
        "readHistory": True,
        "updateCreate": client_ids,
        "conditionalCreate": "create" in offered,
        "conditionalRead": "full-support",
        "conditionalUpdate": "conditional_update" in offered and "update" in offered,
        "conditionalDelete": "single" if "delete" in offered else "not-supported",
        "referencePolicy": ["literal", "local"] + (["enforced"] if checked else []),
        "searchParam": [_parameter(parameters[name]) for name in sorted(parameters)],
    }
    if links:
        said["searchInclude"] = ["*", *links]
    if back := _links_to(type):
        said["searchRevInclude"] = list(back)
    operations = [
        {"name": name, "definition": url}
        for name, (where, url) in OPERATIONS.items()
        if name in offered and where in ("", type)
    ]
    return said | ({"operation": operations} if operations else {})


def _links_to(type: str) -> Sequence[str]:
    """Parameters by which others refer to a type."""
    return _links_back().get(type, ())


@lru_cache(maxsize=1)
def _links_back() -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for type in sorted(RESOURCE_TYPES - NOT_STORED):
        for name, parameter in sorted(parameters_of(type).items()):
            for target in parameter.targets if parameter.type == "reference" else ():
                found.setdefault(target, []).append(f"{type}:{name}")
    return found


def _parameter(parameter: Parameter) -> dict[str, Any]:
    said = {"name": parameter.name, "type": parameter.type}
    return said | ({"documentation": parameter.documentation} if parameter.documentation else {})
