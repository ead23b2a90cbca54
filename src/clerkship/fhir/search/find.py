"""Find what a query asks for, in the order it asks for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Protocol

from clerkship.fhir.chart import View
from clerkship.fhir.resource import Resource
from clerkship.fhir.search.match import Search
from clerkship.fhir.search.order import Merged, Place, follows, merged
from clerkship.fhir.search.parse import parse_query
from clerkship.fhir.search.query import Meaning, Query
from clerkship.fhir.search.shelf import Loose


class Places(Protocol):
    """Where in an order things are."""

    def place(self, at: int) -> Place:
        """By what one is sorted, and its key."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that matches, in order."""

    keys: Sequence[str]
    places: Places

    @property
    def total(self) -> int:
        """How many match."""
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class _Listed:
    """Places one by one."""

    all: list[Place]

    def place(self, at: int) -> Place:
        """One of them."""
        return self.all[at]


def find(view: View, query: Query) -> Found:
    """All that match a query, as the view is now."""
    search = Search(view, query.base, query.zone)
    parts = [merged(type, search.matching(type, criteria), query.sort) for type, criteria in query.wanted]
    some = [part for part in parts if len(part)] or parts[:1]
    return Found(some[0], some[0]) if len(some) == 1 else _several(some, [rule.descending for rule in query.sort])


def _several(parts: Sequence[Merged], downs: list[bool]) -> Found:
    """Of several types, each in its own order, the one order of all."""
    places = [part.place(at) for part in parts for at in range(len(part))]
    if not downs:
        places.sort()
    else:

        def compare(one: Place, other: Place) -> int:
            return follows(one, other, downs) - follows(other, one, downs)

        places.sort(key=cmp_to_key(compare))
    return Found([str(place[-1]) for place in places], _Listed(places))


def find_keys(view: View, type: str, pairs: Sequence[tuple[str, str]], *, base: str = "") -> list[str]:
    """The keys of what some parameters find; raises Invalid where they are wrong."""
    return list(find(view, parse_query(type, pairs, meaning=Meaning(base, view.zone))).keys)


def matches(view: View, type: str, pairs: Sequence[tuple[str, str]], resource: Resource, *, base: str = "") -> bool:
    """Whether one resource, be it in the view or not, is what some parameters look for."""
    query = parse_query(type, pairs, meaning=Meaning(base, view.zone))
    if resource.get("resourceType") != type:
        return False
    shelf = Loose({f"{type}/{resource.get('id', '')}": resource}, query.zone)
    return bool(Search(view, query.base, query.zone).meeting(query.wanted[0][1], shelf))
