"""Rewrite references between the entries of a transaction to the ids that the server assigns (R4 http: transaction)."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from clerkship.formats.fhir.definitions import RESOURCE_TYPES

_LINK_ATTRIBUTE = re.compile(r"""(\b(?:href|src)\s*=\s*)(["'])(.*?)\2""")
_NOT_REFERENCES = frozenset({"id", "value", "display", "text", "system", "versionId", "lastUpdated", "fullUrl"})
"""Elements that are never references, even if they look like one: the value of an identifier may be `urn:uuid:…`."""
_RESTFUL_URL = re.compile(r"(https?://.+)/[A-Z][A-Za-z]+/[A-Za-z0-9\-.]{1,64}(?:/_history/[A-Za-z0-9\-.]{1,64})?")
_RELATIVE_REFERENCE = re.compile(r"[A-Z][A-Za-z]+/[A-Za-z0-9\-.]{1,64}")
_URN_PREFIXES = ("urn:uuid:", "urn:oid:")
Resolve = Callable[[str], str]
"""Returns the key for a conditional reference, `Patient?identifier=x|1`, or for a URN that no entry has."""


class ReferenceMap(NamedTuple):
    """What the references in one entry refer to."""

    keys_by_full_url: Mapping[str, str]
    """The keys of the entries, by fullUrl."""
    base: str
    """The base URL of relative references in this entry."""
    resolve: Resolve


def find_base_url(full_url: str) -> str:
    """Return the base URL of the server in a fullUrl; empty if it has none.

    Relative references in the entry are relative to it (R4 bundle: references).
    """
    match = _RESTFUL_URL.fullmatch(full_url)
    return match[1] if match is not None else ""


def rewrite_references(resource: Any, references: ReferenceMap) -> Any:
    """Return a copy in which references to other entries, and conditional references, are replaced by `Type/id`."""
    if isinstance(resource, dict):
        return {
            name: _rewrite_value(name, value, references) if isinstance(value, str | dict | list) else value
            for name, value in resource.items()
        }
    return [rewrite_references(item, references) for item in resource] if isinstance(resource, list) else resource


def _rewrite_value(name: str, value: Any, references: ReferenceMap) -> Any:
    if not isinstance(value, str):
        return (
            [_rewrite_value(name, item, references) for item in value]
            if isinstance(value, list)
            else rewrite_references(value, references)
        )
    if name == "reference":
        return _rewrite_reference(value, references)
    keys = references.keys_by_full_url
    if name == "div":
        return _LINK_ATTRIBUTE.sub(lambda match: f"{match[1]}{match[2]}{keys.get(match[3], match[3])}{match[2]}", value)
    return keys.get(value, value) if ":" in value and name not in _NOT_REFERENCES else value


def _rewrite_reference(value: str, references: ReferenceMap) -> str:
    """Rewrite one reference. A reference that names no entry is kept: it refers to a resource on this server."""
    full_url = f"{references.base}/{value}" if _RELATIVE_REFERENCE.fullmatch(value) else value
    if full_url in references.keys_by_full_url:
        return references.keys_by_full_url[full_url]
    type, question_mark, _ = value.partition("?")
    return (
        references.resolve(value)
        if (question_mark and type in RESOURCE_TYPES) or value.startswith(_URN_PREFIXES)
        else value
    )
