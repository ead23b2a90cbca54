"""A naive FHIR search that looks at every resource.

It shares no table, index or parser with the search that it is compared with. It knows only a few parameters.
"""

import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

Resource = dict[str, Any]
Resources = dict[str, Resource]
Pair = tuple[str, str]
EARLIEST, LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

SORTS = {
    "family": "string",
    "name": "string",
    "gender": "token",
    "identifier": "token",
    "status": "token",
    "code": "token",
    "birthdate": "date",
    "date": "date",
    "value-quantity": "quantity",
    "subject": "reference",
    "patient": "reference",
    "organization": "reference",
    "partof": "reference",
    "has-member": "reference",
    "_id": "token",
}
PATHS = {
    ("Patient", "family"): "name.family",
    ("Organization", "name"): "name",
    ("Patient", "gender"): "gender",
    ("Patient", "identifier"): "identifier",
    ("Patient", "birthdate"): "birthDate",
    ("Patient", "organization"): "managingOrganization",
    ("Organization", "partof"): "partOf",
    ("Observation", "status"): "status",
    ("Observation", "code"): "code",
    ("Observation", "date"): "effectiveDateTime|effectivePeriod",
    ("Observation", "value-quantity"): "valueQuantity",
    ("Observation", "subject"): "subject",
    ("Observation", "patient"): "subject",
    ("Observation", "has-member"): "hasMember",
}
MEANS = {
    "patient": ["Patient"],
    "subject": ["Device", "Group", "Location", "Patient"],
    "organization": ["Organization"],
    "partof": ["Organization"],
    "has-member": ["Observation"],
}


def values(resource: Resource, name: str) -> list[Any]:
    if name == "_id":
        return [resource["id"]]
    path = PATHS.get((resource["resourceType"], name))
    if path is None:
        return []
    found: list[Any] = []
    for way in path.split("|"):
        here: list[Any] = [resource]
        for step in way.split("."):
            here = [item for node in here if step in node for item in listed(node[step])]
        found += here
    if name == "patient":
        found = [item for item in found if item.get("reference", "").startswith("Patient/")]
    return found


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def wanted(resources: Resources, type: str, pairs: list[Pair]) -> set[str]:
    return {
        key
        for key, resource in resources.items()
        if resource["resourceType"] == type and all(holds(resources, resource, name, text) for name, text in pairs)
    }


def holds(resources: Resources, resource: Resource, name: str, text: str) -> bool:
    if name.startswith("_has:"):
        _, source, label, rest = name.split(":", 3)
        return any(
            other["resourceType"] == source
            and any(item.get("reference") == key_of(resource) for item in values(other, label))
            and holds(resources, other, rest, text)
            for other in resources.values()
        )
    if "." in name:
        head, rest = name.split(".", 1)
        label, _, only = head.partition(":")
        return any(
            other is not None
            and other["resourceType"] in ([only] if only else MEANS[label])
            and (other["resourceType"], rest.partition(":")[0].partition(".")[0])
            in {*PATHS, (other["resourceType"], "_id")}
            and holds(resources, other, rest, text)
            for other in (resources.get(item.get("reference", "")) for item in values(resource, label))
        )
    label, _, modifier = name.partition(":")
    if modifier == "missing":
        return (not values(resource, label)) == (text == "true")
    if label == "component-code-value-quantity":
        return any(part_holds(part, each) for part in resource.get("component", []) for each in text.split(","))
    met = any(
        value_holds(label, modifier, value, each) for value in values(resource, label) for each in text.split(",")
    )
    return not met if modifier == "not" else met


def key_of(resource: Resource) -> str:
    return f"{resource['resourceType']}/{resource['id']}"


def part_holds(part: Resource, text: str) -> bool:
    code, number = text.split("$")
    return token_holds(part["code"], code) and quantity_holds(part["valueQuantity"], number)


def value_holds(label: str, modifier: str, value: Any, text: str) -> bool:
    if label == "_id":
        return bool(value == text)
    sort = SORTS[label]
    if sort == "string":
        if modifier == "exact":
            return bool(value == text)
        if modifier == "contains":
            return folded(text) in folded(value)
        return folded(value).startswith(folded(text))
    if sort == "token":
        return token_holds(value, text)
    if sort == "reference":
        return reference_holds(label, modifier, value, text)
    return date_holds(value, text) if sort == "date" else quantity_holds(value, text)


def folded(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text.lower()) if c.isalnum())


def token_holds(value: Any, text: str) -> bool:
    bar = "|" in text
    system, _, code = text.rpartition("|")
    for said_system, said in said_tokens(value):
        right_code = not code or said.lower() == code.lower()
        if right_code and (not bar or said_system == system):
            return True
    return False


