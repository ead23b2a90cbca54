"""Search compared with the official package: its 1,400 definitions, and thousands of resources as one chart."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice

import pytest

from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import Resource, get_key, parse_resource, render_resource
from clerkship.formats.fhir.search import search_keys
from clerkship.formats.fhir.search.extract import (
    extract_dates,
    extract_references,
    extract_strings,
    extract_tokens,
    normalize_text,
)
from clerkship.formats.fhir.search_parameters import TABLE, ParameterPath, SearchParameter, get_parameters
from scripts.fhir_package import package_folder
from scripts.fhir_parameters import Package, compartments, compiled, rendered
from tests.formats.fhir.search.searching import MutableView

pytestmark = pytest.mark.fhir


def test_tables_match_the_official_definitions() -> None:
    package = Package(package_folder())
    table, unknown = compiled(package)
    assert unknown == []
    assert TABLE.read_text(encoding="utf-8") == rendered(table)
    assert TABLE.with_name("compartments.json").read_text(encoding="utf-8") == rendered(compartments(package))
    defined = {(base, item["code"]) for item in package.parameters.values() for base in item.get("base", ())}
    known = {(type, name) for type, rows in table["types"].items() for name in rows}
    refused = {(type, name) for type, rows in table["refused"].items() for name in rows}
    assert len(package.parameters) == 1400
    assert defined == known | refused


@cache
def load_examples() -> dict[str, Resource]:
    """Return all resources of the package with an id, including its definitions."""
    found: dict[str, Resource] = {}
    for path in sorted(package_folder().glob("*.json")):
        resource = parse_resource(path.read_bytes())
        if "id" in resource and len(str(resource["id"])) <= 64 and "resourceType" in resource:
            found[get_key(resource)] = resource
    return found


def escape_value(text: str) -> str:
    """Return a value as it is written in a query."""
    return re.sub(r"([\\,|$])", r"\\\1", text)


def iter_searches(type: str, resource: Resource) -> Iterator[tuple[str, str]]:
    """Yield a value of the resource for every parameter that finds one."""
    for name, parameter in get_parameters(type).items():
        for path in parameter.paths if parameter.type != "composite" and name != "_id" else ():
            values = list(islice(_iter_values(parameter, path, resource), 1))
            if values:
                yield name, values[0]


def _iter_values(parameter: SearchParameter, path: ParameterPath, resource: Resource) -> Iterator[str]:
    if parameter.type == "token":
        for system, code in extract_tokens(path, resource, resource):
            if code:
                yield f"{escape_value(system)}|{escape_value(code)}" if isinstance(system, str) else escape_value(code)
    elif parameter.type == "string":
        yield from (escape_value(text) for text in extract_strings(path, resource, resource) if normalize_text(text))
    elif parameter.type in {"reference", "uri"}:
        texts = (text for text in extract_references(path, resource, resource) if ":" in text or "/" in text)
        yield from (text if parameter.type == "uri" else escape_value(text) for text in texts)


def test_every_value_of_the_official_examples_finds_its_resource() -> None:
    """Search some resources of every type by all their values, most of them in a chart and some changed."""
    stored = {key: resource for number, (key, resource) in enumerate(load_examples().items()) if number % 50}
    view = MutableView(Chart(map(render_resource, stored.values())))
    view.put(*(resource for key, resource in load_examples().items() if key not in stored))
    of_type: Counter[str] = Counter()
    checked = 0
    for key, resource in load_examples().items():
        type = resource["resourceType"]
        of_type[type] += 1
        if of_type[type] > 4:
            continue
        for name, text in iter_searches(type, resource):
            assert key in search_keys(view, type, [(name, text)]), (key, name, text)
            checked += 1
    assert checked > 2000


def test_all_dates_of_the_official_examples_are_parsed() -> None:
    for resource in load_examples().values():
        for parameter in get_parameters(resource["resourceType"]).values():
            for path in parameter.paths if parameter.type == "date" else ():
                for low, high in extract_dates(path, resource, resource, 0):
                    assert low < high, (get_key(resource), parameter.name)
