"""Indexes over the resources of one type: those of a chart, cached with it, or some changed ones."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import orjson

from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import Resource
from clerkship.formats.fhir.search.extract import extract_references
from clerkship.formats.fhir.search.index import Index, NumberedNodes, build_index
from clerkship.formats.fhir.search.query import IndexKind
from clerkship.formats.fhir.search_parameters import ParameterPath, select_elements

T = TypeVar("T")
Cache = Callable[[Hashable, Callable[[], Any]], Any]
ReferenceTexts = str | tuple[str, ...]


class ResourceIndex:
    """Numbered resources or elements with the indexes over them."""

    def __init__(self, size: int, items: Callable[[], NumberedNodes], cache: Cache, zone: int) -> None:
        self.size = size
        self.items = items
        self.zone = zone
        self._cache = cache

    def get_index(self, index_kind: IndexKind, paths: tuple[ParameterPath, ...]) -> Index:
        """Return the index of one kind over some paths."""
        zone = self.zone if index_kind == "date" else 0
        return cast(
            Index, self._cache((index_kind, paths, zone), lambda: build_index(index_kind, paths, self.items(), zone))
        )

    def get_or_build(self, key: Hashable, build: Callable[[], T]) -> T:
        """Return a cached value computed from all rows."""
        return cast(T, self._cache(key, build))

    def list_references(self, paths: tuple[ParameterPath, ...]) -> Sequence[ReferenceTexts]:
        """Return the references of each row: a text if there is one, else a tuple."""
        return self.get_or_build(
            ("forward", paths), lambda: [_collect_references(paths, resource) for _, resource, _ in self.items()]
        )

    def list_nodes(self, roots: tuple[ParameterPath, ...]) -> tuple["ResourceIndex", Sequence[int]]:
        """Return an index over the elements at some paths, and the row of the resource of each."""
        owners = self.get_or_build(
            ("owners", roots), lambda: array("I", (row for row, _, _ in _iter_elements(roots, self.items())))
        )

        def items() -> NumberedNodes:
            return ((at, resource, node) for at, (_, resource, node) in enumerate(_iter_elements(roots, self.items())))

        def cache_nodes(key: Hashable, build: Callable[[], Any]) -> Any:
            return self._cache(("nodes", roots, key), build)

        return ResourceIndex(len(owners), items, cache_nodes, self.zone), owners


def _collect_references(paths: tuple[ParameterPath, ...], resource: Resource) -> ReferenceTexts:
    references = tuple(dict.fromkeys(text for path in paths for text in extract_references(path, resource, resource)))
    return references[0] if len(references) == 1 else references


def _iter_elements(roots: tuple[ParameterPath, ...], items: NumberedNodes) -> Iterator[tuple[int, Resource, Any]]:
    for row, resource, _ in items:
        for root in roots:
            for node in select_elements(root, resource, resource):
                yield row, resource, node


class KeyedResourceIndex(ResourceIndex):
    """Resources of one type, in order of key."""

    keys: Sequence[str]

    def find_row(self, key: str) -> int | None:
        """Return the row of a key; None if it is not there."""
        at = bisect_left(self.keys, key)
        return at if at < len(self.keys) and self.keys[at] == key else None


class ChartIndex(KeyedResourceIndex):
    """The resources of one type in a chart."""

    def __init__(self, chart: Chart, type: str, zone: int) -> None:
        self.chart = chart
        self.keys = chart.get_or_build(("keys", type), lambda: tuple(sorted(chart.list_keys(type))))
        super().__init__(len(self.keys), self._items, lambda key, build: chart.get_or_build((type, key), build), zone)

    def _items(self) -> NumberedNodes:
        read, chart = orjson.loads, self.chart  # searches compare numbers, so the exact digits are not needed
        for row, key in enumerate(self.keys):
            resource = read(chart[key])
            yield row, resource, resource

    def select(self, rows: Sequence[int]) -> "OverlayIndex":
        """Return a temporary index over some of the rows."""
        return OverlayIndex({self.keys[row]: orjson.loads(self.chart[self.keys[row]]) for row in rows}, self.zone)


class OverlayIndex(KeyedResourceIndex):
    """Some resources by key, with indexes that are not cached in the chart."""

    def __init__(self, resources: Mapping[str, Resource], zone: int) -> None:
        self.resources = resources
        self.keys = sorted(resources)
        self._known: dict[Hashable, Any] = {}
        super().__init__(len(self.keys), self._items, self._get_or_build_local, zone)

    def _items(self) -> NumberedNodes:
        for row, key in enumerate(self.keys):
            yield row, self.resources[key], self.resources[key]

    def _get_or_build_local(self, key: Hashable, build: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = build()
        return self._known[key]
