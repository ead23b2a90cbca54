"""Which resources of a view meet some criteria: a chart's by indexes, those that changed since by a look at each."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import NamedTuple

from clerkship.fhir.chart import View
from clerkship.fhir.search.index import Index, Part, Present, Rows, Words, rows_of
from clerkship.fhir.search.query import AlternativeValues, Chain, Criterion, Ids, Missing, Reverse, Term, Together
from clerkship.fhir.search.shelf import Forward, Kept, KeyedShelf, Loose, Shelf

SLOWER = 200
"""How many times longer it takes to read a resource than to put a row in a set."""


class Hits(NamedTuple):
    """The rows that meet one criterion: those in the parts, or, negated, all others."""

    parts: Sequence[Part]
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
            found = {row for row in rows if any(_in(part.rows, row) for part in self.parts)}
        else:
            found = rows.intersection(set().union(*(part.rows for part in self.parts)))
        return rows - found if self.negated else found


def _in(rows: Rows, row: int) -> bool:
    at = bisect_left(rows, row)
    return at < len(rows) and rows[at] == row


class Matched(NamedTuple):
    """What of one type meets the criteria: rows of the chart, in order, and keys of what changed since."""

    kept: Kept
    rows: Rows
    loose: Loose
    loose_rows: Rows

    @property
    def keys(self) -> list[str]:
        """All of them, in no order."""
        return [*(self.kept.keys[row] for row in self.rows), *(self.loose.keys[row] for row in self.loose_rows)]


class Search:
    """One search over one view; what it works out on the way it remembers until it is done."""

    def __init__(self, view: View, base: str = "", zone: int = 0) -> None:
        self.view = view
        self.base = base.rstrip("/")
        self.zone = zone
        self._kept: dict[str, Kept] = {}
        self._loose: dict[str, Loose] = {}
        self._inner: dict[tuple[str, int], Matched] = {}

    def kept(self, type: str) -> Kept:
        """A type's resources in the chart."""
        if type not in self._kept:
            self._kept[type] = Kept(self.view.chart, type, self.zone)
        return self._kept[type]

    def loose(self, type: str) -> Loose:
        """A type's resources that differ from the chart."""
        if type not in self._loose:
            found = self.view.while_unchanged(type, lambda: self._loose_of(type))
            self._loose[type] = found if found.zone == self.zone else self._loose_of(type)
        return self._loose[type]

    def _loose_of(self, type: str) -> Loose:
        changed = self.view.changed(type)
        return Loose({key: resource for key, resource in changed.items() if resource is not None}, self.zone)

    def matching(self, type: str, criteria: Sequence[Criterion]) -> Matched:
        """What of a type meets all of some criteria."""
        kept, loose = self.kept(type), self.loose(type)
        rows = self.meeting(criteria, kept)
        shadowed = [row for row in map(kept.row, self.view.changed(type)) if row is not None]
        return Matched(kept, _without(rows, shadowed), loose, self.meeting(criteria, loose))

    def meeting(self, criteria: Sequence[Criterion], shelf: Shelf) -> Rows:
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

    def _narrowed(self, rows: set[int], hits: Hits, criterion: Criterion, shelf: Shelf) -> set[int]:
        unsorted = any(not part.sorted for part in hits.parts)
        if unsorted and len(rows) * SLOWER < hits.size and isinstance(shelf, Kept):
            few = sorted(rows)
            return {few[at] for at in self.meeting([criterion], shelf.pick(few))}
        return hits.among(rows)

    def hits(self, criterion: Criterion, shelf: Shelf) -> Hits:
        """The rows of a shelf that meet one criterion."""
        negated = False
        if isinstance(criterion, Term):
            parts: Iterable[Part] = _looked(shelf.index(criterion.aspect, criterion.arms), criterion)
            negated = criterion.negated
        elif isinstance(criterion, Missing):
            index = shelf.index("present", criterion.arms)
            assert isinstance(index, Present)
            parts, negated = [Part(index.rows)], criterion.missing
        elif isinstance(criterion, Ids):
            parts, negated = [Part(_rows_of_ids(criterion, shelf))], criterion.negated
        elif isinstance(criterion, Chain):
            parts = self._chained(criterion, shelf)
        elif isinstance(criterion, Reverse):
            parts = [Part(_rows_of_keys(self._referred(criterion), shelf))]
        elif isinstance(criterion, Together):
            parts = [Part(self._together(criterion, shelf))]
        else:
            parts = self._any(criterion, shelf)
        return Hits([part for part in parts if part.rows], negated, shelf.size)

    def _any(self, criterion: AlternativeValues, shelf: Shelf) -> list[Part]:
        every = [self.hits(each, shelf) for each in criterion.criteria]
        if any(hits.negated for hits in every):
            return [Part(sorted(hits.take())) for hits in every]
        return [part for hits in every for part in hits.parts]

    def _together(self, criterion: Together, shelf: Shelf) -> Rows:
        nodes, owners = shelf.nodes(criterion.roots)
        found = {owners[at] for terms in criterion.alternatives for at in self.meeting(terms, nodes)}
        return sorted(found)

    def inner(self, type: str, criterion: Criterion) -> Matched:
        """What a chain leads to, worked out once."""
        known = (type, id(criterion))
        if known not in self._inner:
            self._inner[known] = self.matching(type, [criterion])
        return self._inner[known]

    def _chained(self, criterion: Chain, shelf: Shelf) -> Iterable[Part]:
        index = shelf.index("link", criterion.arms)
        assert isinstance(index, Words)
        for type, inner in criterion.inner:
            for key in self.inner(type, inner).keys:
                yield Part(rows_of(index.postings.get(key)))
                if self.base:
                    yield Part(rows_of(index.postings.get(f"{self.base}/{key}")))

    def _referred(self, criterion: Reverse) -> set[str]:
        matched = self.inner(criterion.type, criterion.inner)
        found: set[str] = set()
        for shelf, rows in ((matched.kept, matched.rows), (matched.loose, matched.loose_rows)):
            if rows:
                forward = shelf.forward(criterion.arms)
                for row in rows:
                    found.update(_texts(forward[row]))
        return {self.local(text) for text in found}

    def local(self, text: str) -> str:
        """A reference without this server's address."""
        return text[len(self.base) + 1 :] if self.base and text.startswith(self.base + "/") else text


def _without(rows: Rows, others: Sequence[int]) -> Rows:
    """Sorted rows but for some others: what lies between them is copied in pieces."""
    holes = [(at, row) for row in others for at in [bisect_left(rows, row)] if at < len(rows) and rows[at] == row]
    if not holes:
        return rows
    left = array("I", rows)
    for at, _ in sorted(holes, reverse=True):
        del left[at]
    return left


def _texts(said: Forward) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) else said


def _looked(index: Index, term: Term) -> Iterable[Part]:
    assert not isinstance(index, Present)
    return [part for value in term.values for part in index.look(value)]


def _rows_of_ids(criterion: Ids, shelf: Shelf) -> Rows:
    assert isinstance(shelf, KeyedShelf)
    if not shelf.keys:
        return ()
    type = shelf.keys[0].partition("/")[0]
    return _rows_of_keys({f"{type}/{id}" for id in criterion.ids}, shelf)


def _rows_of_keys(keys: Iterable[str], shelf: Shelf) -> Rows:
    assert isinstance(shelf, KeyedShelf)
    return sorted(row for row in map(shelf.row, keys) if row is not None)
