"""`Patient/[id]/$everything`: the compartment of a patient and the resources it refers to (R4 Patient/$everything)."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field

from clerkship.formats.fhir.resource import list_references, parse_reference
from clerkship.formats.fhir.search import search_keys
from clerkship.formats.fhir.search.compartment import compartment_parameters, list_compartment_members
from clerkship.formats.fhir.search_parameters import get_parameters
from clerkship.model.frozen import Frozen
from clerkship.simulators.fhir import bundle_json
from clerkship.simulators.fhir.access import can_read, check_compartment
from clerkship.simulators.fhir.events import ResourcesSearched
from clerkship.simulators.fhir.history import CURSOR, parse_period
from clerkship.simulators.fhir.inputs import CURSOR_DESCRIPTION, PAGING_HINT, OptionalNumber, OptionalText, query_pairs
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.search import render_logged_query
from clerkship.simulators.fhir.state import parse_instant
from clerkship.simulators.fhir.transaction import FhirResponse, Transaction, interaction
from clerkship.simulators.fhir.write import check_type, get_existing

PATIENT = "Patient"
_DATE_PARAMETERS = (
    *("authoredon", "authored", "authored-on", "date", "onset-date", "effective-time", "effective"),
    *("whenhandedover", "started", "collected", "occurrence", "sent", "created", "recorded", "identified"),
    *("datetime", "datewritten", "start-date", "period"),
)
"""Search parameters for the date of care. The first that a type has is used; types without one are not filtered."""


class EverythingInput(Frozen):
    """The input of `$everything`."""

    id: Annotated[str, Field(description="the patient's id, such as 42 of Patient/42")]
    since: Annotated[
        OptionalText, Field(alias="_since", description="only resources changed at or after this instant")
    ] = None
    types: Annotated[OptionalText, Field(alias="_type", description="only these types, separated by commas")] = None
    start: Annotated[
        OptionalText, Field(alias="start", description="only resources about care on or after this date")
    ] = None
    end: Annotated[OptionalText, Field(alias="end", description="only resources about care on or before this date")] = (
        None
    )
    count: Annotated[
        OptionalNumber, Field(alias="_count", description="number of resources on a page; all if not given")
    ] = None
    cursor: Annotated[OptionalText, Field(alias=CURSOR, description=CURSOR_DESCRIPTION)] = None


class EverythingScope(NamedTuple):
    """Which resources of the record to return."""

    types: frozenset[str]
    since: datetime | None
    start: str
    end: str


class RankedResource(NamedTuple):
    """A resource in the response, with its rank in the order."""

    rank: int
    """0: the patient; 1: the compartment; 2: resources that those refer to."""
    key: str


@interaction(shorter_hint=PAGING_HINT, scoped=True)
def everything(transaction: Transaction, input: EverythingInput) -> FhirResponse:
    """Return all resources about one patient (FHIR R4 $everything), as a Bundle; a next link leads to more."""
    patient = RankedResource(0, f"{PATIENT}/{input.id}")
    check_compartment(transaction, PATIENT, input.id)
    get_existing(transaction, patient.key)
    scope = _parse_scope(transaction, input)
    compartment = sorted(_find_compartment(transaction, input.id, scope))
    referenced = sorted(_find_referenced(transaction, [patient, *compartment]))
    resources = [item for item in (patient, *compartment, *referenced) if _is_in_scope(transaction, item, scope)]
    return _build_page(transaction, input, resources)


everything_by_post = everything.copy_as(
    "everything_by_post",
    "Return all resources about one patient, with the parameters in a Parameters resource in the body.",
)


def _parse_scope(transaction: Transaction, input: EverythingInput) -> EverythingScope:
    local_time = transaction.local_time
    types = frozenset(check_type(type) for type in (input.types or "").split(",") if type)
    since = parse_period(input.since, "_since", local_time)[0] if input.since is not None else None
    for name, date in (("start", input.start), ("end", input.end)):
        if date is not None:
            parse_period(date, name, local_time)
    return EverythingScope(types, since, input.start or "", input.end or "")


def _find_compartment(transaction: Transaction, id: str, scope: EverythingScope) -> set[RankedResource]:
    """Return the resources in the patient's compartment, other than the patient."""
    keys: set[str] = set()
    for type in list_compartment_members(PATIENT):
        own: set[str] = set()
        for parameter in compartment_parameters(PATIENT, type):
            own.update(search_keys(transaction, type, [(parameter, f"{PATIENT}/{id}")]))
        keys |= own & _find_in_period(transaction, type, scope) if own and (scope.start or scope.end) else own
    return {RankedResource(1, key) for key in keys if key != f"{PATIENT}/{id}"}


