"""Find what a query asks for, in the order it asks for (R4 §3.1.1.5.1)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from clerkship.fhir.chart import View
from clerkship.fhir.parameters import Parameter, parameters_of
from clerkship.fhir.resource import Resource
from clerkship.fhir.search.match import Matched, Search
from clerkship.fhir.search.parse import parse_query
from clerkship.fhir.search.query import Query, SortBy
from clerkship.fhir.search.shelf import Loose, Shelf
from clerkship.fhir.search.terms import amounts, dates, links, normal, strings, tokens

SortValue = str | int | float | None
Place = tuple[SortValue, ...]
"""What something is sorted by, and last its key."""


class Rowed(Sequence[str]):
    """The keys of some rows, worked out when they are looked at."""

    def __init__(self, keys: Sequence[str], rows: Sequence[int]) -> None:
        self._keys, self._rows = keys, rows

    def __len__(self) -> int:
        """How many."""
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        """One, or some."""
        if isinstance(at, slice):
            return [self._keys[row] for row in self._rows[at]]
        return self._keys[self._rows[at]]

    def __iter__(self) -> Iterator[str]:
        """All."""
        return map(self._keys.__getitem__, self._rows)


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that matches, in order."""

    keys: Sequence[str]
    columns: Sequence[Sequence[SortValue]] = ()
    """By rule of sorting, what each is sorted by."""

    @property
    def total(self) -> int:
        """How many match."""
        return len(self.keys)

    def place(self, at: int) -> Place:
        """Where in the order one is."""
        return (*(column[at] for column in self.columns), self.keys[at])


def find(view: View, query: Query) -> Found:
    """All that match a query, as the view is now."""
    search = Search(view, query.base, query.zone)
    matched = [(type, search.matching(type, criteria)) for type, criteria in query.wanted]
    if not query.sort:
        return Found(_in_order([each for _, each in matched]))
    entries: list[tuple[str, list[SortValue]]] = []
    for type, each in matched:
        entries += _sorted_by(type, each, query.sort)
    entries.sort(key=lambda entry: entry[0])
    for number, rule in reversed(list(enumerate(query.sort))):
        entries = _arranged(entries, number, rule.descending)
    columns = [[values[number] for _, values in entries] for number in range(len(query.sort))]
    return Found([key for key, _ in entries], columns)


def _in_order(matched: Sequence[Matched]) -> Sequence[str]:
    some = [each for each in matched if each.rows or each.loose_rows]
    if len(some) == 1 and not some[0].loose_rows:
        return Rowed(some[0].kept.keys, some[0].rows)
    return sorted(key for each in some for key in each.keys)


def _arranged(entries: list[tuple[str, list[SortValue]]], number: int, down: bool) -> list[tuple[str, list[SortValue]]]:
    """By one rule; those that equal each other keep their order, those with nothing to sort by come last either way."""
    known = [entry for entry in entries if entry[1][number] is not None]
    known.sort(key=lambda entry: entry[1][number], reverse=down)  # type: ignore[arg-type, return-value]
    return known + [entry for entry in entries if entry[1][number] is None]


def _sorted_by(type: str, matched: Matched, rules: Sequence[SortBy]) -> list[tuple[str, list[SortValue]]]:
    found: list[tuple[str, list[SortValue]]] = []
    for shelf, rows in ((matched.kept, matched.rows), (matched.loose, matched.loose_rows)):
        if rows:
            columns = [sort_values(shelf, parameters_of(type)[rule.name], rule.descending) for rule in rules]
            found += [(shelf.keys[row], [column[row] for column in columns]) for row in rows]
    return found


def sort_values(shelf: Shelf, parameter: Parameter, descending: bool) -> Sequence[SortValue]:
    """By row, what to sort it by: of several values the first in the order that is asked for."""
    pick: Callable[..., SortValue] = max if descending else min

    def build() -> list[SortValue]:
        said = _SORTED[parameter.type]
        return [
            pick(
                (value for arm in parameter.arms for value in said(arm, resource, shelf.zone, descending)), default=None
            )
            for _, resource, _ in shelf.items()
        ]

    return shelf.once(("sort", parameter.arms, parameter.type, descending, shelf.zone), build)


def _span_ends(arm: Any, resource: Resource, zone: int, down: bool) -> Iterator[SortValue]:
    return (span.high if down else span.low for span in dates(arm, resource, resource, zone))


def _amount_ends(arm: Any, resource: Resource, zone: int, down: bool) -> Iterator[SortValue]:
    return (amount.high if down else amount.low for amount in amounts(arm, resource, resource))


_SORTED: dict[str, Callable[[Any, Resource, int, bool], Iterator[SortValue]]] = {
    "date": _span_ends,
    "number": _amount_ends,
    "quantity": _amount_ends,
    "string": lambda arm, resource, zone, down: map(normal, strings(arm, resource, resource)),
    "token": lambda arm, resource, zone, down: (code for _, code in tokens(arm, resource, resource)),
    "reference": lambda arm, resource, zone, down: links(arm, resource, resource),
    "uri": lambda arm, resource, zone, down: links(arm, resource, resource),
}


def find_keys(view: View, type: str, pairs: Sequence[tuple[str, str]], *, base: str = "") -> list[str]:
    """The keys of what some parameters find; raises Invalid where they are wrong."""
    return list(find(view, parse_query(type, pairs, base=base)).keys)


def matches(view: View, type: str, pairs: Sequence[tuple[str, str]], resource: Resource, *, base: str = "") -> bool:
    """Whether one resource, be it in the view or not, is what some parameters look for."""
    query = parse_query(type, pairs, base=base)
    if resource.get("resourceType") != type:
        return False
    shelf = Loose({f"{type}/{resource.get('id', '')}": resource}, query.zone)
    return bool(Search(view, query.base, query.zone).meeting(query.wanted[0][1], shelf))
