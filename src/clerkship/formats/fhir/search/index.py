"""Indexes from values of elements to the rows of their resources.

A row is the position of a resource among the sorted keys of its type. Rows are added in order, so every posting is
sorted and unique; a single row is stored as a number, several as an array of four bytes each.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias, TypeVar

from clerkship.formats.fhir.resource import Resource
from clerkship.formats.fhir.search.extract import (
    QuantityRange,
    System,
    extract_dates,
    extract_labels,
    extract_quantities,
    extract_reference_identifiers,
    extract_references,
    extract_strings,
    extract_tokens,
    extract_typed_identifiers,
    is_present,
    normalize_text,
)
from clerkship.formats.fhir.search.query import (
    DateValue,
    IndexKind,
    QuantityValue,
    ReferenceValue,
    SearchValue,
    TextValue,
    TokenValue,
)
from clerkship.formats.fhir.search.ranges import TimeRange
from clerkship.formats.fhir.search_parameters import ParameterPath

K = TypeVar("K")
Posting: TypeAlias = "int | array[int]"
Rows = Sequence[int]
MAX_CHARACTER = "\U0010ffff"


class LookupRows(NamedTuple):
    """Rows found by a lookup, and whether they are sorted."""

    rows: Rows
    sorted: bool = True


def add_posting(postings: dict[K, Posting], value: K, row: int) -> None:
    """Add a row to the posting of a value."""
    posting = postings.get(value)
    if posting is None:
        postings[value] = row
    elif isinstance(posting, int):
        if posting != row:
            postings[value] = array("I", (posting, row))
    elif posting[-1] != row:
        posting.append(row)


def get_rows(posting: "Posting | None") -> Rows:
    """Return the rows of a posting."""
    if posting is None:
        return ()
    return (posting,) if isinstance(posting, int) else posting


class TextIndex:
    """An index of texts: looked up whole, by prefix, or by substring."""

    def __init__(self, values: Iterable[tuple[int, str]]) -> None:
        self.postings: dict[str, Posting] = {}
        for row, text in values:
            add_posting(self.postings, text, row)
        self._sorted: list[str] | None = None

    @property
    def sorted(self) -> list[str]:
        """The texts in order; sorted when first needed."""
        if self._sorted is None:
            self._sorted = sorted(self.postings)
        return self._sorted

    def look_up(self, value: SearchValue) -> Iterator[LookupRows]:
        for text in value.spellings if isinstance(value, ReferenceValue) else self._list_candidates(value):
            rows = get_rows(self.postings.get(text))
            if rows:
                yield LookupRows(rows)

    def _list_candidates(self, value: SearchValue) -> Iterable[str]:
        """Return the indexed texts that match a value."""
        assert isinstance(value, TextValue)
        if value.how == "starts":
            return self.list_with_prefix(value.text)
        if value.how == "contains":
            return [text for text in self.postings if value.text in text]
        return _iter_parent_uris(value.text) if value.how == "above" else (value.text,)

    def iter_sorted(self) -> Iterator[tuple[str, Rows]]:
        """Yield the texts in order, with their rows."""
        return ((text, get_rows(self.postings[text])) for text in self.sorted)

    def list_with_prefix(self, text: str) -> list[str]:
        return self.sorted[bisect_left(self.sorted, text) : bisect_left(self.sorted, text + MAX_CHARACTER)]


def _iter_parent_uris(text: str) -> Iterator[str]:
    """Yield a URI and its parents, with one segment less each time."""
    yield text
    for at in range(len(text) - 1, 0, -1):
        if text[at] == "/" and text[at - 1] != "/":
            yield text[:at]
            yield text[: at + 1]


class TokenIndex:
    """An index of codes with their systems."""

    def __init__(self, values: Iterable[tuple[int, tuple[System, str]]]) -> None:
        self.postings: dict[tuple[System, str], Posting] = {}
        for row, pair in values:
            add_posting(self.postings, pair, row)
        self.systems: dict[str, list[System]] = {}
        for system, code in self.postings:
            self.systems.setdefault(code, []).append(system)

    def look_up(self, value: SearchValue) -> Iterator[LookupRows]:
        """Yield the rows of `system|code`, `|code`, `system|` or `code`."""
        assert isinstance(value, TokenValue)
        if value.code is None:
            pairs = [pair for pair in self.postings if _is_system_match(pair[0], value.system)]
        else:
            systems = self.systems.get(value.code, ())
            pairs = [(system, value.code) for system in systems if _is_system_match(system, value.system)]
        for pair in pairs:
            yield LookupRows(get_rows(self.postings[pair]))

    def iter_sorted(self) -> Iterator[tuple[str, Rows]]:
        """Yield the codes in order, with their rows; systems are ignored."""
        for code in sorted(self.systems):
            for system in self.systems[code]:
                yield code, get_rows(self.postings[system, code])


def _is_system_match(system: System, requested: str | None) -> bool:
    """Return whether a code is of the requested system; a primitive is of the systems that its binding implies, or of
    none.
    """
    return requested is None or (
        system == requested if isinstance(system, str) else requested in system or not requested
    )


class RangeEndpoints(NamedTuple):
    """Ranges sorted by one of their endpoints: the endpoints, their rows, and their units."""

    at: "array[Any]"
    rows: "array[int]"
    units: list[tuple[str, str, str]]


class RangeIndex:
    """An index of time ranges, or of quantities with units, sorted by start and by end."""

    def __init__(self, values: Iterable[tuple[int, TimeRange | QuantityRange]], closed: bool) -> None:
        self.closed = closed
        """Whether ranges include their end: quantities do, the end of a time range is the first moment after it."""
        entries = sorted(values, key=lambda entry: entry[1][0])
        kind = "d" if closed else "q"
        self.highs = array(kind, (entry[1][1] for entry in entries))
        """The ends of ranges in order of their starts."""
        self.starts = _build_endpoints(kind, entries, 0)
        self.ends = _build_endpoints(kind, sorted(entries, key=lambda entry: entry[1][1]), 1)
        self.widest = max((value[1] - value[0] for _, value in entries), default=0)

    def look_up(self, value: SearchValue) -> Iterator[LookupRows]:
        """Yield the rows that match a date or number with its prefix."""
        assert isinstance(value, DateValue | QuantityValue)
        by_unit = isinstance(value, QuantityValue) and (value.system is not None or value.code is not None)
        for edges, places in self.iter_matches(value):
            if by_unit:
                rows: Rows = [edges.rows[at] for at in places if _is_same_unit(edges.units[at], value)]
            elif isinstance(places, range):
                rows = edges.rows[places.start : places.stop]
            else:
                rows = [edges.rows[at] for at in places]
            if rows:
                yield LookupRows(rows, sorted=False)

    def iter_matches(self, value: DateValue | QuantityValue) -> Iterator[tuple[RangeEndpoints, Sequence[int]]]:
        """Yield the positions where a comparison holds (R4 §3.1.1.4.5); numbers are not rounded."""
        prefix, size = value.prefix, len(self.highs)
        low, high = (value.value, value.value) if isinstance(value, QuantityValue) else (value.low, value.high)
        starts, ends = self.starts, self.ends
        if prefix == "eq" or (prefix in {"ge", "le"} and not self.closed):
            for places in self.iter_within(value.low, value.high):
                yield starts, places
        if prefix == "ne":
            inside = {at for places in self.iter_within(value.low, value.high) for at in places}
            yield starts, [at for at in range(size) if at not in inside]
        elif prefix == "ap":
            yield starts, self.list_overlapping(value.low, value.high)
        elif prefix == "sa":
            yield starts, range((bisect_right if self.closed else bisect_left)(starts.at, high), size)
        elif prefix == "eb":
            yield ends, range((bisect_left if self.closed else bisect_right)(ends.at, low))
        elif prefix in {"gt", "ge"}:
            yield ends, range((bisect_left if self.closed and prefix == "ge" else bisect_right)(ends.at, high), size)
        elif prefix in {"lt", "le"}:
            yield starts, range((bisect_right if self.closed and prefix == "le" else bisect_left)(starts.at, low))

    def iter_sorted(self, descending: bool) -> Iterator[tuple[Any, Rows]]:
        """Yield starts in ascending or ends in descending order, with their rows."""
        edges = self.ends if descending else self.starts
        return ((at, (row,)) for at, row in zip(edges.at, edges.rows, strict=True))

    def iter_within(self, low: Any, high: Any) -> Iterator[Sequence[int]]:
        """Yield the positions of ranges within bounds, comparing only those that may end outside."""
        first, last = bisect_left(self.starts.at, low), bisect_left(self.starts.at, high)
        exact = not self.closed or not self.widest  # differences of floats are rounded, so not exact
        sure = max(first, bisect_left(self.starts.at, high - self.widest)) if exact else first
        yield range(first, sure)
        if self.closed:
            yield [at for at in range(sure, last) if self.highs[at] < high]
        else:
            yield [at for at in range(sure, last) if self.highs[at] <= high]

    def list_overlapping(self, low: Any, high: Any) -> Sequence[int]:
        """Return the positions of ranges that overlap bounds."""
        if self.closed:
            return [at for at in range(bisect_right(self.starts.at, high)) if self.highs[at] >= low]
        return [at for at in range(bisect_left(self.starts.at, high)) if self.highs[at] > low]


def _build_endpoints(kind: str, entries: Sequence[tuple[int, TimeRange | QuantityRange]], end: int) -> RangeEndpoints:
    units = [value.unit for _, value in entries if isinstance(value, QuantityRange)]
    return RangeEndpoints(
        array(kind, (value[end] for _, value in entries)), array("I", (row for row, _ in entries)), units
    )


def _is_same_unit(unit: tuple[str, str, str], value: DateValue | QuantityValue) -> bool:
    assert isinstance(value, QuantityValue)
    if value.system is not None:
        return unit[0] == value.system and (value.code is None or unit[1] == value.code)
    return value.code in {unit[1], unit[2]}  # without a system, the display matches too (R4 §3.1.1.4.11)


class PresenceIndex:
    """The rows that have any value."""

    def __init__(self, rows: Iterable[int]) -> None:
        self.rows = array("I", rows)


Index = TextIndex | TokenIndex | RangeIndex | PresenceIndex
NumberedNodes = Iterable[tuple[int, Resource, Any]]
"""Rows in order, each with its resource and the node to index, mostly the resource itself."""


ExtractValues = Callable[[ParameterPath, Resource, Any], Iterable[Any]]


def _extract_each(
    paths: tuple[ParameterPath, ...], resources: NumberedNodes, extract: ExtractValues
) -> Iterator[tuple[int, Any]]:
    firsts = [(path, path.steps[0].name if path.steps else "") for path in paths]
    for row, resource, node in resources:
        for path, first in firsts:
            if (
                first in node or not first or first == "%resource"
            ):  # skip absent elements: most types of a choice are absent
                for value in extract(path, resource, node):
                    yield row, value


def _extract_all_references(path: ParameterPath, resource: Resource, node: Any) -> Iterator[str]:
    for text in extract_references(path, resource, node):
        yield text
        if "|" in text and path.kind != "Reference":
            yield text.partition("|")[0]  # a canonical URL with a version is also found without it


def _extract_normalized_strings(path: ParameterPath, resource: Resource, node: Any) -> Iterator[str]:
    return map(normalize_text, extract_strings(path, resource, node))


def _extract_normalized_labels(path: ParameterPath, resource: Resource, node: Any) -> Iterator[str]:
    return map(normalize_text, extract_labels(path, resource, node))


def build_index(index_kind: IndexKind, paths: tuple[ParameterPath, ...], resources: NumberedNodes, zone: int) -> Index:
    """Build an index over numbered resources."""
    if index_kind == "present":
        return PresenceIndex(row for row, resource, _ in resources if any(is_present(path, resource) for path in paths))
    if index_kind == "date":
        return RangeIndex(_extract_each(paths, resources, partial(extract_dates, zone=zone)), closed=False)
    if index_kind == "amount":
        return RangeIndex(_extract_each(paths, resources, extract_quantities), closed=True)
    index, extract = _INDEX_TYPES[index_kind]
    return index(_extract_each(paths, resources, extract))


_INDEX_TYPES: dict[IndexKind, tuple[type[TextIndex | TokenIndex], ExtractValues]] = {
    "token": (TokenIndex, extract_tokens),
    "label": (TextIndex, _extract_normalized_labels),
    "of-type": (TextIndex, extract_typed_identifiers),
    "string": (TextIndex, _extract_normalized_strings),
    "exact": (TextIndex, extract_strings),
    "link": (TextIndex, _extract_all_references),
    "link-identifier": (TokenIndex, extract_reference_identifiers),
    "uri": (TextIndex, _extract_all_references),
}
