"""R4's search: queries parsed once, resources found by indexes that a chart builds when they are first wanted."""

from clerkship.fhir.search.find import Found, find, find_keys, matches
from clerkship.fhir.search.include import included
from clerkship.fhir.search.page import Page, page
from clerkship.fhir.search.parse import parse_query
from clerkship.fhir.search.query import Meaning, Query
from clerkship.fhir.search.show import shown
from clerkship.fhir.search.spans import moment

__all__ = [
    "Found",
    "Meaning",
    "Page",
    "Query",
    "find",
    "find_keys",
    "included",
    "matches",
    "moment",
    "page",
    "parse_query",
    "shown",
]
