"""Batches and transactions (R4 http: batch/transaction): entries run one by one, or all of them or none."""

import re
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, NamedTuple

from pydantic import Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from clerkship.formats.fhir.definitions import RESOURCE_TYPES
from clerkship.formats.fhir.issue import build_operation_outcome
from clerkship.formats.fhir.resource import render_resource
from clerkship.kit.descriptors import pause_garbage_collection
from clerkship.model.frozen import Frozen
from clerkship.sandbox.request import Refusal, Request
from clerkship.sandbox.route import find_route
from clerkship.simulators.fhir import bundle_json
from clerkship.simulators.fhir.body import MAX_BUNDLE_ELEMENTS, MAX_RESOURCE_ELEMENTS, check_resource, has_more_elements
from clerkship.simulators.fhir.bundle_entries import BundleEntry, locate_refusals, parse_bundle, parse_entry
from clerkship.simulators.fhir.events import BundleProcessed
from clerkship.simulators.fhir.http import FhirRequest, FhirRoute, find_return_preference, render_message
from clerkship.simulators.fhir.outcome import refusal, to_issues
from clerkship.simulators.fhir.transaction import FhirResponse, Transaction
from clerkship.simulators.fhir.write import (
    ConditionalDeleteInput,
    ConditionalPatchInput,
    ConditionalUpdateInput,
    CreateInput,
    DeleteInput,
    PatchInput,
    UpdateInput,
    check_id,
    find_patch_target,
    find_unique_match,
    find_update_target,
    parse_condition,
    patch,
    resolve_conditional_patch,
    resolve_conditional_update,
    respond_with_existing,
    update,
)

_LINK_ATTRIBUTE = re.compile(r"""(\b(?:href|src)\s*=\s*)(["'])(.*?)\2""")
_ALWAYS_REWRITTEN = frozenset({"reference", "div"})
_NOT_REFERENCES = frozenset({"id", "value", "display", "text", "system", "versionId", "lastUpdated", "fullUrl"})
"""Elements that are never references, even if they look like one: the value of an identifier may be `urn:uuid:…`."""
_RESTFUL_URL = re.compile(r"(https?://.+)/[A-Z][A-Za-z]+/[A-Za-z0-9\-.]{1,64}(?:/_history/[A-Za-z0-9\-.]{1,64})?")
_RELATIVE_REFERENCE = re.compile(r"[A-Z][A-Za-z]+/[A-Za-z0-9\-.]{1,64}")
_URN_PREFIXES = ("urn:uuid:", "urn:oid:")
Resolve = Callable[[str], str]
"""Returns the key for a conditional reference, `Patient?identifier=x|1`, or for a URN that no entry has."""


class ReferenceMap(NamedTuple):
    """What the references in one entry refer to."""

    keys_by_full_url: Mapping[str, str]
    """The keys of the entries, by fullUrl."""
    base: str
    """The base URL of relative references in this entry."""
    resolve: Resolve


def find_base_url(full_url: str) -> str:
    """Return the base URL of the server in a fullUrl; empty if it has none.

    Relative references in the entry are relative to it (R4 bundle: references).
    """
    match = _RESTFUL_URL.fullmatch(full_url)
    return match[1] if match is not None else ""


def rewrite_references(resource: Any, references: ReferenceMap) -> Any:
    """Return a copy in which references to other entries, and conditional references, are replaced by `Type/id`."""
    if isinstance(resource, dict):
        return {
            name: value
            if type(value) is str and ":" not in value and name not in _ALWAYS_REWRITTEN  # most elements
            else _rewrite_value(name, value, references)
            for name, value in resource.items()
        }
    return [rewrite_references(item, references) for item in resource] if isinstance(resource, list) else resource


def _rewrite_value(name: str, value: Any, references: ReferenceMap) -> Any:
    if isinstance(value, list):
        return [_rewrite_value(name, item, references) for item in value]
    if not isinstance(value, str):
        return rewrite_references(value, references)
    if name == "reference":
        return _rewrite_reference(value, references)
    keys = references.keys_by_full_url
    if name == "div":
        return _LINK_ATTRIBUTE.sub(lambda match: f"{match[1]}{match[2]}{keys.get(match[3], match[3])}{match[2]}", value)
    return keys.get(value, value) if ":" in value and name not in _NOT_REFERENCES else value


