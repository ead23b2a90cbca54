"""Which resources of a view meet some criteria: a chart's by indexes, those that changed since by a look at each."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import NamedTuple

from clerkship.fhir.chart import ChartView
from clerkship.fhir.search.index import Index, LookupRows, PresenceIndex, Rows, TextIndex, get_rows
from clerkship.fhir.search.query import (
    AnyCriterion,
    ChainCriterion,
    CompositeCriterion,
    Criterion,
    IdCriterion,
    MissingCriterion,
    ReverseChainCriterion,
    ValueCriterion,
)
from clerkship.fhir.search.resource_index import (
    ChartIndex,
    KeyedResourceIndex,
    OverlayIndex,
    ReferenceTexts,
    ResourceIndex,
)

READ_COST = 200
"""How many times longer it takes to read a resource than to put a row in a set."""


class Hits(NamedTuple):
    """The rows that meet one criterion: those in the parts, or, negated, all others."""

    parts: Sequence[LookupRows]
    negated: bool
    universe: int

    @property
    def size(self) -> int:
        """At most so many."""
        return self.universe if self.negated else sum(len(part.rows) for part in self.parts)

    def take(self) -> set[int]:
        """All of them."""
        return set(self.others()) if self.negated else set().union(*(part.rows for part in self.parts))

    def others(self) -> list[int]:
        """All that are in no part, in order."""
        mask = bytearray(b"\x01") * self.universe
        for part in self.parts:
            for row in part.rows:
                mask[row] = 0
        return list(compress(range(self.universe), mask))

    def among(self, rows: set[int]) -> set[int]:
        """Those of some rows that are in it."""
        if all(part.sorted for part in self.parts) and len(rows) * len(self.parts) * 8 < sum(
            len(part.rows) for part in self.parts
        ):
            found = {row for row in rows if any(_contains_row(part.rows, row) for part in self.parts)}
        else:
            found = rows.intersection(set().union(*(part.rows for part in self.parts)))
        return rows - found if self.negated else found


def _contains_row(rows: Rows, row: int) -> bool:
    at = bisect_left(rows, row)
    return at < len(rows) and rows[at] == row


class TypeMatches(NamedTuple):
    """What of one type meets the criteria: rows of the chart, in order, and keys of what changed since."""

    kept: ChartIndex
    rows: Rows
    loose: OverlayIndex
    loose_rows: Rows

    @property
    def keys(self) -> list[str]:
        """All of them, in no order."""
        return [*(self.kept.keys[row] for row in self.rows), *(self.loose.keys[row] for row in self.loose_rows)]


class Search:
    """One search over one view; what it works out on the way it remembers until it is done."""

    def __init__(self, view: ChartView, base: str = "", zone: int = 0) -> None:
        self.view = view
        self.base = base.rstrip("/")
        self.zone = zone
        self._kept: dict[str, ChartIndex] = {}
        self._loose: dict[str, OverlayIndex] = {}
        self._inner: dict[tuple[str, int], TypeMatches] = {}

    def kept(self, type: str) -> ChartIndex:
        """A type's resources in the chart."""
        if type not in self._kept:
            self._kept[type] = ChartIndex(self.view.chart, type, self.zone)
        return self._kept[type]

    def loose(self, type: str) -> OverlayIndex:
        """A type's resources that differ from the chart."""
        if type not in self._loose:
            found = self.view.while_unchanged(type, lambda: self._loose_of(type))
            self._loose[type] = found if found.zone == self.zone else self._loose_of(type)
        return self._loose[type]

    def _loose_of(self, type: str) -> OverlayIndex:
        changed = self.view.changed(type)
        return OverlayIndex({key: resource for key, resource in changed.items() if resource is not None}, self.zone)

    def matching(self, type: str, criteria: Sequence[Criterion]) -> TypeMatches:
        """What of a type meets all of some criteria."""
        kept, loose = self.kept(type), self.loose(type)
        rows = self.meeting(criteria, kept)
        shadowed = [row for row in map(kept.row, self.view.changed(type)) if row is not None]
        return TypeMatches(kept, _exclude_rows(rows, shadowed), loose, self.meeting(criteria, loose))

    def meeting(self, criteria: Sequence[Criterion], shelf: ResourceIndex) -> Rows:
        """The rows of a shelf that meet all of some criteria, in order."""
        if not criteria or not shelf.size:
            return range(shelf.size)
        planned = sorted(((self.hits(each, shelf), each) for each in criteria), key=lambda pair: pair[0].size)
        first = planned[0][0]
        if len(planned) == 1 and first.negated:
            return first.others()
        if len(planned) == 1 and len(first.parts) == 1 and first.parts[0].sorted:
            return first.parts[0].rows
        rows = first.take()
        for hits, criterion in planned[1:]:
            if not rows:
                break
            rows = self._narrowed(rows, hits, criterion, shelf)
        return sorted(rows)

    def _narrowed(self, rows: set[int], hits: Hits, criterion: Criterion, shelf: ResourceIndex) -> set[int]:
        unsorted = any(not part.sorted for part in hits.parts)
        if unsorted and len(rows) * READ_COST < hits.size and isinstance(shelf, ChartIndex):
            few = sorted(rows)
            return {few[at] for at in self.meeting([criterion], shelf.pick(few))}
        return hits.among(rows)

    def hits(self, criterion: Criterion, shelf: ResourceIndex) -> Hits:
        """The rows of a shelf that meet one criterion."""
        negated = False
        if isinstance(criterion, ValueCriterion):
            parts: Iterable[LookupRows] = _look_up_values(shelf.index(criterion.aspect, criterion.arms), criterion)
            negated = criterion.negated
        elif isinstance(criterion, MissingCriterion):
            index = shelf.index("present", criterion.arms)
            assert isinstance(index, PresenceIndex)
            parts, negated = [LookupRows(index.rows)], criterion.missing
        elif isinstance(criterion, IdCriterion):
            parts, negated = [LookupRows(_find_rows_of_ids(criterion, shelf))], criterion.negated
        elif isinstance(criterion, ChainCriterion):
            parts = self._chained(criterion, shelf)
        elif isinstance(criterion, ReverseChainCriterion):
            parts = [LookupRows(_find_rows_of_keys(self._referred(criterion), shelf))]
        elif isinstance(criterion, CompositeCriterion):
            parts = [LookupRows(self._together(criterion, shelf))]
        else:
            parts = self._any(criterion, shelf)
        return Hits([part for part in parts if part.rows], negated, shelf.size)

    def _any(self, criterion: AnyCriterion, shelf: ResourceIndex) -> list[LookupRows]:
        every = [self.hits(each, shelf) for each in criterion.criteria]
        if any(hits.negated for hits in every):
            return [LookupRows(sorted(hits.take())) for hits in every]
        return [part for hits in every for part in hits.parts]

    def _together(self, criterion: CompositeCriterion, shelf: ResourceIndex) -> Rows:
        nodes, owners = shelf.nodes(criterion.roots)
        found = {owners[at] for terms in criterion.alternatives for at in self.meeting(terms, nodes)}
        return sorted(found)

    def inner(self, type: str, criterion: Criterion) -> TypeMatches:
        """What a chain leads to, worked out once."""
        known = (type, id(criterion))
        if known not in self._inner:
            self._inner[known] = self.matching(type, [criterion])
        return self._inner[known]

    def _chained(self, criterion: ChainCriterion, shelf: ResourceIndex) -> Iterable[LookupRows]:
        index = shelf.index("link", criterion.arms)
        assert isinstance(index, TextIndex)
        for type, inner in criterion.inner:
            for key in self.inner(type, inner).keys:
                yield LookupRows(get_rows(index.postings.get(key)))
                if self.base:
                    yield LookupRows(get_rows(index.postings.get(f"{self.base}/{key}")))

    def _referred(self, criterion: ReverseChainCriterion) -> set[str]:
        matched = self.inner(criterion.type, criterion.inner)
        found: set[str] = set()
        for shelf, rows in ((matched.kept, matched.rows), (matched.loose, matched.loose_rows)):
            if rows:
                forward = shelf.forward(criterion.arms)
                for row in rows:
                    found.update(_to_tuple(forward[row]))
        return {self.local(text) for text in found}

    def local(self, text: str) -> str:
        """A reference without this server's address."""
        return text[len(self.base) + 1 :] if self.base and text.startswith(self.base + "/") else text


def _exclude_rows(rows: Rows, others: Sequence[int]) -> Rows:
    """Sorted rows but for some others: what lies between them is copied in pieces."""
    holes = [(at, row) for row in others for at in [bisect_left(rows, row)] if at < len(rows) and rows[at] == row]
    if not holes:
        return rows
    left = array("I", rows)
    for at, _ in sorted(holes, reverse=True):
        del left[at]
    return left


def _to_tuple(said: ReferenceTexts) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) else said


def _look_up_values(index: Index, term: ValueCriterion) -> Iterable[LookupRows]:
    assert not isinstance(index, PresenceIndex)
    return [part for value in term.values for part in index.look(value)]


def _find_rows_of_ids(criterion: IdCriterion, shelf: ResourceIndex) -> Rows:
    assert isinstance(shelf, KeyedResourceIndex)
    if not shelf.keys:
        return ()
    type = shelf.keys[0].partition("/")[0]
    return _find_rows_of_keys({f"{type}/{id}" for id in criterion.ids}, shelf)


def _find_rows_of_keys(keys: Iterable[str], shelf: ResourceIndex) -> Rows:
    assert isinstance(shelf, KeyedResourceIndex)
    return sorted(row for row in map(shelf.row, keys) if row is not None)
