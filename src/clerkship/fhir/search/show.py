"""Less of a resource than there is of it: `_elements` and `_summary` (R4 §3.1.1.5.8 and §3.1.1.5.9)."""

from functools import lru_cache

from clerkship.fhir.definitions import mandatory_elements, structure, summary_elements
from clerkship.fhir.resource import Resource
from clerkship.fhir.search.query import Query

ALWAYS = frozenset({"resourceType", "id", "meta"})
SUBSETTED = {"system": "http://terminology.hl7.org/CodeSystem/v3-ObservationValue", "code": "SUBSETTED"}


def shown(resource: Resource, query: Query) -> Resource:
    """A resource as a query wants to see it; one that is not whole says so by a tag."""
    kept = _kept(str(resource["resourceType"]), query)
    if kept is not None:
        return _marked({name: value for name, value in resource.items() if name.removeprefix("_") in kept})
    if query.summary == "data":
        return _marked({name: value for name, value in resource.items() if name != "text"})
    return resource


def _kept(type: str, query: Query) -> frozenset[str] | None:
    if query.elements:
        return ALWAYS | mandatory_elements(type) | {each for name in query.elements for each in spellings(type, name)}
    if query.summary == "true":
        return ALWAYS | summary_elements(type)
    return ALWAYS | {"text"} | mandatory_elements(type) if query.summary == "text" else None


@lru_cache(4096)
def spellings(type: str, element: str) -> frozenset[str]:
    """How an element is written in JSON; `value` is any of its choices."""
    for each in structure(type).elements:
        if element == each.name or element in each.spellings:
            return frozenset(each.spellings) if element == each.name else frozenset({element})
    return frozenset()


def _marked(resource: Resource) -> Resource:
    meta = resource.get("meta")
    known = meta if isinstance(meta, dict) else {}
    return {**resource, "meta": {**known, "tag": [*known.get("tag", ()), SUBSETTED]}}