def _rewrite_reference(value: str, references: ReferenceMap) -> str:
    """Rewrite one reference. A reference that names no entry is kept: it refers to a resource on this server."""
    full_url = f"{references.base}/{value}" if _RELATIVE_REFERENCE.fullmatch(value) else value
    if full_url in references.keys_by_full_url:
        return references.keys_by_full_url[full_url]
    type, question_mark, _ = value.partition("?")
    return (
        references.resolve(value)
        if (question_mark and type in RESOURCE_TYPES) or value.startswith(_URN_PREFIXES)
        else value
    )


_READ_METHODS = frozenset({"GET", "HEAD"})
_WRITE_METHODS = frozenset({"POST", "PUT", "PATCH"})
_BUNDLE_SCHEMA = {
    "type": "object",
    "properties": {
        "resourceType": {"const": "Bundle"},
        "type": {"enum": ["batch", "transaction"]},
        "entry": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["resourceType", "type"],
}


class BundleInput(Frozen):
    """The input of a batch or transaction."""

    resource: Annotated[
        Any,
        Field(
            description="a Bundle of type batch or transaction; each entry has a `request` with `method` and `url`,"
            " and a `resource` if it writes one"
        ),
        WithJsonSchema(_BUNDLE_SCHEMA),
    ]
    prefer: SkipJsonSchema[str | None] = None
    """The Prefer header of the request; it applies to each entry."""


@pause_garbage_collection()
def read_bundle(request: FhirRequest) -> BundleInput:
    """Read a Bundle from an HTTP request."""
    bundle = request.parse_body(MAX_BUNDLE_ELEMENTS)
    if has_more_elements(request.body, MAX_RESOURCE_ELEMENTS) and isinstance(bundle, dict):
        entries = bundle.get("entry")
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            check_resource(entry, f"Bundle.entry[{number}]")
    return BundleInput(resource=bundle, prefer=request.headers.get("prefer"))


def process_bundle(transaction: Transaction, input: BundleInput, routes: Sequence[FhirRoute]) -> FhirResponse:
    """Process a batch or transaction; its entries are requests for these routes."""
    type, entries = parse_bundle(input.resource, transaction.settings.max_entries)
    processor = BundleProcessor(transaction, routes, input.prefer)
    rendered, statuses = processor.process_batch(entries) if type == "batch" else processor.process_transaction(entries)
    transaction.note(BundleProcessed(type=type, entries=len(entries), statuses=tuple(statuses)))
    return FhirResponse(200, bundle_json.render_bundle(f"{type}-response", (), rendered))


class BundleProcessor:
    """Processes the entries of one Bundle."""

    def __init__(self, transaction: Transaction, routes: Sequence[FhirRoute], prefer: str | None) -> None:
        self.transaction = transaction
        self.routes = routes
        self.headers = {"prefer": prefer} if prefer is not None else {}
        self.returns_resources = find_return_preference(self.headers, "minimal") == "representation"
        self._keys_by_full_url: dict[str, str] = {}
        self._entries_by_key: dict[str, BundleEntry] = {}

    def _find_interaction(self, entry: BundleEntry) -> None:
        """Find the interaction of an entry, and read its input."""
        route, params = find_route(self.routes, Request(entry.method, entry.path))
        assert isinstance(route, FhirRoute)
        if not route.in_bundle:
            raise refusal(400, "not-supported", f"{route.operation.name} is not allowed in a Bundle")
        headers, address = {**self.headers, **entry.headers}, self.transaction.address
        max_depth = self.transaction.settings.max_depth
        request = FhirRequest(params, entry.pairs, headers, address, max_depth, b"", entry.resource, "minimal")
        entry.interaction, entry.input = route.interaction, route.read(request)
        if self.transaction.access is not None:  # before any entry runs
            route.interaction.check_scopes(self.transaction.access, entry.input)

    # Batch: each entry on its own.

    def process_batch(self, entries: list[Any]) -> tuple[list[bytes], list[int]]:
        """Process each entry in a transaction of its own."""
        rendered, statuses = [], []
        outer = self.transaction
        for number, data in enumerate(entries):
            try:
                with Transaction(outer.state, outer.action, outer.address, outer.access) as transaction:
                    entry = parse_entry(number, data, transaction)
                    with locate_refusals(transaction, entry):
                        self._find_interaction(entry)
                        response = _execute(transaction, entry)
                        transaction.check()
                    body = self._render_response(response, entry)
            except Refusal as refused:
                response = FhirResponse(refused.status)
                body = bundle_json.render_response_entry(
                    {"status": _render_status(refused.status)},
                    outcome=render_resource(build_operation_outcome(to_issues(refused))),
                )
            rendered.append(body)
            statuses.append(response.status)
        return rendered, statuses

    # Transaction (R4 http: processing order): deletes, then ids for all written resources, then creates, updates and
    # patches with their references rewritten, then reads.

    def process_transaction(self, data: list[Any]) -> tuple[list[bytes], list[int]]:
        """Process all entries or none: a refusal propagates, and the transaction rolls back."""
        entries = [parse_entry(number, item, self.transaction) for number, item in enumerate(data)]
        responses: dict[int, FhirResponse] = {}
        for entry in entries:
            with locate_refusals(self.transaction, entry):
                self._find_interaction(entry)
        for entry in entries:
            if entry.method == "DELETE":
                responses[entry.number] = self._delete(entry)
        for entry in entries:
            if entry.method in _WRITE_METHODS:
                self._identify(entry, responses)
        for entry in sorted(entries, key=lambda item: item.method != "POST"):
            if entry.method in _WRITE_METHODS and entry.number not in responses:
                responses[entry.number] = self._write(entry)
        self.transaction.check()
        for entry in entries:
            if entry.method in _READ_METHODS:
                with locate_refusals(self.transaction, entry):
                    responses[entry.number] = _execute(self.transaction, entry)
        ordered = [responses[entry.number] for entry in entries]
        rendered = [self._render_response(response, entry) for response, entry in zip(ordered, entries, strict=True)]
        return rendered, [response.status for response in ordered]

    def _delete(self, entry: BundleEntry) -> FhirResponse:
        with locate_refusals(self.transaction, entry):
            match entry.input:
                case ConditionalDeleteInput(type=type, query=query):
                    entry.key = find_unique_match(self.transaction, type, query) or ""
                case DeleteInput(type=type, id=id):
                    entry.key = f"{type}/{id}"
            self._claim(entry)
            return _execute(self.transaction, entry)

    def _claim(self, entry: BundleEntry) -> None:
        """Refuse two entries that change the same resource (R4 http: transaction integrity)."""
        other = self._entries_by_key.setdefault(entry.key, entry) if entry.key else entry
        if other is not entry:
            raise refusal(400, "duplicate", f"{entry.key} is already changed by entry {other.number}")

    def _identify(self, entry: BundleEntry, responses: dict[int, FhirResponse]) -> None:
        """Find the resource that an entry changes, and record it under the entry's fullUrl."""
        with locate_refusals(self.transaction, entry):
            match entry.input:
                case CreateInput() as new:
                    self._identify_new(entry, new, responses)
                case UpdateInput() | ConditionalUpdateInput() as input:
                    self._identify_updated(entry, input)
                case PatchInput(type=type, id=id):
                    entry.key = f"{type}/{id}"
                    self._claim(entry)
                case ConditionalPatchInput() as input:
                    entry.key = find_patch_target(self.transaction, input)
                    entry.interaction, entry.input = patch, resolve_conditional_patch(input, entry.key)
                    self._claim(entry)
            if not entry.key:
                return
            if entry.full_url and self._keys_by_full_url.setdefault(entry.full_url, entry.key) != entry.key:
                raise refusal(400, "duplicate", f"two entries have the fullUrl {entry.full_url[:200]}")

    def _identify_new(self, entry: BundleEntry, new: CreateInput, responses: dict[int, FhirResponse]) -> None:
        condition = new.if_none_exist
        existing_key = find_unique_match(self.transaction, new.type, condition) if condition is not None else None
        if existing_key is not None:
            entry.key, responses[entry.number] = (
                existing_key,
                respond_with_existing(self.transaction, existing_key, new),
            )
            return
        entry.key = f"{new.type}/{self.transaction.new_id(new.type)}"
        self._stage_for_search(entry)

    def _identify_updated(self, entry: BundleEntry, input: UpdateInput | ConditionalUpdateInput) -> None:
        if isinstance(input, UpdateInput):
            entry.key = f"{input.type}/{input.id}"
        else:
            existing_key = find_update_target(self.transaction, input)
            entry.key = existing_key or f"{input.type}/{self.transaction.new_id(input.type)}"
            entry.interaction, entry.input = update, resolve_conditional_update(input, entry.key)
        check_id(entry.key.partition("/")[2])
        self._claim(entry)
        self._stage_for_search(entry)

    def _stage_for_search(self, entry: BundleEntry) -> None:
        """Let the conditions of later entries find the resource that this entry writes."""
        resource = entry.input.resource
        if isinstance(resource, dict) and resource.get("resourceType") == entry.key.partition("/")[0]:
            self.transaction.stage_for_search(entry.key, {**resource, "id": entry.key.partition("/")[2]})

    def _write(self, entry: BundleEntry) -> FhirResponse:
        with locate_refusals(self.transaction, entry):
            references = ReferenceMap(
                self._keys_by_full_url, find_base_url(entry.full_url) or self.transaction.base, self._resolve
            )
            match entry.input:
                case CreateInput() as new:
                    id, resource = entry.key.partition("/")[2], rewrite_references(new.resource, references)
                    entry.input = CreateInput(type=new.type, id=id, resource=resource, returns=new.returns)
                case UpdateInput() as input:
                    entry.input = input.model_copy(update={"resource": rewrite_references(input.resource, references)})
                case PatchInput() as input:
                    entry.input = input.model_copy(
                        update={"operations": rewrite_references(input.operations, references)}
                    )
            return _execute(self.transaction, entry)

    def _resolve(self, reference: str) -> str:
        """Return the resource that a conditional reference matches (R4 http).

        Refuse a URN that is not the fullUrl of an entry.
        """
        if reference.startswith("urn:"):
            if self.transaction.settings.references == "checked":
                raise refusal(422, "not-found", f"no entry has the fullUrl {reference[:200]}")
            return reference
        type = reference.partition("?")[0]
        key = find_unique_match(self.transaction, type, parse_condition(reference))
        if key is None:
            raise refusal(412, "not-found", f"no {type} matches the reference {reference[:200]}")
        return key

    def _render_response(self, response: FhirResponse, entry: BundleEntry) -> bytes:
        fields = {"status": _render_status(response.status)}
        version = response.version  # None if a conditional create matched a resource that a later entry writes
        if version is None and response.key:
            version = self.transaction.version(response.key)
        if version is not None and response.key:
            fields["location"] = f"{response.key}/_history/{version.id}"
        if version is not None:
            fields["etag"] = version.etag
            if version.updated:
                fields["lastModified"] = version.updated
        data, full_url = response.body if entry.method != "HEAD" else b"", ""
        if response.key and version is not None:
            full_url = f"{self.transaction.base}/{response.key}"
            data = (version.data or b"") if self.returns_resources else b""
        return bundle_json.render_response_entry(
            fields, full_url, data, render_message(response.message) if response.message else b""
        )


def _execute(transaction: Transaction, entry: BundleEntry) -> FhirResponse:
    assert entry.interaction is not None
    return entry.interaction.execute(transaction, entry.input)


def _render_status(status: int) -> str:
    return f"{status} {HTTPStatus(status).phrase}"
