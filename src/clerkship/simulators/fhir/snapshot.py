"""The chart as it was at an earlier time, and what an export takes from it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import groupby
from typing import Any, TypeVar, cast

import orjson

from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import Resource, find_patients, list_objects, parse_resource
from clerkship.formats.fhir.search import parse_query, search_keys
from clerkship.formats.fhir.search.parse import RESULT_PARAMETERS
from clerkship.simulators.fhir.access import list_patient_parameters
from clerkship.simulators.fhir.inputs import QueryPairs
from clerkship.simulators.fhir.outcome import refusal, refusal_from_invalid
from clerkship.simulators.fhir.state import (
    ExportFile,
    ExportJob,
    FhirState,
    ResourceVersion,
    find_chart_version,
    parse_instant,
)
from clerkship.simulators.fhir.write import check_type, parse_condition

T = TypeVar("T")
_NEXT_QUERY = re.compile(r",(?=[A-Z][A-Za-z]*\?)")
"""A comma between two queries of `_typeFilter`, not one in a value."""


class SnapshotView:
    """The chart after a number of changes. It implements `ChartView`, so that searches can run on it."""

    def __init__(self, state: FhirState, changes: int) -> None:
        self.chart, self.zone = state.chart, state.zone
        self._changed: dict[str, dict[str, ResourceVersion]] = {}
        self._parsed: dict[str, dict[str, Resource | None]] = {}
        self._cache: dict[str, Any] = {}
        for key, version in state.changes_in_order[:changes]:
            self._changed.setdefault(key.partition("/")[0], {})[key] = version

    def version(self, key: str) -> ResourceVersion | None:
        """Return the version of a resource at that time."""
        changed = self._changed.get(key.partition("/")[0], {})
        return changed[key] if key in changed else find_chart_version(self.chart, key)

    def resource(self, key: str) -> Resource | None:
        version = self.version(key)
        return parse_resource(version.data) if version is not None and version.data is not None else None

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        if type not in self._parsed:
            self._parsed[type] = {key: self.resource(key) for key in self._changed.get(type, ())}
        return self._parsed[type]

    def cache_until_changed(self, type: str, build: Callable[[], T]) -> T:
        if type not in self._cache:
            self._cache[type] = build()
        return cast(T, self._cache[type])

    def list_types(self) -> list[str]:
        """Return the types that occur, sorted."""
        return sorted({*self.chart.types, *self._changed})


def parse_filters(texts: Iterable[str]) -> list[tuple[str, QueryPairs]]:
    """Parse `_typeFilter`, such as `Observation?category=laboratory`; refuse invalid searches."""
    filters = []
    for text in (query for value in texts for query in _NEXT_QUERY.split(value)):
        type, pairs = check_type(text.partition("?")[0]), parse_condition(text)
        if "?" not in text or any(name in RESULT_PARAMETERS for name, _ in pairs):
            example = "a search such as Observation?category=laboratory, without result parameters"
            raise refusal(400, "value", f"`_typeFilter` must be {example}, not {text[:80]}")
        try:
            parse_query(type, pairs)
        except FhirError as error:
            raise refusal_from_invalid(error) from None
        filters.append((type, pairs))
    return filters


def build_files(state: FhirState, job: ExportJob) -> list[ExportFile]:
    """Return the files of an export, of one type and at most `max_page_size` resources each."""
    files, size = [], state.config.max_page_size
    for type, group in groupby(_select(state, job), lambda item: item[0].partition("/")[0]):
        versions = list(group)
        for number, start in enumerate(range(0, len(versions), size), 1):
            files.append(ExportFile(type, f"{type}.{number}.ndjson", versions[start : start + size]))
    return files


def _select(state: FhirState, job: ExportJob) -> Iterator[tuple[str, ResourceVersion]]:
    """Yield the key and version of each resource in an export, in the order of type and id."""
    request, view = job.request, SnapshotView(state, job.changes)
    since = datetime.fromisoformat(request.since) if request.since else None
    members = _list_members(view.resource(f"Group/{request.group}")) if request.group else None
    filters = parse_filters(request.filters)
    for type in request.types or view.list_types():
        if request.level and list_patient_parameters(type) is None:
            continue
        queries = [pairs for each, pairs in filters if each == type] or [()]
        for key in sorted({key for pairs in queries for key in search_keys(view, type, pairs)}):
            version = view.version(key)
            assert version is not None
            assert version.data is not None
            updated = parse_instant(version.updated) if since is not None else None
            if since is not None and (updated is None or updated < since):
                continue
            if not request.level or _is_about(orjson.loads(version.data), members):
                yield key, version


def _list_members(group: Resource | None) -> set[str]:
    """Return the keys of the patients who are active members of a Group."""
    members = [each.get("entity") for each in list_objects(group, "member") if each.get("inactive") is not True]
    return find_patients({"member": members})


def _is_about(resource: Resource, members: set[str] | None) -> bool:
    """Return whether a resource is about a patient, or about one of these."""
    patients = find_patients(resource)
    return bool(patients if members is None else patients & members)
