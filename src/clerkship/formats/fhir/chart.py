"""Charts: immutable resources that all playgrounds share and that are loaded once, and views with changes applied."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

from clerkship.formats.fhir.resource import Resource, parse_key, parse_resource
from clerkship.model.dataset import Dataset

T = TypeVar("T")
NO_CHANGES: Mapping[str, Resource | None] = MappingProxyType({})


class Chart(Mapping[str, bytes]):
    """The immutable resources of some datasets by `Type/id`, each as bytes."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._rows = {parse_key(line): line for line in lines}
        self._cache: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    def __getitem__(self, key: str) -> bytes:
        return self._rows[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def values(self) -> ValuesView[bytes]:
        """Return the resources. All of them may be searched for a text, so this is the view of a plain dictionary."""
        return self._rows.values()

    @cached_property
    def _types(self) -> dict[str, list[str]]:
        """The keys of each type; for a record that is found by its key, not even the first search needs them."""
        types: dict[str, list[str]] = {}
        for key in self._rows:
            types.setdefault(key.partition("/")[0], []).append(key)
        return types

    @property
    def types(self) -> Sequence[str]:
        """The resource types that occur."""
        return tuple(self._types)

    def list_keys(self, type: str) -> Sequence[str]:
        """Return the keys of one type, in the order of the dataset."""
        return self._types.get(type, ())

    def get_or_build(self, key: Hashable, build: Callable[[], T]) -> T:
        """Return the cached value of a key, such as an index; build it on first use."""
        if key not in self._cache:
            with self._lock:
                if key not in self._cache:
                    self._cache[key] = build()
        return cast(T, self._cache[key])


class ChartView(Protocol):
    """The current resources: a chart, and what differs from it."""

    @property
    def chart(self) -> Chart:
        """The resources at the start, which never change."""

    @property
    def zone(self) -> int:
        """The time zone, in minutes ahead of UTC, of dates without one."""

    def resource(self, key: str) -> Resource | None:
        """Return the current version of a resource, which must not be modified."""

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        """Return the resources of a type that are new or changed, by key; None for a deleted one."""

    def cache_until_changed(self, type: str, build: Callable[[], T]) -> T:
        """Return a value that is built from the changed resources of a type, and rebuilt when they change."""


def list_chart_views(states: Mapping[str, object]) -> list[ChartView]:
    """Return those states of sandboxes that are views of a chart."""
    views: list[Any] = [state for state in states.values() if _is_view(type(state))]  # type: ignore[arg-type]
    return views


@cache
def _is_view(kind: type) -> bool:
    """Return whether states of a type are views of a chart; asking once is cheaper than checking a protocol."""
    return all(hasattr(kind, name) for name in ("resource", "changed", "cache_until_changed"))


class UnchangedView:
    """A view of a chart without changes."""

    def __init__(self, chart: Chart, zone: int = 0) -> None:
        self.chart = chart
        self.zone = zone

    def resource(self, key: str) -> Resource | None:
        line = self.chart.get(key)
        return parse_resource(line) if line is not None else None

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        return NO_CHANGES

    def cache_until_changed(self, type: str, build: Callable[[], T]) -> T:
        return self.chart.get_or_build(("unchanged", type, self.zone), build)


MAX_CHARTS = 8
"""Charts in the cache, enough for a few suites. A chart of 100,000 resources takes a few hundred megabytes."""
_LOCK = threading.Lock()
_CACHE: OrderedDict[tuple[str, ...], Chart] = OrderedDict()


def load_chart(datasets: Sequence[Dataset]) -> Chart:
    """Return all resources of some datasets; of two with the same key, the one of the later dataset."""
    key = tuple(dataset.hash for dataset in datasets)
    with _LOCK:
        if key in _CACHE:
            _CACHE.move_to_end(key)
            return _CACHE[key]
        chart = Chart(line for dataset in datasets for line in dataset.lines or ())
        _CACHE[key] = chart
        while len(_CACHE) > MAX_CHARTS:
            _CACHE.popitem(last=False)
        return chart
