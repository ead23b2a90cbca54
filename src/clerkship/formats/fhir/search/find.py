"""Run a search and return its matches in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from clerkship.formats.fhir.chart import ChartView
from clerkship.formats.fhir.resource import Resource
from clerkship.formats.fhir.search.compartment import compartment_parameters, list_compartment_members
from clerkship.formats.fhir.search.criteria import build_compartment_criterion
from clerkship.formats.fhir.search.match import Search
from clerkship.formats.fhir.search.order import MergedKeys, SortPosition, is_after, merge_matches
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