def _find_in_period(transaction: Transaction, type: str, scope: EverythingScope) -> set[str]:
    """Return the keys of resources of a type that are dated in the requested period, or have no date."""
    name = next(
        (
            name
            for name in _DATE_PARAMETERS
            if name in get_parameters(type) and get_parameters(type)[name].type == "date"
        ),
        "",
    )
    if not name:
        return set(search_keys(transaction, type, []))
    bounds = [(name, f"{sign}{date}") for sign, date in (("ge", scope.start), ("le", scope.end)) if date]
    return {*search_keys(transaction, type, bounds), *search_keys(transaction, type, [(f"{name}:missing", "true")])}


def _find_referenced(transaction: Transaction, resources: Iterable[RankedResource]) -> set[RankedResource]:
    """Return the resources that these refer to, directly or not, and that are in no patient's compartment.

    Examples are practitioners, locations and medications.
    """
    compartment_types = frozenset(list_compartment_members(PATIENT))
    keys: set[str] = set()
    new_keys = [resource.key for resource in resources]
    while new_keys:
        targets = {target for key in new_keys for target in _find_targets(transaction, key)}
        new_keys = [
            key for key in targets - keys if key.partition("/")[0] not in compartment_types and transaction.exists(key)
        ]
        keys.update(new_keys)
    return {RankedResource(2, key) for key in keys}


def _find_targets(transaction: Transaction, key: str) -> Iterator[str]:
    for _, holder in list_references(transaction.resource(key)):
        target = parse_reference(holder["reference"])
        if target is not None:
            yield target.key


def _is_in_scope(transaction: Transaction, resource: RankedResource, scope: EverythingScope) -> bool:
    if scope.types and resource.key.partition("/")[0] not in scope.types:
        return False
    if not can_read(transaction, resource.key):
        return False
    version = transaction.version(resource.key)
    updated = parse_instant(version.updated) if version is not None else None
    return scope.since is None or (updated is not None and updated >= scope.since)


def _build_page(transaction: Transaction, input: EverythingInput, resources: list[RankedResource]) -> FhirResponse:
    after = _parse_cursor(input.cursor)
    remaining = [resource for resource in resources if after is None or resource > after]
    page = remaining if input.count is None else remaining[: min(input.count, transaction.settings.max_page_size)]
    query, base, path = query_pairs(input), transaction.base, f"/{PATIENT}/{input.id}/$everything"
    transaction.note(
        ResourcesSearched(
            type=PATIENT,
            query=render_logged_query(query, base),
            total=len(resources),
            found=tuple(resource.key for resource in page if resource.rank < 2),
            included=tuple(resource.key for resource in page if resource.rank == 2),
            within=f"{PATIENT}/{input.id}",
            operation="$everything",
        )
    )
    links = [("self", bundle_json.build_url(base, path, query))]
    if page and len(page) < len(remaining):
        next_query = [*(pair for pair in query if pair[0] != CURSOR), (CURSOR, f"{page[-1].rank}:{page[-1].key}")]
        links.append(("next", bundle_json.build_url(base, path, next_query)))
    entries = [
        bundle_json.render_match(
            base, resource.key, transaction.data(resource.key) or b"null", "include" if resource.rank == 2 else "match"
        )
        for resource in page
    ]
    return FhirResponse(200, bundle_json.render_bundle("searchset", links, entries, len(resources)))


def _parse_cursor(text: str | None) -> RankedResource | None:
    if text is None:
        return None
    rank, _, key = text.partition(":")
    if rank not in ("0", "1", "2"):
        raise refusal(400, "value", f"`{CURSOR}` must be the value from a `next` link")
    return RankedResource(int(rank), key)
