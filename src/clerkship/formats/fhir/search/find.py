"""Run a search and return its matches in order, page by page.

A cursor holds the sort values of the last entry, not an offset: nothing is repeated or skipped when resources
change. It is valid for one query; with another query, or altered, it is refused.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import NamedTuple

import orjson

from clerkship.formats.fhir.chart import ChartView
from clerkship.formats.fhir.issue import fhir_error
from clerkship.formats.fhir.resource import Resource
from clerkship.formats.fhir.search.compartment import compartment_parameters, list_compartment_members
from clerkship.formats.fhir.search.criteria import build_compartment_criterion
from clerkship.formats.fhir.search.match import Search
from clerkship.formats.fhir.search.order import MergedKeys, SortPosition, find_position, is_after, merge_matches
from clerkship.formats.fhir.search.parse import parse_query
from clerkship.formats.fhir.search.query import SearchContext, SearchQuery
from clerkship.formats.fhir.search.resource_index import OverlayIndex


@dataclass(frozen=True, slots=True)
class SearchResult:
    """All matches of a query, in order."""

    keys: Sequence[str]
    get_position: Callable[[int], SortPosition]
    """Returns the sort position of a match by its index."""

    @property
    def total(self) -> int:
        """The number of matches."""
        return len(self.keys)


def run_search(view: ChartView, query: SearchQuery) -> SearchResult:
    """Return all matches of a query in the current state of a view."""
    search = Search(view, query.base, query.zone)
    parts = [
        merge_matches(type, search.match_type(type, criteria), query.sort) for type, criteria in query.criteria_by_type
    ]
    non_empty = [part for part in parts if len(part)] or parts[:1]
    return (
        SearchResult(non_empty[0], non_empty[0].get_position)
        if len(non_empty) == 1
        else _merge_types(non_empty, [rule.descending for rule in query.sort])
    )


def _merge_types(parts: Sequence[MergedKeys], descending: list[bool]) -> SearchResult:
    """Merge the sorted matches of several types."""
    positions = [part.get_position(at) for part in parts for at in range(len(part))]
    if not descending:
        positions.sort()
    else:

        def compare(one: SortPosition, other: SortPosition) -> int:
            return is_after(one, other, descending) - is_after(other, one, descending)

        positions.sort(key=cmp_to_key(compare))
    return SearchResult([str(position[-1]) for position in positions], positions.__getitem__)


def search_keys(view: ChartView, type: str, pairs: Sequence[tuple[str, str]], *, base: str = "") -> list[str]:
    """Return the keys of the matches of some parameters; raises FhirError if they are invalid."""
    return list(run_search(view, parse_query(type, pairs, context=SearchContext(base, view.zone))).keys)


def matches_search(view: ChartView, type: str, pairs: Sequence[tuple[str, str]], resource: Resource) -> bool:
    """Return whether one resource, in the view or not, matches some parameters."""
    query = parse_query(type, pairs, context=SearchContext(zone=view.zone))
    if resource.get("resourceType") != type:
        return False
    resource_index = OverlayIndex({f"{type}/{resource.get('id', '')}": resource}, query.zone)
    return bool(Search(view, query.base, query.zone).find_rows(query.criteria_by_type[0][1], resource_index))


def list_compartment_keys(view: ChartView, compartment: str, id: str) -> list[str]:
    """Return the keys of a compartment (R4 CompartmentDefinition): its subject first, the others by type and id."""
    search, key = Search(view), f"{compartment}/{id}"
    keys: set[str] = set()
    for type in list_compartment_members(compartment):
        criterion = build_compartment_criterion(type, compartment_parameters(compartment, type), key, "")
        keys.update(search.match_type(type, [criterion]).keys)
    return [*([key] if key in keys else []), *sorted(keys - {key})]


CURSOR_DIGEST_BYTES = 8
_DISPLAY_PARAMETERS = ("_count", "_total", "_summary", "_elements", "_include", "_revinclude")
"""Parameters that change how a page is returned, not which matches are on it."""

INVALID_CURSOR = fhir_error("invalid", "_cursor is not valid for this search: use the links of a page unchanged")


class ResultPage(NamedTuple):
    """One page of keys."""

    keys: list[str]
    next_cursor: str
    """Empty on the last page."""
    total: int
    previous_cursor: str | None = None
    """None on the first page; empty if the previous page is the first one."""


def build_page(result: SearchResult, query: SearchQuery, default_count: int) -> ResultPage:
    """Return the page that a query requests; raises FhirError for an invalid cursor."""
    count = default_count if query.count is None else query.count
    start = _find_start(result, query) if query.cursor else 0
    keys = list(result.keys[start : start + count])
    has_more = bool(count) and start + count < result.total
    next_cursor = _encode_cursor(query, result.get_position(start + count - 1)) if has_more else ""
    return ResultPage(keys, next_cursor, result.total, _build_previous_cursor(result, query, start, count))


def _build_previous_cursor(result: SearchResult, query: SearchQuery, start: int, count: int) -> str | None:
    if not start or not count:
        return None
    return _encode_cursor(query, result.get_position(start - count - 1)) if start > count else ""


def _digest_cursor(query: SearchQuery, payload: bytes) -> bytes:
    pairs = [pair for pair in query.pairs if pair[0].partition(":")[0] not in _DISPLAY_PARAMETERS]
    return hashlib.sha256(orjson.dumps([query.type, pairs]) + payload).digest()[:CURSOR_DIGEST_BYTES]


def _encode_cursor(query: SearchQuery, position: SortPosition) -> str:
    payload = orjson.dumps(position)
    return base64.urlsafe_b64encode(_digest_cursor(query, payload) + payload).rstrip(b"=").decode()


def _find_start(result: SearchResult, query: SearchQuery) -> int:
    try:
        return find_position(
            result.total, result.get_position, _decode_cursor(query), [rule.descending for rule in query.sort]
        )
    except (TypeError, ValueError):
        raise INVALID_CURSOR from None


def _decode_cursor(query: SearchQuery) -> SortPosition:
    try:
        data = base64.urlsafe_b64decode(query.cursor.encode("ascii") + b"=" * (-len(query.cursor) % 4))
    except (binascii.Error, ValueError):
        data = b""
    digest, payload = data[:CURSOR_DIGEST_BYTES], data[CURSOR_DIGEST_BYTES:]
    if not payload or digest != _digest_cursor(query, payload):
        raise INVALID_CURSOR
    return tuple(orjson.loads(payload))
