"""Included resources: `_include`, `_revinclude` and `:iterate` (R4 §3.1.1.5.4)."""

from collections.abc import Iterator, Sequence
from itertools import chain

from clerkship.formats.fhir.chart import ChartView
from clerkship.formats.fhir.issue import fhir_error
from clerkship.formats.fhir.resource import Resource, parse_reference
from clerkship.formats.fhir.search.extract import extract_references
from clerkship.formats.fhir.search.match import Search
from clerkship.formats.fhir.search.query import Include, ReferenceValue, SearchQuery, ValueCriterion
from clerkship.formats.fhir.search_parameters import ParameterPath, get_parameters

MAX_INCLUDED = 10_000
"""The maximum number of included resources on one page."""


def find_included(view: ChartView, query: SearchQuery, keys: Sequence[str]) -> list[str]:
    """Return the keys that are included with some matches, each once and without the matches themselves.

    Raises FhirError for more than MAX_INCLUDED keys.
    """
    if not query.includes and not query.revincludes:
        return []
    resolver = _IncludeResolver(view, query)
    seen, fresh, included = set(keys), list(keys), list[str]()
    while fresh:
        candidates = resolver.find_related(fresh, first=not included)
        fresh = [key for key in dict.fromkeys(candidates) if key not in seen and resolver.exists(key)]
        included += fresh
        if len(included) > MAX_INCLUDED:
            raise fhir_error("too-costly", f"more than {MAX_INCLUDED} resources would be included; include fewer")
        seen.update(fresh)
    return included


class _IncludeResolver:
    """Follows references from and to resources."""

    def __init__(self, view: ChartView, query: SearchQuery) -> None:
        self.view = view
        self.query = query
        self.search = Search(view, query.base, query.zone)
        self._paths: dict[tuple[Include, str], list[ParameterPath]] = {}

    def exists(self, key: str) -> bool:
        """Return whether a resource exists now."""
        changed = self.view.changed(key.partition("/")[0])
        return changed[key] is not None if key in changed else key in self.view.chart

    def find_related(self, keys: Sequence[str], first: bool) -> Iterator[str]:
        """Yield the keys included with resources; after the first round, only those of includes that iterate."""
        yield from self._find_targets([each for each in self.query.includes if first or each.iterate], keys)
        for include in self.query.revincludes:
            if first or include.iterate:
                yield from self._find_sources(include, keys)

    def _find_targets(self, includes: Sequence[Include], keys: Sequence[str]) -> Iterator[str]:
        """Return what resources refer to, include by include; each resource is read once."""
        targets: dict[Include, list[str]] = {include: [] for include in includes}
        for key in keys:
            type = key.partition("/")[0]
            applicable = [include for include in includes if include.source in {type, "*"}]
            resource = self.view.resource(key) if applicable else None
            for include in applicable if resource is not None else ():
                targets[include] += self._targets(include, type, resource or {})
        return chain.from_iterable(targets.values())

    def _targets(self, include: Include, type: str, resource: Resource) -> Iterator[str]:
        paths = self._paths.get((include, type))
        if paths is None:
            paths = self._paths[include, type] = _list_paths(include, type)
        for path in paths:
            for text in extract_references(path, resource, resource):
                target = parse_reference(text, self.query.base)
                if target is not None and include.target in {"", target.type}:
                    yield target.key

    def _find_sources(self, include: Include, keys: Sequence[str]) -> Iterator[str]:
        spellings = [key for key in keys if include.target in {"", key.partition("/")[0]}]
        if self.search.base:
            spellings += [f"{self.search.base}/{key}" for key in spellings]
        for paths in _iter_parameter_paths(include, include.source):
            term = ValueCriterion("link", paths, (ReferenceValue(tuple(spellings)),))
            yield from sorted(self.search.match_type(include.source, [term]).keys)


def _list_paths(include: Include, type: str) -> list[ParameterPath]:
    return [path for paths in _iter_parameter_paths(include, type) for path in paths if path.kind == "Reference"]


def _iter_parameter_paths(include: Include, type: str) -> Iterator[tuple[ParameterPath, ...]]:
    for name, parameter in get_parameters(type).items():
        if parameter.type == "reference" and include.parameter in {name, "*"}:
            yield parameter.paths
