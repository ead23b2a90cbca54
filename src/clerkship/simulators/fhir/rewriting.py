"""Links between the entries of a transaction: what a client called a resource becomes what it is called here."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from clerkship.fhir.definitions import RESOURCE_TYPES

_SRC = re.compile(r"""(\b(?:href|src)\s*=\s*)(["'])(.*?)\2""")
_VERBATIM = frozenset({"id", "value", "display", "text", "system", "versionId", "lastUpdated", "fullUrl"})
"""Elements that are no links, whatever they look like: an identifier's value may well be `urn:uuid:…`."""
_RESTFUL = re.compile(r"https?://.+/([A-Z][A-Za-z]+/[A-Za-z0-9\-.]{1,64})(?:/_history/[A-Za-z0-9\-.]{1,64})?")
Resolve = Callable[[str], str]
"""From a condition, `Patient?identifier=x|1`, or a name that no entry has, to the resource it means."""


def spellings(full_url: str) -> list[str]:
    """How else other entries may refer to one than by its fullUrl: by the end of it (R4 bundle: references)."""
    found = _RESTFUL.fullmatch(full_url)
    return [found[1]] if found is not None else []


def rewritten(resource: Any, names: Mapping[str, str], resolve: Resolve) -> Any:
    """The same data, with every link to another entry, and every condition, replaced by what it means."""
    if isinstance(resource, dict):
        return {
            name: _value(name, value, names, resolve) if isinstance(value, str | dict | list) else value
            for name, value in resource.items()
        }
    return [rewritten(item, names, resolve) for item in resource] if isinstance(resource, list) else resource


def _value(name: str, value: Any, names: Mapping[str, str], resolve: Resolve) -> Any:
    if not isinstance(value, str):
        if isinstance(value, list):
            return [_value(name, item, names, resolve) for item in value]
        return rewritten(value, names, resolve)
    if name == "reference":
        return _reference(value, names, resolve)
    if name == "div":
        return _SRC.sub(lambda found: f"{found[1]}{found[2]}{names.get(found[3], found[3])}{found[2]}", value)
    return names.get(value, value) if ":" in value and name not in _VERBATIM else value


def _reference(value: str, names: Mapping[str, str], resolve: Resolve) -> str:
    if value in names:
        return names[value]
    type, asks, _ = value.partition("?")
    return resolve(value) if (asks and type in RESOURCE_TYPES) or value.startswith("urn:uuid:") else value
