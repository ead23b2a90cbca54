"""Find what a query asks for, in the order it asks for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from clerkship.fhir.chart import View
from clerkship.fhir.resource import Resource
from clerkship.fhir.search.compartment import compartment_parameters, types_in
from clerkship.fhir.search.criteria import compartment_criterion
from clerkship.fhir.search.match import Search
from clerkship.fhir.search.order import Merged, Place, follows, merged
from clerkship.fhir.search.parse import parse_query
from clerkship.fhir.search.query import Meaning, Query
from clerkship.fhir.search.shelf import Loose


@dataclass(frozen=True, slots=True)
class Found:
    """All matches of a query, in order."""

    keys: Sequence[str]
    place: Callable[[int], Place]
    """Return the place in the order of the match with a number."""

    @property
    def total(self) -> int:
        """How many match."""
        return len(self.keys)


def find(view: View, query: Query) -> Found:
    """All that match a query, as the view is now."""
    search = Search(view, query.base, query.zone)
    parts = [merged(type, search.matching(type, criteria), query.sort) for type, criteria in query.wanted]
    some = [part for part in parts if len(part)] or parts[:1]
    return Found(some[0], some[0].place) if len(some) == 1 else _several(some, [rule.descending for rule in query.sort])


def _several(parts: Sequence[Merged], downs: list[bool]) -> Found:
    """Of several types, each in its own order, the one order of all."""
    places = [part.place(at) for part in parts for at in range(len(part))]
    if not downs:
        places.sort()
    else:

        def compare(one: Place, other: Place) -> int:
            return follows(one, other, downs) - follows(other, one, downs)

        places.sort(key=cmp_to_key(compare))
    return Found([str(place[-1]) for place in places], places.__getitem__)


def find_keys(view: View, type: str, pairs: Sequence[tuple[str, str]], *, base: str = "") -> list[str]:
    """The keys of what some parameters find; raises Invalid where they are wrong."""
    return list(find(view, parse_query(type, pairs, meaning=Meaning(base, view.zone))).keys)


def matches(view: View, type: str, pairs: Sequence[tuple[str, str]], resource: Resource) -> bool:
    """Whether one resource, be it in the view or not, is what some parameters look for."""
    query = parse_query(type, pairs, meaning=Meaning(zone=view.zone))
    if resource.get("resourceType") != type:
        return False
    shelf = Loose({f"{type}/{resource.get('id', '')}": resource}, query.zone)
    return bool(Search(view, query.base, query.zone).meeting(query.wanted[0][1], shelf))


def in_compartment(view: View, compartment: str, id: str) -> list[str]:
    """Return the keys of a compartment (R4 CompartmentDefinition): its subject first, the others by type and id."""
    search, key = Search(view), f"{compartment}/{id}"
    found: set[str] = set()
    for type in types_in(compartment):
        criterion = compartment_criterion(type, compartment_parameters(compartment, type), key, "")
        found.update(search.matching(type, [criterion]).keys)
    return [*([key] if key in found else []), *sorted(found - {key})]
