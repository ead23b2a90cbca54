"""A chart: resources that never change, read once and shared by every playground over them; and views of one."""

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

from clerkship.fhir.resource import Resource, parse_key, parse_resource

T = TypeVar("T")
NO_CHANGES: Mapping[str, Resource | None] = MappingProxyType({})


class Chart(Mapping[str, bytes]):
    """Resources by `Type/id`, each in its byte form."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._rows = {parse_key(line): line for line in lines}
        self._types: dict[str, list[str]] = {}
        for key in self._rows:
            self._types.setdefault(key.partition("/")[0], []).append(key)
        self._cache: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    def __getitem__(self, key: str) -> bytes:
        """One of them."""
        return self._rows[key]

    def __iter__(self) -> Iterator[str]:
        """Their keys."""
        return iter(self._rows)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._rows)

    @property
    def types(self) -> Sequence[str]:
        """What sorts there are."""
        return tuple(self._types)

    def list_keys(self, type: str) -> Sequence[str]:
        """The keys of one sort, in the order of the dataset."""
        return self._types.get(type, ())

    def get_or_build(self, key: Hashable, build: Callable[[], T]) -> T:
        """What somebody works out of all this (an index), for everybody who wants the same of it."""
        if key not in self._cache:
            with self._lock:
                if key not in self._cache:
                    self._cache[key] = build()
        return cast(T, self._cache[key])


class ChartView(Protocol):
    """Resources as they stand at one moment: a chart, and what differs from it."""

    @property
    def chart(self) -> Chart:
        """What was there at first, and never changes."""

    @property
    def zone(self) -> int:
        """Where it is, in minutes ahead of UTC: a date without a zone is a day there."""

    def resource(self, key: str) -> Resource | None:
        """One as it is now; not to be changed."""

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        """By key, those of a sort that are new or differ from the chart's; None where one is gone."""

    def cache_until_changed(self, type: str, build: Callable[[], T]) -> T:
        """What somebody works out of those that differ (their indexes), kept until another one does."""


class UnchangedView:
    """A chart as it is."""

    def __init__(self, chart: Chart, zone: int = 0) -> None:
        self.chart = chart
        self.zone = zone

    def resource(self, key: str) -> Resource | None:
        """One of them."""
        line = self.chart.get(key)
        return parse_resource(line) if line is not None else None

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        """Nothing."""
        return NO_CHANGES

    def cache_until_changed(self, type: str, build: Callable[[], T]) -> T:
        """What is worked out of nothing, and never changes."""
        return self.chart.get_or_build(("unchanged", type, self.zone), build)
