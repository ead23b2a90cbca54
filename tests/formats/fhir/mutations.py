"""Mutations of valid resources: one error at a time, with its location."""

import copy
import re
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

from clerkship.formats.fhir.definitions import RESOURCE_TYPES, get_structure, mandatory_elements
from clerkship.formats.fhir.resource import Resource

GONE = object()
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def parse_steps(path: str) -> list[str | int]:
    """Parse `name[0].family` to keys and indexes."""
    return [word or int(number) for word, number in _STEP.findall(path)]


def change_value(resource: Resource, path: str, value: Any) -> Resource:
    """Return a copy with another value at one path, or none (GONE)."""
    made = copy.deepcopy(resource)
    *way, last = parse_steps(path)
    place: Any = made
    for step in way:
        place = place[step]
    if value is GONE:
        del place[last]
    else:
        place[last] = value
    return made


class Mutation(NamedTuple):
    """A resource with one error."""

    what: str
    where: str
    """The FHIRPath of the object that was changed, or that has what was changed."""
    resource: Resource


def iter_objects(value: Any, path: str, fhirpath: str, type: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield every object in the data with its path as keys and its FHIRPath."""
    if isinstance(value, dict):
        yield path, fhirpath, value
        known = _names(value["resourceType"] if type == "Resource" else type)
        for name, item in value.items():
            if name.removeprefix("_") in known:
                label, below = known[name.removeprefix("_")]
                way = f"{path}.{name}" if path else name
                yield from iter_objects(item, way, f"{fhirpath}.{label}", "Element" if name[0] == "_" else below)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from iter_objects(item, f"{path}[{number}]", f"{fhirpath}[{number}]", type)


@cache
def _names(type: str) -> dict[str, tuple[str, str]]:
    """Return the FHIRPath name and the type of each JSON name."""
    return {name: (e.name, below) for e in get_structure(type).elements for name, below in e.spellings.items()}


def iter_mutations(resource: Resource, rng: Random | None = None, few: int = 4) -> Iterator[Mutation]:
    """Yield all mutations, or those at a few random places."""
    objects = list(iter_objects(resource, "", resource["resourceType"], "Resource"))
    for path, fhirpath, value in objects if rng is None else rng.sample(objects, min(len(objects), few)):
        prefix = f"{path}." if path else ""
        yield Mutation("unknown element", fhirpath, change_value(resource, f"{prefix}zzz", "x"))
        if value.get("resourceType") in RESOURCE_TYPES:
            yield from _resource_mutations(resource, value, prefix, fhirpath)
        for name, item in value.items():
            if name != "resourceType":
                for what, wrong in iter_wrong_values(item):
                    yield Mutation(f"{what}: {name}", fhirpath, change_value(resource, prefix + name, wrong))


def _resource_mutations(whole: Resource, value: Resource, prefix: str, fhirpath: str) -> Iterator[Mutation]:
    yield Mutation("unknown type", fhirpath, change_value(whole, f"{prefix}resourceType", "Nothing"))
    yield Mutation("no type", fhirpath, change_value(whole, f"{prefix}resourceType", GONE))
    yield Mutation("bad id", fhirpath, change_value(whole, f"{prefix}id", "a/b"))
    for name in mandatory_elements(value["resourceType"]) & value.keys():
        yield Mutation(f"without {name}", fhirpath, change_value(whole, prefix + name, GONE))
    for element in get_structure(value["resourceType"]).elements:
        given = element.spellings.keys() & value.keys()
        if element.choice and given and "valueBoolean" not in given:
            other = next(name for name in element.spellings if name not in given)
            yield Mutation(f"two of {element.name}", fhirpath, change_value(whole, prefix + other, value[given.pop()]))


def iter_wrong_values(item: Any) -> Iterator[tuple[str, Any]]:
    """Yield values that must not replace a value."""
    yield "null", None
    if isinstance(item, list):
        yield "empty list", []
        yield "one for a list", item[0]
        yield "nulls", [None]
        yield "list of lists", [item]
    elif isinstance(item, dict):
        yield "empty object", {}
        yield "text for an object", "x"
        yield "list for one", [item]
    elif isinstance(item, str):
        yield "empty text", ""
        yield "number for text", 5
        yield "object for text", {"value": item}
        yield "list for one", [item]
        yield "control character", item + "\x07"
    elif isinstance(item, bool):
        yield "text for a boolean", "true"
        yield "number for a boolean", 1
    else:
        yield "text for a number", str(item)
        yield "boolean for a number", True


POOL: tuple[Any, ...] = (
    *(
        "2024",
        "2024-02",
        "2024-02-29",
        "2023-02-29",
        "2024-02-29T12:00:00Z",
        "2024-02-29T12:00",
        "12:00:00",
        "24:00:00",
    ),
    *(
        "final",
        "active",
        "a b",
        " a",
        "a  b",
        "x" * 65,
        "Patient/1",
        "urn:oid:1.2.3",
        "http://example.org/x",
        "SGVsbG8=",
    ),
    *("urn:uuid:c757873d-ec9a-4326-a141-556f43239520", "SGVsbG8", "-1", "1.0", "text with\nlines", "\u00e9\u4e2d"),
    *(0, 1, -1, 1.5, 2**31 - 1, 2**31, 1e30, True, False),
    *({"text": "x"}, {"value": 1}, {"display": "x"}, {"reference": "Patient/1"}, {"start": "2024"}, {"div": "x"}),
)


def iter_swaps(resource: Resource, rng: Random, count: int) -> Iterator[Mutation]:
    """Yield resources with other values in some places, which may be valid."""
    objects = list(iter_objects(resource, "", resource["resourceType"], "Resource"))
    for _ in range(count):
        path, fhirpath, value = rng.choice(objects)
        name = rng.choice(list(value))
        if name != "resourceType":
            other = rng.choice(POOL)
            swapped = [other] if isinstance(value[name], list) else other
            yield Mutation(
                f"{name} = {other!r}", fhirpath, change_value(resource, f"{path}.{name}".lstrip("."), swapped)
            )
