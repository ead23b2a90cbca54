"""The search interactions (R4 http: search)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from clerkship.formats.fhir import search as engine
from clerkship.formats.fhir.issue import FhirError, build_operation_outcome
from clerkship.formats.fhir.resource import parse_reference, render_resource
from clerkship.formats.fhir.search.compartment import compartment_types
from clerkship.model.frozen import Frozen
from clerkship.simulators.fhir import bundle_json
from clerkship.simulators.fhir.access import can_read, check_compartment, restrict_search
from clerkship.simulators.fhir.events import ParametersIgnored, ResourcesSearched
from clerkship.simulators.fhir.inputs import PAGING_HINT, Criteria, InstanceInput, TypeName
from clerkship.simulators.fhir.outcome import refusal, refusal_from_invalid
from clerkship.simulators.fhir.transaction import FhirResponse, Transaction, interaction
from clerkship.simulators.fhir.write import check_type, get_existing

BY_POST = "Search with the parameters in the body, as a form."
Compartment = tuple[str, str]
"""The type and id of the resource whose compartment is searched."""
HandlingField = SkipJsonSchema[engine.Handling]


class TypeSearch(Frozen):
    """The input of a search of one type."""

    type: TypeName
    query: Criteria = ()
    handling: HandlingField = "default"


class SystemSearch(Frozen):
    """The input of a search of several types."""

    query: Criteria = ()
    handling: HandlingField = "default"


class CompartmentSearch(InstanceInput):
    """The input of a search of a compartment."""

    other: Annotated[str, Field(description="the type of resources to search for; `*` for every type")]
    query: Criteria = ()
    handling: HandlingField = "default"


SearchInput = TypeSearch | SystemSearch | CompartmentSearch


@interaction(essential=True, shorter_hint=PAGING_HINT, scoped=True)
def search_type(transaction: Transaction, search: TypeSearch) -> FhirResponse:
    """Search for FHIR R4 resources of a type. Returns a Bundle; a next link leads to more."""
    return _search(transaction, search, f"/{search.type}", check_type(search.type))


@interaction(tool=False, scoped=True)
def search_system(transaction: Transaction, search: SystemSearch) -> FhirResponse:
    """Search for FHIR R4 resources of several types: `_type=Patient,Practitioner` and parameters that they share."""
    return _search(transaction, search, "/")


@interaction(tool=False, scoped=True)
def search_compartment(transaction: Transaction, search: CompartmentSearch) -> FhirResponse:
    """Search for FHIR R4 resources in a compartment, such as Patient/1/Observation; `*` for every type."""
    owner = check_type(search.type)
    if owner not in compartment_types():
        raise refusal(404, "not-supported", f"R4 defines no compartment for {owner}")
    type = "" if search.other == "*" else check_type(search.other)
    check_compartment(transaction, owner, search.id)
    get_existing(transaction, f"{owner}/{search.id}")
    path = f"/{owner}/{search.id}/{search.other}"
    return _search(transaction, search, path, type, (owner, search.id))


search_type_by_post = search_type.copy_as("search_type_by_post", BY_POST)
search_system_by_post = search_system.copy_as("search_system_by_post", BY_POST)
search_compartment_by_post = search_compartment.copy_as("search_compartment_by_post", BY_POST)


def _parse_query(
    transaction: Transaction, search: SearchInput, type: str, compartment: Compartment | None
) -> engine.SearchQuery:
    """Parse a search; refuse an invalid one."""
    context = engine.SearchContext(transaction.base, transaction.zone, engine.to_microseconds(transaction.action.now))
    try:
        query = engine.parse_query(
            type, search.query, handling=search.handling, context=context, compartment=compartment
        )
    except FhirError as error:
        raise refusal_from_invalid(error) from None
    query = restrict_search(transaction, query)
    max_page_size = transaction.settings.max_page_size
    return replace(query, count=max_page_size) if query.count is not None and query.count > max_page_size else query


def _search(
    transaction: Transaction, search: SearchInput, path: str, type: str = "", compartment: Compartment | None = None
) -> FhirResponse:
    query = _parse_query(transaction, search, type, compartment)
    is_count_only = query.summary == "count" or query.count == 0
    try:
        page = engine.build_page(engine.run_search(transaction, query), query, transaction.settings.page_size)
        keys = [] if is_count_only else page.keys
        included = engine.find_included(transaction, query, keys) if keys else []
        included = [key for key in included if can_read(transaction, key)]
    except FhirError as error:
        raise refusal_from_invalid(error) from None
    transaction.note(
        ResourcesSearched(
            type=type,
            query=render_logged_query(search.query, transaction.base),
            total=page.total,
            found=tuple(keys),
            included=tuple(included),
            within="/".join(compartment or ()),
        )
    )
    if query.ignored:
        transaction.note(ParametersIgnored(type=type, warnings=tuple(issue.text for issue in query.ignored)))
    url = bundle_json.build_url(transaction.base, path)
    links = (
        _build_links(url, query, page)
        if not is_count_only
        else _build_links(url, query, engine.ResultPage([], "", page.total))
    )
    matches, includes = (
        _render_entries(transaction, query, keys, "match"),
        _render_entries(transaction, query, included, "include"),
    )
    total = None if query.total == "none" else page.total
    return FhirResponse(
        200, bundle_json.render_bundle("searchset", links, [*matches, *includes, *_render_ignored(query)], total)
    )


def _build_links(url: str, query: engine.SearchQuery, page: engine.ResultPage) -> list[tuple[str, str]]:
    first_query = query.link()

    def build_link(cursor: str) -> str:
        text = query.link(cursor) if cursor else first_query
        return f"{url}?{text}" if text else url

    links = [("self", build_link(query.cursor))]
    if query.cursor or page.next_cursor:
        links.append(("first", build_link("")))
    if page.previous_cursor is not None:
        links.append(("previous", build_link(page.previous_cursor)))
    return [*links, ("next", build_link(page.next_cursor))] if page.next_cursor else links


def _render_entries(
    transaction: Transaction, query: engine.SearchQuery, keys: Iterable[str], mode: str
) -> Iterator[bytes]:
    """Yield entries with the requested part of each resource. A complete resource is copied from the store."""
    is_partial = bool(query.elements) or query.summary in ("true", "text", "data")
    for key in keys:
        data = transaction.data(key)
        if data is None:
            continue  # staged by a transaction, but not written yet
        if is_partial and (resource := transaction.resource(key)) is not None:
            data = render_resource(engine.subset_resource(resource, query))
        yield bundle_json.render_match(transaction.base, key, data, mode)


def _render_ignored(query: engine.SearchQuery) -> Iterator[bytes]:
    """Yield the OperationOutcome that reports ignored parameters (R4 search: handling errors)."""
    if query.ignored:
        yield bundle_json.render_search_outcome(render_resource(build_operation_outcome(query.ignored)))


def render_logged_query(pairs: Sequence[tuple[str, str]], base: str) -> str:
    """Render a query for the log. References to this server are made relative, so that equal searches look the same."""
    return bundle_json.render_query(
        (name, _make_relative(value, base) if base and base in value else value) for name, value in pairs
    )


def _make_relative(value: str, base: str) -> str:
    parts = (part.removeprefix(f"{base}/") if parse_reference(part, base) else part for part in value.split(","))
    return ",".join(parts)
