"""Resources of one type with the indexes over them: a chart's, built once and kept; or a few loose ones'."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import orjson

from clerkship.fhir.chart import Chart
from clerkship.fhir.parameters import Arm, elements
from clerkship.fhir.resource import Resource
from clerkship.fhir.search.index import Index, Numbered, build_index
from clerkship.fhir.search.query import Aspect
from clerkship.fhir.search.terms import links

T = TypeVar("T")
Once = Callable[[Hashable, Callable[[], Any]], Any]
Forward = str | tuple[str, ...]


class Shelf:
    """Rows, and what can be asked of them."""

    def __init__(self, size: int, items: Callable[[], Numbered], once: Once, zone: int) -> None:
        self.size = size
        self.items = items
        self.zone = zone
        self._once = once

    def index(self, aspect: Aspect, arms: tuple[Arm, ...]) -> Index:
        """The index of what some arms say."""
        zone = self.zone if aspect == "date" else 0
        return cast(Index, self._once((aspect, arms, zone), lambda: build_index(aspect, arms, self.items(), zone)))

    def once(self, what: Hashable, build: Callable[[], T]) -> T:
        """Something else that is worked out of all rows."""
        return cast(T, self._once(what, build))

    def forward(self, arms: tuple[Arm, ...]) -> Sequence[Forward]:
        """By row, what its references say: one text where there is one."""
        return self.once(("forward", arms), lambda: [_said(arms, resource) for _, resource, _ in self.items()])

    def nodes(self, roots: tuple[Arm, ...]) -> tuple["Shelf", Sequence[int]]:
        """The elements at some roots as rows of their own, and which row each is part of."""
        owners = self.once(("owners", roots), lambda: array("I", (row for row, _, _ in _inside(roots, self.items()))))

        def items() -> Numbered:
            return ((at, resource, node) for at, (_, resource, node) in enumerate(_inside(roots, self.items())))

        def once(what: Hashable, build: Callable[[], Any]) -> Any:
            return self._once(("nodes", roots, what), build)

        return Shelf(len(owners), items, once, self.zone), owners


def _said(arms: tuple[Arm, ...], resource: Resource) -> Forward:
    found = tuple(dict.fromkeys(text for arm in arms for text in links(arm, resource, resource)))
    return found[0] if len(found) == 1 else found


def _inside(roots: tuple[Arm, ...], items: Numbered) -> Iterator[tuple[int, Resource, Any]]:
    for row, resource, _ in items:
        for root in roots:
            for node in elements(root, resource, resource):
                yield row, resource, node


class KeyedShelf(Shelf):
    """Resources of one type, by row in order of key."""

    keys: Sequence[str]

    def row(self, key: str) -> int | None:
        """Where a key is."""
        at = bisect_left(self.keys, key)
        return at if at < len(self.keys) and self.keys[at] == key else None


class Kept(KeyedShelf):
    """The resources of one type in a chart."""

    def __init__(self, chart: Chart, type: str, zone: int) -> None:
        self.chart = chart
        self.keys = chart.once(("keys", type), lambda: tuple(sorted(chart.of_type(type))))
        super().__init__(len(self.keys), self._items, lambda what, build: chart.once((type, what), build), zone)

    def _items(self) -> Numbered:
        read, chart = orjson.loads, self.chart  # searches compare numbers, so the exact digits are not needed
        for row, key in enumerate(self.keys):
            resource = read(chart[key])
            yield row, resource, resource

    def pick(self, rows: Sequence[int]) -> "Loose":
        """Some of them, out of the indexes."""
        return Loose({self.keys[row]: orjson.loads(self.chart[self.keys[row]]) for row in rows}, self.zone)


class Loose(KeyedShelf):
    """Some resources by key, looked at for this once."""

    def __init__(self, resources: Mapping[str, Resource], zone: int) -> None:
        self.resources = resources
        self.keys = sorted(resources)
        self._known: dict[Hashable, Any] = {}
        super().__init__(len(self.keys), self._items, self._remembered, zone)

    def _items(self) -> Numbered:
        for row, key in enumerate(self.keys):
            yield row, self.resources[key], self.resources[key]

    def _remembered(self, what: Hashable, build: Callable[[], Any]) -> Any:
        if what not in self._known:
            self._known[what] = build()
        return self._known[what]
