"""The HTTP routes of a FHIR server and their interactions (R4 http)."""

from typing import Any

from clerkship.sandbox.operation import Operation
from clerkship.sandbox.request import Request
from clerkship.simulators.fhir.bundle import BundleInput, process_bundle, read_bundle
from clerkship.simulators.fhir.capabilities import capabilities
from clerkship.simulators.fhir.everything import everything, everything_by_post
from clerkship.simulators.fhir.export import EXPORT_ROUTES
from clerkship.simulators.fhir.history import history_instance, history_system, history_type
from clerkship.simulators.fhir.http import (
    FhirRoute,
    InputReader,
    build_form_reader,
    build_input_reader,
    read_everything_by_post,
    read_validation,
)
from clerkship.simulators.fhir.outcome import FHIR_JSON, FORM, JSON_PATCH
from clerkship.simulators.fhir.read import read, vread
from clerkship.simulators.fhir.search import (
    search_compartment,
    search_compartment_by_post,
    search_system,
    search_system_by_post,
    search_type,
    search_type_by_post,
)
from clerkship.simulators.fhir.terminology import TERMINOLOGY_ROUTES
from clerkship.simulators.fhir.transaction import FhirResponse, Interaction, Transaction, interaction
from clerkship.simulators.fhir.validate import validate, validate_instance
from clerkship.simulators.fhir.write import (
    conditional_delete,
    conditional_patch,
    conditional_update,
    create,
    delete,
    patch,
    update,
)

MAX_QUICK_COUNT_DIGITS = 2
"""A page of 100 resources or more is rendered in a thread, not on the event loop. `_count` is still text here."""


def is_heavy_search(request: Request) -> bool:
    """Return whether a search may include many other resources, or returns a large page."""
    return len(request.query.get("_count", "")) > MAX_QUICK_COUNT_DIGITS or any(
        name.startswith(("_include", "_revinclude", "_has")) for name in request.query
    )


def _always_heavy(request: Request) -> bool:
    return True


@interaction(pauses_gc=True, scoped=True)
def bundle(transaction: Transaction, input: BundleInput) -> FhirResponse:
    """Run several FHIR R4 interactions in one Bundle: a batch (each on its own) or a transaction (all or none)."""
    return process_bundle(transaction, input, ROUTES)


def _search_route(path: str, interaction: Interaction[Any]) -> FhirRoute:
    return FhirRoute("GET", path, interaction, free_query="query", is_heavy=is_heavy_search)


def _form_search_route(path: str, interaction: Interaction[Any]) -> FhirRoute:
    """Return the route of a search with its parameters in a form body."""
    options: dict[str, Any] = {"free_query": "query", "media": FORM, "is_heavy": _always_heavy, "in_bundle": False}
    return FhirRoute("POST", path, interaction, build_form_reader(build_input_reader(interaction.input)), **options)


def _write_route(
    method: str, path: str, interaction: Interaction[Any], read: InputReader | None = None, **options: Any
) -> FhirRoute:
    """Return a route whose body is a resource."""
    return FhirRoute(method, path, interaction, read, body="resource", media=FHIR_JSON, **options)


def _patch_route(path: str, interaction: Interaction[Any], **options: Any) -> FhirRoute:
    body: dict[str, Any] = {"body": "operations", "media": JSON_PATCH, "is_heavy": _always_heavy}
    return FhirRoute("PATCH", path, interaction, **body, **options)


ROUTES = (
    *EXPORT_ROUTES,
    FhirRoute("GET", "/metadata", capabilities, in_bundle=False),
    *TERMINOLOGY_ROUTES,
    FhirRoute("GET", "/_history", history_system),
    FhirRoute("GET", "/{type}/_history", history_type),
    FhirRoute("GET", "/Patient/{id}/$everything", everything, is_heavy=_always_heavy),
    FhirRoute("GET", "/{type}/{id}", read),
    FhirRoute("GET", "/{type}/{id}/_history/{version}", vread),
    FhirRoute("GET", "/{type}/{id}/_history", history_instance),
    _search_route("/{type}/{id}/{other}", search_compartment),
    _search_route("/{type}", search_type),
    _search_route("/", search_system),
    _form_search_route("/_search", search_system_by_post),
    _form_search_route("/{type}/_search", search_type_by_post),
    _form_search_route("/{type}/{id}/{other}/_search", search_compartment_by_post),
    FhirRoute(
        "POST",
        "/Patient/{id}/$everything",
        everything_by_post,
        read_everything_by_post,
        media=FHIR_JSON,
        is_heavy=_always_heavy,
    ),
    _write_route("POST", "/{type}/$validate", validate, read_validation),
    _write_route("POST", "/{type}/{id}/$validate", validate_instance, read_validation),
    _write_route("POST", "/{type}", create),
    _write_route("POST", "/", bundle, read_bundle, is_heavy=_always_heavy, in_bundle=False),
    _write_route("PUT", "/{type}/{id}", update),
    _write_route("PUT", "/{type}", conditional_update, free_query="query"),
    _patch_route("/{type}/{id}", patch),
    _patch_route("/{type}", conditional_patch, free_query="query"),
    FhirRoute("DELETE", "/{type}/{id}", delete),
    FhirRoute("DELETE", "/{type}", conditional_delete, free_query="query"),
)
OPERATIONS: tuple[Operation[Any, Any], ...] = tuple(route.operation for route in ROUTES)
