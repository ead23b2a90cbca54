"""Sort matches (R4 §3.1.1.5.1) by the same indexes that searches use.

Of several values of one resource, the first in sort order counts. Resources without a value come last in either
direction. Ties are sorted by type and id, so that the order is total.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, overload

from clerkship.formats.fhir.search.index import RangeIndex, Rows, TextIndex, TokenIndex
from clerkship.formats.fhir.search.match import TypeMatches
from clerkship.formats.fhir.search.query import DEFAULT_INDEX_KINDS, SortKey
from clerkship.formats.fhir.search.resource_index import KeyedResourceIndex
from clerkship.formats.fhir.search_parameters import SearchParameter, get_parameters

SortValue = str | int | float | None
SortPosition = tuple[SortValue, ...]
"""The sort values of a match, followed by its key."""


class SortColumn(NamedTuple):
    """One sort key over an index: the rank of each row, and the value of each rank."""

    ranks: Sequence[int]
    values: Sequence[SortValue]

    def value(self, row: int) -> SortValue:
        rank = self.ranks[row]
        return self.values[rank] if rank < len(self.values) else None


def build_column(resource_index: KeyedResourceIndex, parameter: SearchParameter, descending: bool) -> SortColumn:
    """Return the column of a sort key, cached."""
    key = ("column", parameter.paths, parameter.type, descending, resource_index.zone)
    return resource_index.get_or_build(
        key, lambda: _rank(resource_index.size, _list_sorted_values(resource_index, parameter, descending))
    )


def _list_sorted_values(
    resource_index: KeyedResourceIndex, parameter: SearchParameter, descending: bool
) -> Iterable[tuple[Any, Rows]]:
    index = resource_index.get_index(DEFAULT_INDEX_KINDS[parameter.type], parameter.paths)
    assert isinstance(index, TextIndex | TokenIndex | RangeIndex)
    pairs = list(index.iter_sorted(descending) if isinstance(index, RangeIndex) else index.iter_sorted())
    return reversed(pairs) if descending else pairs


def _rank(size: int, pairs: Iterable[tuple[Any, Rows]]) -> SortColumn:
    values: list[SortValue] = []
    ranks = array("I", b"\xff\xff\xff\xff") * size
    missing = 0xFFFFFFFF
    for value, rows in pairs:
        if not values or values[-1] != value:
            values.append(value)
        for row in rows:
            if ranks[row] == missing:
                ranks[row] = len(values) - 1
    return SortColumn(ranks, values)


class SortedRows:
    """Rows of one index, in order."""

    def __init__(self, resource_index: KeyedResourceIndex, rows: Rows, columns: Sequence[SortColumn]) -> None:
        self.resource_index, self.rows, self.columns = resource_index, rows, columns

    def get_position(self, at: int) -> SortPosition:
        """Return the sort values and key of a row."""
        row = self.rows[at]
        return (*(each.value(row) for each in self.columns), self.resource_index.keys[row])


def sort_rows(type: str, resource_index: KeyedResourceIndex, rows: Rows, rules: Sequence[SortKey]) -> SortedRows:
    """Sort rows, which are in order of key, by some sort keys."""
    columns = [build_column(resource_index, get_parameters(type)[rule.name], rule.descending) for rule in rules]
    if not rules or len(rows) < 2:
        return SortedRows(resource_index, rows, columns)
    if len(rows) == resource_index.size:
        rows = resource_index.get_or_build(
            ("order", tuple(rules), resource_index.zone),
            lambda: array("I", _sort_by_rank(range(resource_index.size), columns)),
        )
        return SortedRows(resource_index, rows, columns)
    return SortedRows(resource_index, _sort_by_rank(rows, columns), columns)


def _sort_by_rank(rows: Rows, columns: Sequence[SortColumn]) -> list[int]:
    if len(columns) == 1:
        return sorted(rows, key=columns[0].ranks.__getitem__)
    return sorted(rows, key=lambda row: [each.ranks[row] for each in columns])


class MergedKeys(Sequence[str]):
    """Keys of a chart merged with those of changed resources, computed on access because there may be many."""

    def __init__(self, main: SortedRows, few: SortedRows, descending: Sequence[bool]) -> None:
        self._main, self._few = main, few
        # The index of each changed resource in the merged order.
        self._at = [
            find_position(len(main.rows), main.get_position, few.get_position(number), descending) + number
            for number in range(len(few.rows))
        ]

    def __len__(self) -> int:
        return len(self._main.rows) + len(self._few.rows)

    def _part(self, at: int) -> tuple[SortedRows, int]:
        number = bisect_left(self._at, at)
        if number < len(self._at) and self._at[number] == at:
            return self._few, number
        return self._main, at - number

    def get_position(self, at: int) -> SortPosition:
        """Return the sort values and key at an index."""
        part, number = self._part(at)
        return part.get_position(number)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            if not self._at:
                return list(map(self._main.resource_index.keys.__getitem__, self._main.rows[at]))
            return [self[each] for each in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        part, number = self._part(at % len(self))
        return part.resource_index.keys[part.rows[number]]

    def __iter__(self) -> Iterator[str]:
        keys, rows = self._main.resource_index.keys, iter(self._main.rows)
        for at, number in zip(self._at, range(len(self._few.rows)), strict=True):
            for _ in range(at - number - (self._at[number - 1] - number + 1 if number else 0)):
                yield keys[next(rows)]
            yield self._few.resource_index.keys[self._few.rows[number]]
        yield from map(keys.__getitem__, rows)


def merge_matches(type: str, matched: TypeMatches, rules: Sequence[SortKey]) -> MergedKeys:
    """Return all matches of one type, in order."""
    main = sort_rows(type, matched.chart_index, matched.rows, rules)
    return MergedKeys(
        main, sort_rows(type, matched.overlay_index, matched.overlay_rows, rules), [rule.descending for rule in rules]
    )


def is_after(one: SortPosition, other: SortPosition, descending: Sequence[bool]) -> bool:
    """Return whether one position is after another."""
    for left, right, is_descending in zip(one, other, [*descending, False], strict=True):
        if left != right:
            return _is_value_after(left, right, is_descending)
    return False


def _is_value_after(left: SortValue, right: SortValue, is_descending: bool) -> bool:
    if left is None or right is None:
        return left is None
    return (left < right) if is_descending else (left > right)  # type: ignore[operator]


def find_position(size: int, get_position: Any, other: SortPosition, descending: Sequence[bool]) -> int:
    """Return how many positions are not after another, by binary search."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if is_after(get_position(middle), other, descending):
            high = middle
        else:
            low = middle + 1
    return low