def said_tokens(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield "", value
    elif "coding" in value:
        for coding in value["coding"]:
            yield coding.get("system", ""), coding["code"]
    else:
        yield value.get("system", ""), value["value"]


def reference_holds(label: str, modifier: str, value: Resource, text: str) -> bool:
    if "/" in text:
        return value.get("reference") == text
    return value.get("reference") in {f"{type}/{text}" for type in ([modifier] if modifier else MEANS[label])}


def stretch(text: str) -> tuple[datetime, datetime]:
    if len(text) == 4:
        return at(int(text), 1), at(int(text) + 1, 1)
    if len(text) == 7:
        year, month = int(text[:4]), int(text[5:])
        return at(year, month), at(year + month // 12, month % 12 + 1)
    if len(text) == 10:
        day = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return day, day + timedelta(days=1)
    moment = datetime.fromisoformat(text)
    return moment, moment + timedelta(seconds=1)


def at(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC)


def covered(value: Any) -> tuple[datetime, datetime]:
    if isinstance(value, str):
        return stretch(value)
    start = stretch(value["start"])[0] if "start" in value else EARLIEST
    return start, stretch(value["end"])[1] if "end" in value else LATEST


def date_holds(value: Any, text: str) -> bool:
    """Compare dates by the prefixes of R4."""
    prefix, text = (text[:2], text[2:]) if text[:2].isalpha() else ("eq", text)
    low, high = stretch(text)
    start, end = covered(value)
    contains = low <= start and end <= high
    overlaps = start < high and low < end
    above, below = end > high, start < low
    return {
        "eq": contains,
        "ne": not contains,
        "gt": above,
        "lt": below,
        "ge": above or contains,
        "le": below or contains,
        "sa": not overlaps and start >= high,
        "eb": not overlaps and end <= low,
        "ap": overlaps,
    }[prefix]


def quantity_holds(value: Resource, text: str) -> bool:
    """Compare numbers by the prefixes of R4; `ap` allows ten percent."""
    number, *unit = text.split("|")
    prefix, digits = (number[:2], number[2:]) if number[:2].isalpha() else ("eq", number)
    asked, said = Decimal(digits), Decimal(str(value["value"]))
    half = Decimal(1).scaleb(int(asked.as_tuple().exponent)) / 2
    if unit and not (value.get("system") == unit[0] and value.get("code") == unit[1]):
        return False
    rounds = asked - half <= said < asked + half
    return {
        "eq": rounds,
        "ne": not rounds,
        "gt": said > asked,
        "lt": said < asked,
        "ge": said >= asked,
        "le": said <= asked,
        "sa": said > asked,
        "eb": said < asked,
        "ap": abs(said - asked) <= max(abs(asked) / 10, half) or rounds,
    }[prefix]


def in_order(resources: Resources, keys: set[str], sort: list[str]) -> list[str]:
    def compared(one: str, other: str) -> int:
        for rule in sort:
            mine, theirs = (first(resources[key], rule.lstrip("-"), rule.startswith("-")) for key in (one, other))
            if mine == theirs:
                continue
            if mine is None or theirs is None:
                return 1 if mine is None else -1
            less = mine > theirs if rule.startswith("-") else mine < theirs
            return -1 if less else 1
        return -1 if one < other else 1

    return sorted(keys, key=cmp_to_key(compared))


def first(resource: Resource, label: str, down: bool) -> Any:
    found: list[Any] = []
    for value in values(resource, label):
        sort = SORTS[label]
        if sort == "date":
            found.append(covered(value)[1 if down else 0])
        elif sort == "quantity":
            found.append(Decimal(str(value["value"])))
        elif sort == "token":
            found += [code.lower() for _, code in said_tokens(value)]
        elif sort == "reference":
            found += [value["reference"]] if "reference" in value else []
        else:
            found.append(folded(value))
    return (max if down else min)(found) if found else None


def along(resources: Resources, keys: list[str], asked: list[Pair]) -> set[str]:
    have, fresh, first_time = set(keys), set(keys), True
    while fresh:
        brought: set[str] = set()
        for name, text in asked:
            if not first_time and not name.endswith(":iterate"):
                continue
            source, label = text.split(":")
            for key, resource in resources.items():
                meant = (
                    {item.get("reference") for item in values(resource, label)}
                    if resource["resourceType"] == source
                    else set()
                )
                if name.startswith("_include") and key in fresh:
                    brought |= {each for each in meant if each in resources}
                if name.startswith("_revinclude") and meant & fresh:
                    brought.add(key)
        fresh, first_time = brought - have, False
        have |= fresh
    return have - set(keys)
