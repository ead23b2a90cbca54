"""Return a subset of a resource: `_elements` and `_summary` (R4 §3.1.1.5.8 and §3.1.1.5.9)."""

from functools import lru_cache

from clerkship.formats.fhir.definitions import get_structure, mandatory_elements, summary_elements
from clerkship.formats.fhir.resource import Resource
from clerkship.formats.fhir.search.query import SearchQuery

ALWAYS_INCLUDED = frozenset({"resourceType", "id", "meta"})
SUBSETTED = {"system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue", "code": "SUBSETTED"}


def subset_resource(resource: Resource, query: SearchQuery) -> Resource:
    """Return the elements that a query requests; an incomplete resource is tagged SUBSETTED."""
    names = _select_kept_elements(str(resource["resourceType"]), query)
    if names is not None:
        return _tag_subsetted({name: value for name, value in resource.items() if name.removeprefix("_") in names})
    if query.summary == "data":
        return _tag_subsetted({name: value for name, value in resource.items() if name != "text"})
    return resource


def _select_kept_elements(type: str, query: SearchQuery) -> frozenset[str] | None:
    if query.elements:
        return (
            ALWAYS_INCLUDED
            | mandatory_elements(type)
            | {each for name in query.elements for each in get_json_names(type, name)}
        )
    if query.summary == "true":
        return ALWAYS_INCLUDED | summary_elements(type)
    return ALWAYS_INCLUDED | {"text"} | mandatory_elements(type) if query.summary == "text" else None


@lru_cache(4096)
def get_json_names(type: str, element: str) -> frozenset[str]:
    """Return the JSON names of an element; for a choice, of all its types."""
    for each in get_structure(type).elements:
        if element == each.name or element in each.spellings:
            return frozenset(each.spellings) if element == each.name else frozenset({element})
    return frozenset()


def _tag_subsetted(resource: Resource) -> Resource:
    meta = resource.get("meta")
    known = meta if isinstance(meta, dict) else {}
    return {**resource, "meta": {**known, "tag": [*known.get("tag", ()), SUBSETTED]}}
