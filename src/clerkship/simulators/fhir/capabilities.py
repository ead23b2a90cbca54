"""What the server says about itself: the CapabilityStatement (R4 http: capabilities)."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.resource import render_resource
from clerkship.formats.fhir.search.parse import IGNORED_RESULT_PARAMETERS
from clerkship.formats.fhir.search_parameters import SearchParameter, get_parameters
from clerkship.sandbox.operation import NoInput
from clerkship.simulators.fhir.events import CapabilitiesRead
from clerkship.simulators.fhir.outcome import FHIR_JSON, JSON_PATCH
from clerkship.simulators.fhir.smart import describe_security
from clerkship.simulators.fhir.state import format_instant
from clerkship.simulators.fhir.transaction import FhirResponse, Transaction, interaction
from clerkship.simulators.fhir.write import NOT_STORED

_TYPE_INTERACTION_NAMES = "read vread update patch delete history_instance history_type create search_type"
TYPE_INTERACTIONS: Mapping[str, str] = {name: name.replace("_", "-") for name in _TYPE_INTERACTION_NAMES.split()}
"""Interactions, and what a CapabilityStatement calls them (http://hl7.org/fhir/restful-interaction)."""
SYSTEM_INTERACTIONS: Mapping[str, tuple[str, ...]] = {
    "bundle": ("transaction", "batch"),
    "search_system": ("search-system",),
    "history_system": ("history-system",),
}
EXTENDED_OPERATIONS: Mapping[str, tuple[str, str]] = {
    "everything": ("Patient", "http://hl7.org/fhir/OperationDefinition/Patient-everything"),
    "validate": ("", "http://hl7.org/fhir/OperationDefinition/Resource-validate"),
    "expand": ("ValueSet", "http://hl7.org/fhir/OperationDefinition/ValueSet-expand"),
    "validate_code": ("ValueSet", "http://hl7.org/fhir/OperationDefinition/ValueSet-validate-code"),
    "validate_system_code": ("CodeSystem", "http://hl7.org/fhir/OperationDefinition/CodeSystem-validate-code"),
    "lookup": ("CodeSystem", "http://hl7.org/fhir/OperationDefinition/CodeSystem-lookup"),
}
"""Operations with a `$`, on one type or (empty) on every."""
SEARCH_NOTE = "unknown search parameters are refused; {}, and all with handling=lenient, are ignored with a warning"
TYPE_NOTES: Mapping[str, str] = {
    "CodeSystem": "codes of HL7's systems that R4 uses, and the codes of other systems that the chart uses",
    "Subscription": "channels are rest-hook, without a payload or with application/fhir+json; others are refused",
    "ValueSet": "value sets of R4 whose codes can be listed, and stored ones without filters; others are refused",
}
"""What the statement says of single types."""
EXPORTS: Mapping[str, str] = {
    "": "http://hl7.org/fhir/uv/bulkdata/OperationDefinition/export",
    "Patient": "http://hl7.org/fhir/uv/bulkdata/OperationDefinition/patient-export",
    "Group": "http://hl7.org/fhir/uv/bulkdata/OperationDefinition/group-export",
}
"""`$export` on the whole server (empty) and on types."""
ALL_INTERACTIONS = (*TYPE_INTERACTIONS, *SYSTEM_INTERACTIONS, *EXTENDED_OPERATIONS)
WRITE_INTERACTIONS = frozenset({"update", "patch", "delete", "create", "bundle"})


@interaction(access="open", tool=False, scoped=True)
def capabilities(transaction: Transaction, _: NoInput) -> FhirResponse:
    """Return the CapabilityStatement of this FHIR R4 server."""
    transaction.note(CapabilitiesRead())
    settings = transaction.settings
    statement = {
        **_build_statement(settings.read_only, settings.client_ids, settings.references == "checked"),
        "date": format_instant(transaction.action.now),
        "implementation": {"description": "a simulated electronic health record", "url": transaction.base},
    }
    if settings.clients:
        [rest] = statement["rest"]
        statement["rest"] = [{**rest, "security": rest["security"] | describe_security(transaction.base)}]
    return FhirResponse(200, render_resource(statement))


@lru_cache(maxsize=16)
def _build_statement(read_only: bool, client_ids: bool, checks_references: bool) -> dict[str, Any]:
    """Return the part of the statement that is the same for every request."""
    offered = [name for name in ALL_INTERACTIONS if not (read_only and name in WRITE_INTERACTIONS)]
    rest = {
        "mode": "server",
        "documentation": SEARCH_NOTE.format(", ".join(IGNORED_RESULT_PARAMETERS)),
        "security": {"cors": True, "description": "a bearer token, as the run gives it to the agent"},
        "resource": [
            _describe_type(type, offered, client_ids, checks_references) for type in sorted(RESOURCE_TYPES - NOT_STORED)
        ],
        "interaction": [{"code": code} for name in offered for code in SYSTEM_INTERACTIONS.get(name, ())],
        "searchParam": [_describe_parameter(parameter) for parameter in get_parameters("Resource").values()],
        "operation": _describe_export(""),
    }
    return {
        "resourceType": "CapabilityStatement",
        "status": "active",
        "kind": "instance",
        "instantiates": ["http://hl7.org/fhir/uv/bulkdata/CapabilityStatement/bulk-data"],
        "fhirVersion": "4.0.1",
        "format": [FHIR_JSON, "json"],
        "patchFormat": [JSON_PATCH],
        "software": {"name": "Clerkship"},
        "rest": [rest],
    }


def _describe_type(type: str, offered: Sequence[str], client_ids: bool, checks_references: bool) -> dict[str, Any]:
    parameters = get_parameters(type)
    includes = sorted(f"{type}:{parameter.name}" for parameter in parameters.values() if parameter.type == "reference")
    description: dict[str, Any] = {
        "type": type,
        "interaction": [{"code": TYPE_INTERACTIONS[name]} for name in offered if name in TYPE_INTERACTIONS],
        "versioning": "versioned",
        "readHistory": True,
        "updateCreate": client_ids,
        "conditionalCreate": "create" in offered,
        "conditionalRead": "full-support",
        "conditionalUpdate": "update" in offered,
        "conditionalDelete": "single" if "delete" in offered else "not-supported",
        "referencePolicy": ["literal", "local"] + (["enforced"] if checks_references else []),
        "searchParam": [_describe_parameter(parameters[name]) for name in sorted(parameters)],
    }
    if type in TYPE_NOTES:
        description["documentation"] = TYPE_NOTES[type]
    if includes:
        description["searchInclude"] = ["*", *includes]
    if reverse_includes := _find_reverse_includes().get(type):
        description["searchRevInclude"] = list(reverse_includes)
    operations = [
        {"name": url.rpartition("/")[2].partition("-")[2], "definition": url}
        for name, (where, url) in EXTENDED_OPERATIONS.items()
        if name in offered and where in ("", type)
    ] + _describe_export(type)
    return description | ({"operation": operations} if operations else {})


def _describe_export(type: str) -> list[dict[str, str]]:
    return [{"name": "export", "definition": EXPORTS[type]}] if type in EXPORTS else []


@lru_cache(maxsize=1)
def _find_reverse_includes() -> Mapping[str, Sequence[str]]:
    """Return for each type the reference parameters of other types that can refer to it."""
    includes: dict[str, list[str]] = {}
    for type in sorted(RESOURCE_TYPES - NOT_STORED):
        for name, parameter in sorted(get_parameters(type).items()):
            for target in parameter.targets if parameter.type == "reference" else ():
                includes.setdefault(target, []).append(f"{type}:{name}")
    return includes


def _describe_parameter(parameter: SearchParameter) -> dict[str, Any]:
    description = {"name": parameter.name, "type": parameter.type}
    return description | ({"documentation": parameter.documentation} if parameter.documentation else {})
