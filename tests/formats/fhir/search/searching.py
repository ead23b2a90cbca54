"""A few resources to search, and a view of them that can be changed."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.issue import FhirError
from clerkship.formats.fhir.resource import Resource, get_key, parse_resource, render_resource
from clerkship.formats.fhir.search import Handling, parse_query, run_search, search_keys

T = TypeVar("T")


class MutableView:
    """A view of a chart with changes."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.zone = 0
        self.now: dict[str, Resource | None] = {}

    def cache_until_changed(self, type: str, build: Callable[[], T]) -> T:
        """Build the value each time."""
        return build()

    def resource(self, key: str) -> Resource | None:
        if key in self.now:
            return self.now[key]
        line = self.chart.get(key)
        return parse_resource(line) if line is not None else None

    def changed(self, type: str) -> Mapping[str, Resource | None]:
        return {key: resource for key, resource in self.now.items() if key.partition("/")[0] == type}

    def put(self, *resources: Resource) -> None:
        self.now |= {get_key(resource): resource for resource in resources}

    def delete(self, key: str) -> None:
        self.now[key] = None


def view_resources(*resources: Resource) -> MutableView:
    """Return an unchanged view of some resources."""
    return MutableView(Chart(map(render_resource, resources)))


def build_resource(type: str, id: str, **elements: Any) -> Resource:
    """Return a resource."""
    return {"resourceType": type, "id": id, **elements}


def search_ids(view: MutableView, type: str, *parameters: str) -> list[str]:
    """Return the ids that a query such as `name=ann` finds, in order."""
    return [key.partition("/")[2] for key in search_keys(view, type, parse_pairs(*parameters))]


def search_keys_of(view: MutableView, type: str, *parameters: str) -> list[str]:
    """Return the keys that a query finds."""
    return list(run_search(view, parse_query(type, parse_pairs(*parameters))).keys)


def parse_pairs(*parameters: str) -> list[tuple[str, str]]:
    """Split each `name=value` into a pair."""
    return [(name, value) for name, _, value in (each.partition("=") for each in parameters)]


def get_refusal(type: str, *parameters: str, handling: Handling = "strict") -> tuple[str, str]:
    """Return the code and text with which a query is refused."""
    try:
        parse_query(type, parse_pairs(*parameters), handling=handling)
    except FhirError as error:
        return error.issues[0].code, error.issues[0].text
    raise AssertionError(f"{parameters} was not refused")
