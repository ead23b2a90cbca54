"""FHIR R4 search. Queries are parsed once; resources are found by indexes that a chart builds on first use."""

from clerkship.formats.fhir.search.find import (
    ResultPage,
    SearchResult,
    build_page,
    matches_search,
    run_search,
    search_keys,
)
from clerkship.formats.fhir.search.include import find_included
from clerkship.formats.fhir.search.parse import Handling, parse_query, subset_resource
from clerkship.formats.fhir.search.query import SearchContext, SearchQuery
from clerkship.formats.fhir.search.ranges import to_microseconds

__all__ = [
    "Handling",
    "ResultPage",
    "SearchContext",
    "SearchQuery",
    "SearchResult",
    "build_page",
    "find_included",
    "matches_search",
    "parse_query",
    "run_search",
    "search_keys",
    "subset_resource",
    "to_microseconds",
]
