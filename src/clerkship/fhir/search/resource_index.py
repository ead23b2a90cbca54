"""Resources of one type with the indexes over them: a chart's, built once and kept; or a few loose ones'."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import orjson

from clerkship.fhir.chart import Chart
from clerkship.fhir.resource import Resource
from clerkship.fhir.search.extract import extract_references
from clerkship.fhir.search.index import Index, NumberedNodes, build_index
from clerkship.fhir.search.query import IndexKind
from clerkship.fhir.search_parameters import ParameterPath, select_elements

T = TypeVar("T")
Cache = Callable[[Hashable, Callable[[], Any]], Any]
ReferenceTexts = str | tuple[str, ...]


class ResourceIndex:
    """Rows, and what can be asked of them."""

    def __init__(self, size: int, items: Callable[[], NumberedNodes], once: Cache, zone: int) -> None:
        self.size = size
        self.items = items
        self.zone = zone
        self._once = once

    def index(self, aspect: IndexKind, arms: tuple[ParameterPath, ...]) -> Index:
        """The index of what some arms say."""
        zone = self.zone if aspect == "date" else 0
        return cast(Index, self._once((aspect, arms, zone), lambda: build_index(aspect, arms, self.items(), zone)))

    def once(self, what: Hashable, build: Callable[[], T]) -> T:
        """Something else that is worked out of all rows."""
        return cast(T, self._once(what, build))

    def forward(self, arms: tuple[ParameterPath, ...]) -> Sequence[ReferenceTexts]:
        """By row, what its references say: one text where there is one."""
        return self.once(
            ("forward", arms), lambda: [_collect_references(arms, resource) for _, resource, _ in self.items()]
        )

    def nodes(self, roots: tuple[ParameterPath, ...]) -> tuple["ResourceIndex", Sequence[int]]:
        """The elements at some roots as rows of their own, and which row each is part of."""
        owners = self.once(
            ("owners", roots), lambda: array("I", (row for row, _, _ in _iter_elements(roots, self.items())))
        )

        def items() -> NumberedNodes:
            return ((at, resource, node) for at, (_, resource, node) in enumerate(_iter_elements(roots, self.items())))

        def once(what: Hashable, build: Callable[[], Any]) -> Any:
            return self._once(("nodes", roots, what), build)

        return ResourceIndex(len(owners), items, once, self.zone), owners


def _collect_references(arms: tuple[ParameterPath, ...], resource: Resource) -> ReferenceTexts:
    found = tuple(dict.fromkeys(text for arm in arms for text in extract_references(arm, resource, resource)))
    return found[0] if len(found) == 1 else found


def _iter_elements(roots: tuple[ParameterPath, ...], items: NumberedNodes) -> Iterator[tuple[int, Resource, Any]]:
    for row, resource, _ in items:
        for root in roots:
            for node in select_elements(root, resource, resource):
                yield row, resource, node


class KeyedResourceIndex(ResourceIndex):
    """Resources of one type, by row in order of key."""

    keys: Sequence[str]

    def row(self, key: str) -> int | None:
        """Where a key is."""
        at = bisect_left(self.keys, key)
        return at if at < len(self.keys) and self.keys[at] == key else None


class ChartIndex(KeyedResourceIndex):
    """The resources of one type in a chart."""

    def __init__(self, chart: Chart, type: str, zone: int) -> None:
        self.chart = chart
        self.keys = chart.once(("keys", type), lambda: tuple(sorted(chart.of_type(type))))
        super().__init__(len(self.keys), self._items, lambda what, build: chart.once((type, what), build), zone)

    def _items(self) -> NumberedNodes:
        read, chart = orjson.loads, self.chart  # searches compare numbers, so the exact digits are not needed
        for row, key in enumerate(self.keys):
            resource = read(chart[key])
            yield row, resource, resource

    def pick(self, rows: Sequence[int]) -> "OverlayIndex":
        """Some of them, out of the indexes."""
        return OverlayIndex({self.keys[row]: orjson.loads(self.chart[self.keys[row]]) for row in rows}, self.zone)


class OverlayIndex(KeyedResourceIndex):
    """Some resources by key, looked at for this once."""

    def __init__(self, resources: Mapping[str, Resource], zone: int) -> None:
        self.resources = resources
        self.keys = sorted(resources)
        self._known: dict[Hashable, Any] = {}
        super().__init__(len(self.keys), self._items, self._remembered, zone)

    def _items(self) -> NumberedNodes:
        for row, key in enumerate(self.keys):
            yield row, self.resources[key], self.resources[key]

    def _remembered(self, what: Hashable, build: Callable[[], Any]) -> Any:
        if what not in self._known:
            self._known[what] = build()
        return self._known[what]
