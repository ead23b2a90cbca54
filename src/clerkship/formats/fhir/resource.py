"""Resources as plain data, their canonical bytes and keys, and references between them (R4 §2.3.0)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from clerkship.formats.fhir import exact

Resource = dict[str, Any]
LEADING_ELEMENTS = ("resourceType", "id", "meta")
ID_PATTERN = re.compile(r"[A-Za-z0-9\-.]{1,64}")
"""R4 §2.24.0.1, id."""
_HEAD = re.compile(rb'\{"resourceType":"(\w+)","id":"([A-Za-z0-9\-.]{1,64})"')


def get_key(resource: Resource) -> str:
    """Return the key, such as `Patient/42`."""
    return f"{resource['resourceType']}/{resource['id']}"


def render_resource(resource: Resource) -> bytes:
    """Render canonical bytes: type, id and meta first for readability, then the other elements by name."""
    head = [b'"%s":%s' % (name.encode(), exact.dumps(resource[name])) for name in LEADING_ELEMENTS if name in resource]
    rest = exact.dumps({name: value for name, value in resource.items() if name not in LEADING_ELEMENTS})
    return b"{" + b",".join([*head, rest[1:-1]] if len(rest) > 2 else head) + b"}"


def parse_resource(data: bytes) -> Resource:
    """Parse a resource with exact decimals."""
    match: Resource = exact.loads(data)
    return match


def parse_key(line: bytes) -> str:
    """Return the key of a rendered resource without parsing all of it; raises ValueError if it has no id."""
    match = _HEAD.match(line)
    if match is None:
        raise ValueError(f"not a resource with an id: {line[:80].decode(errors='replace')}")
    return f"{match[1].decode()}/{match[2].decode()}"


def set_version(resource: Resource, version: str, updated: str) -> Resource:
    """Return the resource with its version and time of update (R4 §2.1.0.2)."""
    meta = resource.get("meta")
    existing = meta if isinstance(meta, dict) else {}
    return {**resource, "meta": {**existing, "versionId": version, "lastUpdated": updated}}


def to_plain_json(resource: Resource) -> Any:
    """Return the resource with plain numbers, as events have it."""
    return orjson.loads(render_resource(resource))


def list_objects(data: Any, name: str) -> list[dict[str, Any]]:
    """Return the objects in a list element; none if it is not a list."""
    match = data.get(name) if isinstance(data, Mapping) else None
    return [item for item in match if isinstance(item, dict)] if isinstance(match, list) else []


_RELATIVE = re.compile(r"([A-Z][A-Za-z]+)/([A-Za-z0-9\-.]{1,64})(?:/_history/([A-Za-z0-9\-.]{1,64}))?")


class ReferenceTarget(NamedTuple):
    """The target of a relative reference."""

    type: str
    id: str
    version: str | None = None

    @property
    def key(self) -> str:
        """The key, such as `Patient/42`."""
        return f"{self.type}/{self.id}"


def parse_reference(text: str, base: str = "") -> ReferenceTarget | None:
    """Parse `Patient/42`, with or without the base URL of this server; None for a reference to anything else."""
    if base and text.startswith(base):
        text = text[len(base) :].lstrip("/")
    match = _RELATIVE.fullmatch(text)
    return ReferenceTarget(match[1], match[2], match[3]) if match is not None else None


def iter_references(data: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every Reference in the data with its path: `subject`, `participant[0].actor`."""
    if isinstance(data, dict):
        if isinstance(data.get("reference"), str):
            yield path, data
        for name, value in data.items():
            if isinstance(value, dict | list):
                yield from iter_references(value, f"{path}.{name}" if path else name)
    elif isinstance(data, list):
        for number, item in enumerate(data):
            if isinstance(item, dict | list):
                yield from iter_references(item, f"{path}[{number}]")
