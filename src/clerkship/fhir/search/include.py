"""What comes along with an answer: `_include`, `_revinclude` and `:iterate` (R4 §3.1.1.5.4)."""

from collections.abc import Iterable, Iterator, Sequence

from clerkship.fhir.chart import View
from clerkship.fhir.parameters import Arm, parameters_of
from clerkship.fhir.reference import parse_reference
from clerkship.fhir.search.match import Search
from clerkship.fhir.search.query import Include, Link, Query, Term
from clerkship.fhir.search.terms import links


def included(view: View, query: Query, keys: Sequence[str]) -> list[str]:
    """The keys of what comes with some matches, each once, none of them a match itself."""
    if not query.includes and not query.revincludes:
        return []
    coming = _Coming(view, query)
    seen, fresh, found = set(keys), list(keys), list[str]()
    first = True
    while fresh:
        brought = [key for key in dict.fromkeys(coming.along(fresh, first)) if key not in seen and coming.exists(key)]
        found += brought
        seen.update(brought)
        fresh, first = brought, False
    return found


class _Coming:
    """Who brings whom."""

    def __init__(self, view: View, query: Query) -> None:
        self.view = view
        self.query = query
        self.search = Search(view, query.base, query.zone)

    def exists(self, key: str) -> bool:
        """Whether there is such a resource now."""
        changed = self.view.changed(key.partition("/")[0])
        return changed[key] is not None if key in changed else key in self.view.chart

    def along(self, keys: Sequence[str], first: bool) -> Iterator[str]:
        """What comes with these; only what iterates comes with those that themselves came along."""
        for include in self.query.includes:
            if first or include.iterate:
                for key in keys:
                    yield from self._meant(include, key)
        for include in self.query.revincludes:
            if first or include.iterate:
                yield from self._meaning(include, keys)

    def _meant(self, include: Include, key: str) -> Iterator[str]:
        type = key.partition("/")[0]
        resource = self.view.resource(key) if include.source in {type, "*"} else None
        for arm in _arms(include, type) if resource is not None else ():
            for text in links(arm, resource or {}, resource):
                target = parse_reference(text, self.query.base)
                if target is not None and include.target in {"", target.type}:
                    yield target.key

    def _meaning(self, include: Include, keys: Sequence[str]) -> Iterator[str]:
        spelled = [key for key in keys if include.target in {"", key.partition("/")[0]}]
        if self.search.base:
            spelled += [f"{self.search.base}/{key}" for key in spelled]
        for arms in _parameters(include, include.source):
            term = Term("link", arms, (Link(tuple(spelled)),))
            yield from sorted(self.search.matching(include.source, [term]).keys)


def _arms(include: Include, type: str) -> Iterable[Arm]:
    return [arm for arms in _parameters(include, type) for arm in arms if arm.kind == "Reference"]


def _parameters(include: Include, type: str) -> Iterator[tuple[Arm, ...]]:
    for name, parameter in parameters_of(type).items():
        if parameter.type == "reference" and include.parameter in {name, "*"}:
            yield parameter.arms
