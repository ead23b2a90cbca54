"""Find the resources of a view that meet criteria: those of the chart by index, changed ones one by one."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import NamedTuple

from clerkship.formats.fhir.chart import ChartView
from clerkship.formats.fhir.search.index import Index, LookupRows, PresenceIndex, Rows, TextIndex, get_rows
from clerkship.formats.fhir.search.query import (
    AnyCriterion,
    ChainCriterion,
    CompositeCriterion,
    Criterion,
    IdCriterion,
    MissingCriterion,
    ReverseChainCriterion,
    ValueCriterion,
)
from clerkship.formats.fhir.search.resource_index import (
    ChartIndex,
    KeyedResourceIndex,
    OverlayIndex,
    ReferenceTexts,
    ResourceIndex,
)

READ_COST = 200
"""The cost of reading a resource, relative to adding a row to a set."""


class Hits(NamedTuple):
    """The rows that meet one criterion: those in the parts or, if negated, all others."""

    parts: Sequence[LookupRows]
    negated: bool
    universe: int

    @property
    def size(self) -> int:
        """An upper bound of the number of rows."""
        return self.universe if self.negated else sum(len(part.rows) for part in self.parts)

    def to_set(self) -> set[int]:
        """Return all rows."""
        return set(self.list_complement()) if self.negated else set().union(*(part.rows for part in self.parts))

    def list_complement(self) -> list[int]:
        """Return all rows that are in no part, in order."""
        mask = bytearray(b"\x01") * self.universe
        for part in self.parts:
            for row in part.rows:
                mask[row] = 0
        return list(compress(range(self.universe), mask))

    def intersect(self, rows: set[int]) -> set[int]:
        """Return those of some rows that meet the criterion."""
        if all(part.sorted for part in self.parts) and len(rows) * len(self.parts) * 8 < sum(
            len(part.rows) for part in self.parts
        ):
            matching = {row for row in rows if any(_contains_row(part.rows, row) for part in self.parts)}
        else:
            matching = rows.intersection(set().union(*(part.rows for part in self.parts)))
        return rows - matching if self.negated else matching


def _contains_row(rows: Rows, row: int) -> bool:
    at = bisect_left(rows, row)
    return at < len(rows) and rows[at] == row


class TypeMatches(NamedTuple):
    """The matches of one type: rows of the chart in order, and rows of changed resources."""

    chart_index: ChartIndex
    rows: Rows
    overlay_index: OverlayIndex
    overlay_rows: Rows

    @property
    def keys(self) -> list[str]:
        """The keys of all matches, unordered."""
        return [
            *(self.chart_index.keys[row] for row in self.rows),
            *(self.overlay_index.keys[row] for row in self.overlay_rows),
        ]


class Search:
    """One search over one view. It caches intermediate results."""

    def __init__(self, view: ChartView, base: str = "", zone: int = 0) -> None:
        self.view = view
        self.base = base.rstrip("/")
        self.zone = zone
        self._chart_indexes: dict[str, ChartIndex] = {}
        self._overlay_indexes: dict[str, OverlayIndex] = {}
        self._inner: dict[tuple[str, int], TypeMatches] = {}

    def chart_index(self, type: str) -> ChartIndex:
        """Return the indexes over resources of a type in the chart."""
        if type not in self._chart_indexes:
            self._chart_indexes[type] = ChartIndex(self.view.chart, type, self.zone)
        return self._chart_indexes[type]

    def overlay_index(self, type: str) -> OverlayIndex:
        """Return the indexes over changed resources of a type."""
        if type not in self._overlay_indexes:
            cached = self.view.cache_until_changed(type, lambda: self._build_overlay_index(type))
            self._overlay_indexes[type] = cached if cached.zone == self.zone else self._build_overlay_index(type)
        return self._overlay_indexes[type]

    def _build_overlay_index(self, type: str) -> OverlayIndex:
        changed = self.view.changed(type)
        return OverlayIndex({key: resource for key, resource in changed.items() if resource is not None}, self.zone)

    def match_type(self, type: str, criteria: Sequence[Criterion]) -> TypeMatches:
        """Return the resources of a type that meet all criteria."""
        chart_index, overlay_index = self.chart_index(type), self.overlay_index(type)
        rows = self.find_rows(criteria, chart_index)
        shadowed = [row for row in map(chart_index.find_row, self.view.changed(type)) if row is not None]
        return TypeMatches(
            chart_index, _exclude_rows(rows, shadowed), overlay_index, self.find_rows(criteria, overlay_index)
        )

    def find_rows(self, criteria: Sequence[Criterion], resource_index: ResourceIndex) -> Rows:
        """Return the rows that meet all criteria, in order."""
        if not criteria or not resource_index.size:
            return range(resource_index.size)
        planned = sorted(
            ((self.find_hits(each, resource_index), each) for each in criteria), key=lambda pair: pair[0].size
        )
        first = planned[0][0]
        if len(planned) == 1 and first.negated:
            return first.list_complement()
        if len(planned) == 1 and len(first.parts) == 1 and first.parts[0].sorted:
            return first.parts[0].rows
        rows = first.to_set()
        for hits, criterion in planned[1:]:
            if not rows:
                break
            rows = self._narrow(rows, hits, criterion, resource_index)
        return sorted(rows)

    def _narrow(self, rows: set[int], hits: Hits, criterion: Criterion, resource_index: ResourceIndex) -> set[int]:
        is_unsorted = any(not part.sorted for part in hits.parts)
        if is_unsorted and len(rows) * READ_COST < hits.size and isinstance(resource_index, ChartIndex):
            few = sorted(rows)
            return {few[at] for at in self.find_rows([criterion], resource_index.select(few))}
        return hits.intersect(rows)

    def find_hits(self, criterion: Criterion, resource_index: ResourceIndex) -> Hits:
        """Return the rows that meet one criterion."""
        negated = False
        if isinstance(criterion, ValueCriterion):
            parts: Iterable[LookupRows] = _look_up_values(
                resource_index.get_index(criterion.index_kind, criterion.paths), criterion
            )
            negated = criterion.negated
        elif isinstance(criterion, MissingCriterion):
            index = resource_index.get_index("present", criterion.paths)
            assert isinstance(index, PresenceIndex)
            parts, negated = [LookupRows(index.rows)], criterion.missing
        elif isinstance(criterion, IdCriterion):
            parts, negated = [LookupRows(_find_rows_of_ids(criterion, resource_index))], criterion.negated
        elif isinstance(criterion, ChainCriterion):
            parts = self._find_chained(criterion, resource_index)
        elif isinstance(criterion, ReverseChainCriterion):
            parts = [LookupRows(_find_rows_of_keys(self._find_referenced(criterion), resource_index))]
        elif isinstance(criterion, CompositeCriterion):
            parts = [LookupRows(self._find_composite(criterion, resource_index))]
        else:
            parts = self._find_any(criterion, resource_index)
        return Hits([part for part in parts if part.rows], negated, resource_index.size)

    def _find_any(self, criterion: AnyCriterion, resource_index: ResourceIndex) -> list[LookupRows]:
        every = [self.find_hits(each, resource_index) for each in criterion.criteria]
        if any(hits.negated for hits in every):
            return [LookupRows(sorted(hits.to_set())) for hits in every]
        return [part for hits in every for part in hits.parts]

    def _find_composite(self, criterion: CompositeCriterion, resource_index: ResourceIndex) -> Rows:
        nodes, owners = resource_index.list_nodes(criterion.roots)
        rows = {owners[at] for terms in criterion.alternatives for at in self.find_rows(terms, nodes)}
        return sorted(rows)

    def match_inner(self, type: str, criterion: Criterion) -> TypeMatches:
        """Return the matches at the end of a chain, cached."""
        key = (type, id(criterion))
        if key not in self._inner:
            self._inner[key] = self.match_type(type, [criterion])
        return self._inner[key]

    def _find_chained(self, criterion: ChainCriterion, resource_index: ResourceIndex) -> Iterable[LookupRows]:
        index = resource_index.get_index("link", criterion.paths)
        assert isinstance(index, TextIndex)
        for type, inner in criterion.inner:
            for key in self.match_inner(type, inner).keys:
                yield LookupRows(get_rows(index.postings.get(key)))
                if self.base:
                    yield LookupRows(get_rows(index.postings.get(f"{self.base}/{key}")))

    def _find_referenced(self, criterion: ReverseChainCriterion) -> set[str]:
        matched = self.match_inner(criterion.type, criterion.inner)
        references: set[str] = set()
        for resource_index, rows in (
            (matched.chart_index, matched.rows),
            (matched.overlay_index, matched.overlay_rows),
        ):
            if rows:
                forward = resource_index.list_references(criterion.paths)
                for row in rows:
                    references.update(_to_tuple(forward[row]))
        return {self.to_relative(text) for text in references}

    def to_relative(self, text: str) -> str:
        """Return a reference without the base URL of this server."""
        return text[len(self.base) + 1 :] if self.base and text.startswith(self.base + "/") else text


def _exclude_rows(rows: Rows, others: Sequence[int]) -> Rows:
    """Return sorted rows without some others."""
    holes = [(at, row) for row in others for at in [bisect_left(rows, row)] if at < len(rows) and rows[at] == row]
    if not holes:
        return rows
    left = array("I", rows)
    for at, _ in sorted(holes, reverse=True):
        del left[at]
    return left


def _to_tuple(text: ReferenceTexts) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else text


def _look_up_values(index: Index, term: ValueCriterion) -> Iterable[LookupRows]:
    assert not isinstance(index, PresenceIndex)
    return [part for value in term.values for part in index.look_up(value)]


def _find_rows_of_ids(criterion: IdCriterion, resource_index: ResourceIndex) -> Rows:
    assert isinstance(resource_index, KeyedResourceIndex)
    if not resource_index.keys:
        return ()
    type = resource_index.keys[0].partition("/")[0]
    return _find_rows_of_keys({f"{type}/{id}" for id in criterion.ids}, resource_index)


def _find_rows_of_keys(keys: Iterable[str], resource_index: ResourceIndex) -> Rows:
    assert isinstance(resource_index, KeyedResourceIndex)
    return sorted(row for row in map(resource_index.find_row, keys) if row is not None)
