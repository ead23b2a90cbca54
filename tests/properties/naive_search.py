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
TARGET_TYPES = {
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
    results: list[Any] = []
    for way in path.split("|"):
        current: list[Any] = [resource]
        for step in way.split("."):
            current = [item for node in current if step in node for item in to_list(node[step])]
        results += current
    if name == "patient":
        results = [item for item in results if item.get("reference", "").startswith("Patient/")]
    return results


def to_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def naive_search(resources: Resources, type: str, pairs: list[Pair]) -> set[str]:
    return {
        key
        for key, resource in resources.items()
        if resource["resourceType"] == type
        and all(matches_parameter(resources, resource, name, text) for name, text in pairs)
    }


def matches_parameter(resources: Resources, resource: Resource, name: str, text: str) -> bool:
    if name.startswith("_has:"):
        _, source, label, remaining = name.split(":", 3)
        return any(
            other["resourceType"] == source
            and any(item.get("reference") == key_of(resource) for item in values(other, label))
            and matches_parameter(resources, other, remaining, text)
            for other in resources.values()
        )
    if "." in name:
        head, remaining = name.split(".", 1)
        label, _, only = head.partition(":")
        return any(
            other is not None
            and other["resourceType"] in ([only] if only else TARGET_TYPES[label])
            and (other["resourceType"], remaining.partition(":")[0].partition(".")[0])
            in {*PATHS, (other["resourceType"], "_id")}
            and matches_parameter(resources, other, remaining, text)
            for other in (resources.get(item.get("reference", "")) for item in values(resource, label))
        )
    label, _, modifier = name.partition(":")
    if modifier == "missing":
        return (not values(resource, label)) == (text == "true")
    if label == "component-code-value-quantity":
        return any(matches_component(part, each) for part in resource.get("component", []) for each in text.split(","))
    met = any(
        matches_value(label, modifier, value, each) for value in values(resource, label) for each in text.split(",")
    )
    return not met if modifier == "not" else met


def key_of(resource: Resource) -> str:
    return f"{resource['resourceType']}/{resource['id']}"


def matches_component(part: Resource, text: str) -> bool:
    code, number = text.split("$")
    return matches_token(part["code"], code) and matches_quantity(part["valueQuantity"], number)


def matches_value(label: str, modifier: str, value: Any, text: str) -> bool:
    if label == "_id":
        return bool(value == text)
    sort = SORTS[label]
    if sort == "string":
        if modifier == "exact":
            return bool(value == text)
        if modifier == "contains":
            return fold_text(text) in fold_text(value)
        return fold_text(value).startswith(fold_text(text))
    if sort == "token":
        return matches_token(value, text)
    if sort == "reference":
        return matches_reference(label, modifier, value, text)
    return matches_date(value, text) if sort == "date" else matches_quantity(value, text)


def fold_text(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text.lower()) if c.isalnum())


def matches_token(value: Any, text: str) -> bool:
    bar = "|" in text
    system, _, code = text.rpartition("|")
    for said_system, messages in tokens_of(value):
        right_code = not code or messages.lower() == code.lower()
        if right_code and (not bar or said_system == system):
            return True
    return False


def tokens_of(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield "", value
    elif "coding" in value:
        for coding in value["coding"]:
            yield coding.get("system", ""), coding["code"]
    else:
        yield value.get("system", ""), value["value"]


def matches_reference(label: str, modifier: str, value: Resource, text: str) -> bool:
    if "/" in text:
        return value.get("reference") == text
    return value.get("reference") in {f"{type}/{text}" for type in ([modifier] if modifier else TARGET_TYPES[label])}


def date_range(text: str) -> tuple[datetime, datetime]:
    if len(text) == 4:
        return month_start(int(text), 1), month_start(int(text) + 1, 1)
    if len(text) == 7:
        year, month = int(text[:4]), int(text[5:])
        return month_start(year, month), month_start(year + month // 12, month % 12 + 1)
    if len(text) == 10:
        day = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return day, day + timedelta(days=1)
    moment = datetime.fromisoformat(text)
    return moment, moment + timedelta(seconds=1)


def month_start(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC)


def period_range(value: Any) -> tuple[datetime, datetime]:
    if isinstance(value, str):
        return date_range(value)
    start = date_range(value["start"])[0] if "start" in value else EARLIEST
    return start, date_range(value["end"])[1] if "end" in value else LATEST


def matches_date(value: Any, text: str) -> bool:
    """Compare dates by the prefixes of R4."""
    prefix, text = (text[:2], text[2:]) if text[:2].isalpha() else ("eq", text)
    low, high = date_range(text)
    start, end = period_range(value)
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


def matches_quantity(value: Resource, text: str) -> bool:
    """Compare numbers by the prefixes of R4; `ap` allows ten percent."""
    number, *unit = text.split("|")
    prefix, digits = (number[:2], number[2:]) if number[:2].isalpha() else ("eq", number)
    requests, messages = Decimal(digits), Decimal(str(value["value"]))
    half = Decimal(1).scaleb(int(requests.as_tuple().exponent)) / 2
    if unit and not (value.get("system") == unit[0] and value.get("code") == unit[1]):
        return False
    rounds = requests - half <= messages < requests + half
    return {
        "eq": rounds,
        "ne": not rounds,
        "gt": messages > requests,
        "lt": messages < requests,
        "ge": messages >= requests,
        "le": messages <= requests,
        "sa": messages > requests,
        "eb": messages < requests,
        "ap": abs(messages - requests) <= max(abs(requests) / 10, half) or rounds,
    }[prefix]


def sort_keys(resources: Resources, keys: set[str], sort: list[str]) -> list[str]:
    def compared(first: str, other: str) -> int:
        for rule in sort:
            mine, theirs = (
                sort_value(resources[key], rule.lstrip("-"), rule.startswith("-")) for key in (first, other)
            )
            if mine == theirs:
                continue
            if mine is None or theirs is None:
                return 1 if mine is None else -1
            less = mine > theirs if rule.startswith("-") else mine < theirs
            return -1 if less else 1
        return -1 if first < other else 1

    return sorted(keys, key=cmp_to_key(compared))


def sort_value(resource: Resource, label: str, down: bool) -> Any:
    results: list[Any] = []
    for value in values(resource, label):
        sort = SORTS[label]
        if sort == "date":
            results.append(period_range(value)[1 if down else 0])
        elif sort == "quantity":
            results.append(Decimal(str(value["value"])))
        elif sort == "token":
            results += [code.lower() for _, code in tokens_of(value)]
        elif sort == "reference":
            results += [value["reference"]] if "reference" in value else []
        else:
            results.append(fold_text(value))
    return (max if down else min)(results) if results else None


def naive_includes(resources: Resources, keys: list[str], requests: list[Pair]) -> set[str]:
    have, fresh, first_time = set(keys), set(keys), True
    while fresh:
        brought: set[str] = set()
        for name, text in requests:
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
