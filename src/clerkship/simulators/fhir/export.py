"""Bulk Data `$export` (Bulk Data Access 2.0): resources of the server, of all patients or of a Group, as NDJSON files.

An export has what was stored when it was requested. Its files are ready after `export_duration` of simulated time.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import groupby, product
from math import ceil

import orjson

from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import find_patients, list_objects
from clerkship.formats.fhir.search import SearchQuery, parse_query, search_keys
from clerkship.formats.fhir.search.parse import RESULT_PARAMETERS
from clerkship.model.frozen import Frozen
from clerkship.sandbox.authentication.scope import AccessGrant, Permission
from clerkship.sandbox.request import JSON
from clerkship.sandbox.route import HttpCall
from clerkship.simulators.fhir.access import list_patient_parameters, restrict_search
from clerkship.simulators.fhir.bundle_json import build_url
from clerkship.simulators.fhir.events import ExportCancelled, ExportStarted, ResourcesExported
from clerkship.simulators.fhir.history import parse_period
from clerkship.simulators.fhir.http import (
    GENERAL_PARAMETERS,
    Context,
    FhirRequest,
    FhirRoute,
    check_accepted_format,
    parse_preferences,
    parse_text_parameters,
)
from clerkship.simulators.fhir.inputs import QueryPairs
from clerkship.simulators.fhir.outcome import FHIR_JSON, check_permission, refusal, refusal_from_invalid
from clerkship.simulators.fhir.state import (
    ExportFile,
    ExportJob,
    FhirState,
    ResourceVersion,
    format_instant,
    parse_instant,
)
from clerkship.simulators.fhir.transaction import FhirResponse, Transaction, interaction
from clerkship.simulators.fhir.write import check_type, get_existing, parse_condition

NDJSON = "application/fhir+ndjson"
MAX_EXPORTS = 20
"""Exports that are not deleted: a broken agent must not keep many lists of a whole chart in memory."""
PATIENT, GROUP = "Patient", "Group"
_NEEDED: tuple[Permission, ...] = ("read", "search")
_FORMATS = frozenset({NDJSON, "application/ndjson", "ndjson"})
_PARAMETERS = frozenset({"_outputFormat", "_since", "_type", "_typeFilter"})
_NEXT_QUERY = re.compile(r",(?=[A-Z][A-Za-z]*\?)")
"""A comma between two searches of `_typeFilter`, not one in a value."""


class ExportInput(Frozen):
    """The input of `$export`."""

    level: str = ""
    """`Patient`, `Group`, or empty for all resources of the server."""
    id: str = ""
    """The id of the Group."""
    query: QueryPairs = ()
    ignored: tuple[str, ...] = ()
    """Unknown parameters of a request with lenient handling."""

    def list_values(self, name: str) -> list[str]:
        """Return the values of a parameter, which may be repeated."""
        return [value for key, value in self.query if key == name]


class ExportReference(Frozen):
    """The input of requests about an export and its files."""

    id: str
    file: str = ""


def read_export(level: str, request: FhirRequest) -> ExportInput:
    """Read the input of `$export`, from the query or from a Parameters resource."""
    if request.has_body:
        request.pairs += parse_text_parameters(request.parse_body())
    if "respond-async" not in parse_preferences(request.headers.get("prefer", "")):
        raise refusal(400, "required", "an export is asynchronous: send the header `Prefer: respond-async`")
    known = GENERAL_PARAMETERS | _PARAMETERS
    request.check_parameters(known)
    ignored = tuple(dict.fromkeys(name for name, _ in request.pairs if name not in known))
    query = tuple(pair for pair in request.pairs if pair[0] in _PARAMETERS)
    return ExportInput(level=level, id=request.params.get("id", ""), query=query, ignored=ignored)


@interaction(tool=False, scoped=True)
def export(transaction: Transaction, input: ExportInput) -> FhirResponse:
    """Start a Bulk Data export."""
    for format in input.list_values("_outputFormat"):
        if format.replace(" ", "+") not in _FORMATS:
            raise refusal(400, "not-supported", f"unsupported `_outputFormat` {format[:80]} (expected: {NDJSON})")
    types = _select_types(transaction.access, input)
    _check_access(transaction.access, types)
    for _, query in _parse_filters(filters := input.list_values("_typeFilter")):
        restrict_search(transaction, query)  # chains need a scope for each type
    if input.id:
        get_existing(transaction, f"{GROUP}/{input.id}")
    if len(transaction.state.exports) >= MAX_EXPORTS:
        raise refusal(429, "throttled", f"there are {MAX_EXPORTS} exports; delete one that is no longer needed")
    since = [parse_period(text, "_since", transaction.local_time)[0] for text in input.list_values("_since")]
    id, path = transaction.new_id("Export"), "/".join(filter(None, (input.level, input.id, "$export")))
    started = ExportStarted(
        id=id,
        request=build_url("", f"/{path}", input.query),
        level=input.level,
        group=input.id,
        types=types,
        since=format_instant(max(since)) if since else "",
        filters=tuple(filters),
    )
    transaction.note(started)
    ignored = f"; ignored: {', '.join(input.ignored)[:200]}" if input.ignored else ""
    message = f"the export {id} was started; poll the address in Content-Location{ignored}"
    return FhirResponse(202, message=message, headers={"Content-Location": f"{transaction.base}/_export/{id}"})


def _select_types(access: AccessGrant | None, input: ExportInput) -> tuple[str, ...]:
    """Return the types to export; none for all. By default a token gets the types that its scopes cover."""
    names = [name.strip() for value in input.list_values("_type") for name in value.split(",")]
    if names or access is None or any(scope.type == "*" for scope in access.scopes):
        return tuple(sorted({check_type(name) for name in names}))
    types = {scope.type for scope in access.scopes}
    return tuple(sorted(type for type in types if not any(access.is_limited(type, each) for each in _NEEDED)))


def _check_access(access: AccessGrant | None, types: tuple[str, ...]) -> None:
    """Refuse an access token that may not read and search these types of all patients; without any, all types."""
    if access is not None:
        for type, permission in product(types or ("",), _NEEDED):
            check_permission(access, permission, type)


def _parse_filters(texts: Iterable[str]) -> list[tuple[QueryPairs, SearchQuery]]:
    """Parse `_typeFilter`, such as `Observation?category=laboratory`; refuse invalid searches."""
    filters = []
    for text in (query for value in texts for query in _NEXT_QUERY.split(value)):
        type, pairs = check_type(text.partition("?")[0]), parse_condition(text)
        if "?" not in text or any(name in RESULT_PARAMETERS for name, _ in pairs):
            example = "a search such as Observation?category=laboratory, without result parameters"
            raise refusal(400, "value", f"`_typeFilter` must be {example}, not {text[:80]}")
        try:
            filters.append((pairs, parse_query(type, pairs)))
        except FhirError as error:
            raise refusal_from_invalid(error) from None
    return filters


@interaction(tool=False, scoped=True)
def export_status(transaction: Transaction, input: ExportReference) -> FhirResponse:
    """Return how far an export is, and the list of its files when they are ready."""
    job, base = _find_export(transaction, input.id), transaction.base
    left = (job.ready - transaction.action.now).total_seconds()
    if left > 0:
        percent = int(100 - 100 * left / transaction.settings.export_duration.total_seconds())
        return FhirResponse(202, headers={"Retry-After": str(ceil(left)), "X-Progress": f"{percent} % done"})
    manifest = {
        "transactionTime": format_instant(job.started),
        "request": f"{base}{job.request.request}",
        "requiresAccessToken": True,
        "output": [
            {"type": file.type, "url": f"{base}/_export/{input.id}/{file.name}", "count": len(file.versions)}
            for file in _list_files(transaction.state, job)
        ],
        "error": [],
    }
    return FhirResponse(200, orjson.dumps(manifest), media=JSON)


@interaction(tool=False, scoped=True)
def export_cancel(transaction: Transaction, input: ExportReference) -> FhirResponse:
    """Cancel an export, or delete its files."""
    _find_export(transaction, input.id)
    transaction.note(ExportCancelled(id=input.id))
    return FhirResponse(202, message=f"the export {input.id} was deleted")


@interaction(tool=False, scoped=True)
def export_file(transaction: Transaction, input: ExportReference) -> FhirResponse:
    """Download a file of an export, with one resource on each line."""
    job = _find_export(transaction, input.id)
    files = _list_files(transaction.state, job) if transaction.action.now >= job.ready else []
    file = next((file for file in files if file.name == input.file), None)
    if file is None:
        raise refusal(404, "not-found", f"the export {input.id} has no file {input.file[:80]}")
    found = tuple(f"{key}/_history/{version.id}" for key, version in file.versions)
    transaction.note(ResourcesExported(id=input.id, file=file.name, type=file.type, found=found))
    return FhirResponse(200, b"".join(b"%b\n" % (version.data or b"") for _, version in file.versions), media=NDJSON)


def _find_export(transaction: Transaction, id: str) -> ExportJob:
    job = transaction.state.exports.get(id)
    if job is None:
        raise refusal(404, "not-found", f"there is no export {id[:80]}")
    _check_access(transaction.access, job.request.types)
    return job


def _list_files(state: FhirState, job: ExportJob) -> list[ExportFile]:
    """Return the files of an export, of one type and at most `max_page_size` resources each. They are found once."""
    if job.files is None:
        job.files, size = [], state.config.max_page_size
        for type, group in groupby(_select_versions(state, job), lambda item: item[0].partition("/")[0]):
            versions = list(group)
            for number, start in enumerate(range(0, len(versions), size), 1):
                job.files.append(ExportFile(type, f"{type}.{number}.ndjson", versions[start : start + size]))
    return job.files


def _select_versions(state: FhirState, job: ExportJob) -> Iterator[tuple[str, ResourceVersion]]:
    """Yield the key and version of each resource in an export, in the order of type and id."""
    request, view = job.request, state.rebuild(job.changes)
    since = datetime.fromisoformat(request.since) if request.since else None
    entries = list_objects(view.resource(f"{GROUP}/{request.group}"), "member") if request.group else []
    members = find_patients([each.get("entity") for each in entries if each.get("inactive") is not True])
    filters = _parse_filters(request.filters)
    for type in request.types or sorted(RESOURCE_TYPES):
        if request.level and list_patient_parameters(type) is None:
            continue
        searches = [pairs for pairs, query in filters if query.type == type] or [()]
        for key in sorted({key for pairs in searches for key in search_keys(view, type, pairs)}):
            version = view.version(key)
            assert version is not None
            updated = parse_instant(version.updated) if since is not None else None
            if since is not None and (updated is None or updated < since):
                continue
            patients = find_patients(orjson.loads(version.data or b"{}")) if request.level else set()
            if not request.level or (patients & members if request.group else patients):
                yield key, version


def parse_download(call: HttpCall, context: Context) -> ExportReference:
    """Read the input of a download. The client may ask for NDJSON."""
    if "ndjson" not in call.request.headers.get("accept", ""):
        check_accepted_format(call.request.headers, None)
    return ExportReference(**call.params)


def _build_start_routes(level: str, path: str, name: str, what: str) -> tuple[FhirRoute, FhirRoute]:
    """Return the routes that start an export, by GET and by POST."""
    read, start = partial(read_export, level), f"Start a Bulk Data export of {what}"
    by_post = export.copy_as(f"{name}_by_post", f"{start}, with the parameters in a Parameters resource in the body.")
    return (
        FhirRoute("GET", path, export.copy_as(name, f"{start}, as NDJSON files."), read, in_bundle=False),
        FhirRoute("POST", path, by_post, read, in_bundle=False, media=FHIR_JSON),
    )


_heavy_route = partial(FhirRoute, "GET", in_bundle=False, is_heavy=lambda request: True)
EXPORT_ROUTES = (
    *_build_start_routes("", "/$export", "export", "all resources"),
    *_build_start_routes(PATIENT, "/Patient/$export", "patient_export", "the records of all patients"),
    *_build_start_routes(GROUP, "/Group/{id}/$export", "group_export", "the records of the members of a Group"),
    _heavy_route("/_export/{id}", export_status),
    FhirRoute("DELETE", "/_export/{id}", export_cancel, in_bundle=False),
    _heavy_route("/_export/{id}/{file}", export_file, parse=parse_download),
)
