"""References as a server keeps them: relative to itself, and to what is there."""

import re
from collections.abc import Container, Iterator
from typing import Any, Protocol

from clerkship.fhir.definitions import RESOURCE_TYPES
from clerkship.fhir.issue import Issue
from clerkship.fhir.reference import parse_reference, references
from clerkship.fhir.resource import Resource
from clerkship.simulators.fhir.versions import Version

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
"""What means something elsewhere (RFC 3986 §3.1)."""

_OF_A_BUNDLE = ("urn:uuid:", "urn:oid:")
"""Names that mean another entry of the Bundle they stand in, and nothing anywhere else (R4 bundle: references)."""


class Known(Protocol):
    """Whoever knows what is there."""

    def is_there(self, key: str) -> bool:
        """Whether there is such a resource."""
        ...

    def versions(self, key: str) -> list[Version]:
        """All there are of one resource."""
        ...


def make_relative(data: Any, base: str) -> Any:
    """The same data, changed in place: a reference to something on this server is kept without its address. Whatever
    else has the address in it (an identifier's system, an extension's url, a text) is left as it was sent."""
    start = f"{base}/"
    for _, holder in references(data):
        if holder["reference"].startswith(start):
            holder["reference"] = holder["reference"].removeprefix(start)
    return data


def dangling(resource: Resource, known: Known, kept: Container[str] = ()) -> Iterator[Issue]:
    """References that lead nowhere: to what this server does not have, or to nothing in the resource itself. Those that
    it had already, which nobody is now writing, are left alone."""
    contained: set[Any] | None = None
    for path, holder in references(resource):
        text: str = holder["reference"]
        if text in kept:
            continue
        expression = f"{resource['resourceType']}.{path}"
        if text.startswith("#"):
            if contained is None:
                contained = {item.get("id") for item in resource.get("contained", ()) if isinstance(item, dict)}
            if text != "#" and text[1:] not in contained:
                yield Issue("error", "not-found", f"nothing in this resource has the id {text[1:80]}", expression)
            continue
        if text.startswith(_OF_A_BUNDLE):
            if text not in _names(resource):
                said = f"nothing here is called {text[:80]}: such a name means an entry of the same transaction"
                yield Issue("error", "not-found", said, expression)
            continue
        target = parse_reference(text)
        if target is None or target.type not in RESOURCE_TYPES:
            if _ABSOLUTE.match(text) is None:
                yield Issue("error", "value", f"`{text[:80]}` is not a reference that this server knows", expression)
        elif not known.is_there(target.key):
            yield Issue("error", "not-found", f"there is no {target.key} on this server", expression)
        elif target.version is not None and all(target.version != found.id for found in known.versions(target.key)):
            yield Issue("error", "not-found", f"{target.key} has no version {target.version}", expression)


def _names(resource: Resource) -> set[Any]:
    """What the entries of a Bundle that is kept as it is call each other."""
    listed = resource.get("entry") if resource["resourceType"] == "Bundle" else None
    entries = listed if isinstance(listed, list) else []
    return {entry["fullUrl"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("fullUrl"), str)}
