"""Resolve references between the resources of a dataset to `Type/id`, and assign ids to resources without one.

The entries of a transaction refer to each other by `urn:uuid:…`, and to other Bundles by query (R4 §3.1.0.11.2). The
whole dataset is resolved at once, so the order of files does not matter.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from urllib.parse import parse_qsl, unquote

from clerkship.formats.fhir.chart import Chart, UnchangedView
from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import Resource, parse_resource, render_resource
from clerkship.formats.fhir.search import search_keys
from clerkship.simulators.fhir.datasets.entries import DatasetEntry

_ADDRESS = re.compile(
    rb'"reference":"((?:urn:|https?://|[A-Z][A-Za-z]+\?)[^"\\]*)"'
    rb'|"(?:url|valueUri|valueUrl)":"(urn:(?:uuid|oid):[^"\\]*)"'
    rb'|(?:href|src)=\\"(urn:(?:uuid|oid):[^"\\]*)\\"'
)
"""Where a reference may be in the bytes of a resource. Quotes inside a text are escaped with a backslash."""
_ADDRESS_MARKERS = (b"urn:", b'"reference":"http', b"?")
"""A quick test: a resource without one of these has no reference to resolve."""
_VERSION = re.compile(r"(.*)(/_history/[A-Za-z0-9\-.]{1,64})")


class UnresolvedReference(Exception):
    """A reference by query matches no resource, or several."""


class ReferenceResolver:
    """All entries of a dataset with their ids, and what their references mean."""

    def __init__(self, entries: Iterable[DatasetEntry]) -> None:
        all_entries = list(entries)
        for entry in all_entries:
            entry.id = entry.id or _build_stable_id(entry.resource)
        representatives = _merge_conditional(all_entries)
        self.entries = [entry for entry in all_entries if representatives.get(id(entry), entry) is entry]
        self._keys_in_bundle: dict[tuple[int, str], str] = {}
        self._keys_in_dataset: dict[str, set[str]] = defaultdict(set)
        for entry in all_entries:
            key = representatives.get(id(entry), entry).key
            if entry.url:
                self._keys_in_bundle[(entry.scope, entry.url)] = key
                self._keys_in_dataset[entry.url].add(key)
        self._queries: dict[str, str | UnresolvedReference] = {}
        self._view: UnchangedView | None = None

    def resolve_entry(self, entry: DatasetEntry) -> tuple[Resource, list[str]]:
        """Return the resource of an entry with its id and resolved references, and a message for each that failed."""
        resource = {**entry.resource, "id": entry.id}
        line = render_resource(resource)
        messages: list[str] = []
        if not any(marker in line for marker in _ADDRESS_MARKERS):
            return resource, messages

        def replace(match: "re.Match[bytes]") -> bytes:
            address = next(group for group in match.groups() if group is not None)
            try:
                key = self._find_key(entry.scope, address.decode())
            except UnresolvedReference as bad:
                messages.append(str(bad))
                return match[0]
            return match[0] if key is None else match[0].replace(address, key.encode())

        changed = _ADDRESS.sub(replace, line)
        return (resource if changed == line else parse_resource(changed)), messages

    def _find_key(self, scope: int, address: str) -> str | None:
        if not address.startswith(("urn:", "http://", "https://")):
            return self._find_by_query(address)
        versioned = _VERSION.fullmatch(address)
        plain, version = (versioned[1], versioned[2]) if versioned is not None else (address, "")
        key = self._keys_in_bundle.get((scope, plain))
        elsewhere = self._keys_in_dataset.get(plain, ())
        if key is None and len(elsewhere) == 1:
            key = next(iter(elsewhere))
        return None if key is None else key + version

    def _find_by_query(self, address: str) -> str:
        if address not in self._queries:
            self._queries[address] = self._search(address)
        key = self._queries[address]
        if isinstance(key, UnresolvedReference):
            raise key
        return key

    def _search(self, address: str) -> str | UnresolvedReference:
        if self._view is None:
            self._view = UnchangedView(
                Chart(render_resource({**entry.resource, "id": entry.id}) for entry in self.entries)
            )
        type, _, query = address.partition("?")
        try:
            keys = search_keys(self._view, type, parse_qsl(query, keep_blank_values=True))
        except FhirError as invalid:
            return UnresolvedReference(f"`{address}` is not a query: {invalid}")
        if len(keys) == 1:
            return keys[0]
        matches = f"{len(keys)} match: {', '.join(sorted(keys)[:3])}" if keys else "none in this dataset matches"
        return UnresolvedReference(f"`{address}` must match one resource, but {matches}")


def _build_stable_id(resource: Resource) -> str:
    """Return an id from the content of the resource, so that it does not depend on the order of files."""
    return hashlib.sha256(render_resource(resource)).hexdigest()[:32]


def _merge_conditional(entries: Sequence[DatasetEntry]) -> dict[int, DatasetEntry]:
    """Return for each entry of a conditional create the entry that replaces it, by the `id()` of the former.

    Entries with the same condition are one resource, as they would be on a server.
    """
    groups: dict[tuple[str, str], list[DatasetEntry]] = defaultdict(list)
    for entry in entries:
        if entry.condition:
            groups[(entry.resource["resourceType"], unquote(entry.condition))].append(entry)
    if not groups:
        return {}
    types = {type for type, _ in groups}
    existing: dict[tuple[str, str], list[DatasetEntry]] = defaultdict(list)
    for entry in entries:
        if not entry.condition and entry.resource["resourceType"] in types:
            for query in _list_identifier_queries(entry.resource):
                existing[(entry.resource["resourceType"], query)].append(entry)
    representatives: dict[int, DatasetEntry] = {}
    for group, members in groups.items():
        first = min(existing.get(group) or members, key=lambda entry: (entry.key, render_resource(entry.resource)))
        representatives |= {id(entry): first for entry in members}
    return representatives


def _list_identifier_queries(resource: Resource) -> list[str]:
    """Return the queries by identifier that would find the resource."""
    identifiers = resource.get("identifier")
    items = identifiers if isinstance(identifiers, list) else [identifiers]
    return [f"identifier={i.get('system', '')}|{i.get('value', '')}" for i in items if isinstance(i, dict)]
