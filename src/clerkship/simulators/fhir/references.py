"""References as a server keeps them: relative to itself, and to what is there."""

import re
from collections.abc import Container, Iterator
from functools import lru_cache
from typing import Any, Protocol

from clerkship.fhir.definitions import RESOURCE_TYPES
from clerkship.fhir.issue import Issue
from clerkship.fhir.reference import parse_reference, references
from clerkship.fhir.resource import Resource
from clerkship.simulators.fhir.versions import Version

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
"""What means something elsewhere (RFC 3986 §3.1)."""


class Known(Protocol):
    """Whoever knows what is there."""

    def is_there(self, key: str) -> bool:
        """Whether there is such a resource."""
        ...

    def versions(self, key: str) -> list[Version]:
        """All there are of one resource."""
        ...


@lru_cache(maxsize=64)
def _spelled(base: str) -> tuple[bytes, bytes]:
    """An address as bytes, and the longest part of it: what stands in a body if it does, with whatever slashes."""
    here = base.encode()
    return here, max(here.split(b"/"), key=len)


def relative(body: bytes, base: str) -> bytes:
    """The same body, with nothing in it that says where this server is: that differs between machines."""
    here, part = _spelled(base)
    if not base or part not in body:  # the usual case, and cheap to see
        return body
    for spelled in (here, here.replace(b"/", b"\\/")):
        slash = b"\\/" if spelled is not here else b"/"
        body = body.replace(b'"' + spelled + slash, b'"')
    return body


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
        target = parse_reference(text)
        if target is None or target.type not in RESOURCE_TYPES:
            if _ABSOLUTE.match(text) is None:
                yield Issue("error", "value", f"`{text[:80]}` is not a reference that this server knows", expression)
        elif not known.is_there(target.key):
            yield Issue("error", "not-found", f"there is no {target.key} on this server", expression)
        elif target.version is not None and all(target.version != found.id for found in known.versions(target.key)):
            yield Issue("error", "not-found", f"{target.key} has no version {target.version}", expression)
