"""The order of an answer (R4 §3.1.1.5.1): by what its resources say, from the same indexes that searches use.

Of several values that one resource has, the first in the order asked for counts. What has no value comes last either
way. What is equal by all rules is in order of type and id, so that every order is a whole one.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, overload

from clerkship.fhir.parameters import Parameter, parameters_of
from clerkship.fhir.search.index import Codes, Rows, Spans, Words
from clerkship.fhir.search.match import Matched
from clerkship.fhir.search.query import ASPECTS, SortBy
from clerkship.fhir.search.shelf import KeyedShelf

SortValue = str | int | float | None
Place = tuple[SortValue, ...]
"""What something is sorted by, and last its key."""


class Column(NamedTuple):
    """One rule over one shelf: by row the rank of its value, and by rank the value."""

    ranks: Sequence[int]
    values: Sequence[SortValue]

    def value(self, row: int) -> SortValue:
        """What a row is sorted by."""
        rank = self.ranks[row]
        return self.values[rank] if rank < len(self.values) else None


def column(shelf: KeyedShelf, parameter: Parameter, descending: bool) -> Column:
    """One rule over one shelf, worked out once."""
    what = ("column", parameter.arms, parameter.type, descending, shelf.zone)
    return shelf.once(what, lambda: _ranked(shelf.size, _pairs(shelf, parameter, descending)))


def _pairs(shelf: KeyedShelf, parameter: Parameter, descending: bool) -> Iterable[tuple[Any, Rows]]:
    index = shelf.index(ASPECTS[parameter.type], parameter.arms)
    assert isinstance(index, Words | Codes | Spans)
    pairs = list(index.sortable(descending) if isinstance(index, Spans) else index.sortable())
    return reversed(pairs) if descending else pairs


def _ranked(size: int, pairs: Iterable[tuple[Any, Rows]]) -> Column:
    values: list[SortValue] = []
    ranks = array("I", b"\xff\xff\xff\xff") * size
    missing = 0xFFFFFFFF
    for value, rows in pairs:
        if not values or values[-1] != value:
            values.append(value)
        for row in rows:
            if ranks[row] == missing:
                ranks[row] = len(values) - 1
    return Column(ranks, values)


class Ordered:
    """Rows of one shelf, in order."""

    def __init__(self, shelf: KeyedShelf, rows: Rows, columns: Sequence[Column]) -> None:
        self.shelf, self.rows, self.columns = shelf, rows, columns

    def place(self, at: int) -> Place:
        """Where one is."""
        row = self.rows[at]
        return (*(each.value(row) for each in self.columns), self.shelf.keys[row])


def ordered(type: str, shelf: KeyedShelf, rows: Rows, rules: Sequence[SortBy]) -> Ordered:
    """Rows that come in order of key, in the order of some rules."""
    columns = [column(shelf, parameters_of(type)[rule.name], rule.descending) for rule in rules]
    if not rules or len(rows) < 2:
        return Ordered(shelf, rows, columns)
    if len(rows) == shelf.size:
        rows = shelf.once(("order", tuple(rules), shelf.zone), lambda: array("I", _by_rank(range(shelf.size), columns)))
        return Ordered(shelf, rows, columns)
    return Ordered(shelf, _by_rank(rows, columns), columns)


def _by_rank(rows: Rows, columns: Sequence[Column]) -> list[int]:
    if len(columns) == 1:
        return sorted(rows, key=columns[0].ranks.__getitem__)
    return sorted(rows, key=lambda row: [each.ranks[row] for each in columns])


class Merged(Sequence[str]):
    """Keys of a chart with some others between them; worked out when they are looked at, for there may be many."""

    def __init__(self, main: Ordered, few: Ordered, downs: Sequence[bool]) -> None:
        self._main, self._few = main, few
        # Where each of the few is in the whole: behind all of the chart's that do not follow it, and the few before.
        self._at = [
            position(len(main.rows), main.place, few.place(number), downs) + number for number in range(len(few.rows))
        ]

    def __len__(self) -> int:
        """How many."""
        return len(self._main.rows) + len(self._few.rows)

    def _part(self, at: int) -> tuple[Ordered, int]:
        number = bisect_left(self._at, at)
        if number < len(self._at) and self._at[number] == at:
            return self._few, number
        return self._main, at - number

    def place(self, at: int) -> Place:
        """Where in the order one is."""
        part, number = self._part(at)
        return part.place(number)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """One, or some."""
        if isinstance(at, slice):
            if not self._at:
                return list(map(self._main.shelf.keys.__getitem__, self._main.rows[at]))
            return [self[each] for each in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        part, number = self._part(at % len(self))
        return part.shelf.keys[part.rows[number]]

    def __iter__(self) -> Iterator[str]:
        """All."""
        keys, rows = self._main.shelf.keys, iter(self._main.rows)
        for at, number in zip(self._at, range(len(self._few.rows)), strict=True):
            for _ in range(at - number - (self._at[number - 1] - number + 1 if number else 0)):
                yield keys[next(rows)]
            yield self._few.shelf.keys[self._few.rows[number]]
        yield from map(keys.__getitem__, rows)


def merged(type: str, matched: Matched, rules: Sequence[SortBy]) -> Merged:
    """Everything of one type that matched, in order."""
    main = ordered(type, matched.kept, matched.rows, rules)
    return Merged(main, ordered(type, matched.loose, matched.loose_rows, rules), [rule.descending for rule in rules])


def follows(one: Place, other: Place, downs: Sequence[bool]) -> bool:
    """Whether one place is behind another."""
    for mine, theirs, down in zip(one, other, [*downs, False], strict=True):
        if mine != theirs:
            return _later(mine, theirs, down)
    return False


def _later(mine: SortValue, theirs: SortValue, down: bool) -> bool:
    if mine is None or theirs is None:
        return mine is None
    return (mine < theirs) if down else (mine > theirs)  # type: ignore[operator]


def position(size: int, place: Any, other: Place, downs: Sequence[bool]) -> int:
    """How many of some places do not follow another."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if follows(place(middle), other, downs):
            high = middle
        else:
            low = middle + 1
    return low
