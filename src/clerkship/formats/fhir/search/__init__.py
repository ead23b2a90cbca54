"""FHIR R4 search. Queries are parsed once; resources are found by indexes that a chart builds on first use."""

from clerkship.formats.fhir.search.find import SearchResult, matches_search, run_search, search_keys
from clerkship.formats.fhir.search.include import find_included
from clerkship.formats.fhir.search.page import ResultPage, build_page
from clerkship.formats.fhir.search.parse import parse_query
from clerkship.formats.fhir.search.query import SearchContext, SearchQuery
from clerkship.formats.fhir.search.ranges import to_microseconds
from clerkship.formats.fhir.search.subset import subset_resource

__all__ = [
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
