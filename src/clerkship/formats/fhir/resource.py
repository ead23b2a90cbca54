"""Resources as plain data, their canonical bytes and keys, and references between them (R4 §2.3.0)."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from clerkship.formats.fhir import exact

Resource = dict[str, Any]
LEADING_ELEMENTS = ("resourceType", "id", "meta")
_CONTAINERS = (dict, list)
ID_PATTERN = re.compile(r"[A-Za-z0-9\-.]{1,64}")
"""R4 §2.24.0.1, id."""
_HEAD = re.compile(rb'\{"resourceType":"(\w+)","id":"([A-Za-z0-9\-.]{1,64})"')


def get_key(resource: Resource) -> str:
    """Return the key, such as `Patient/42`."""
    return f"{resource['resourceType']}/{resource['id']}"


def render_resource(resource: Resource) -> bytes:
    """Render canonical bytes: type, id and meta first for readability, then the other elements by name."""
    others = dict(resource)
    head = {name: others.pop(name) for name in LEADING_ELEMENTS if name in others}
    parts = [exact.dumps({name: value})[1:-1] for name, value in head.items()]
    if others:
        parts.append(exact.dumps(others)[1:-1])
    return b"{%s}" % b",".join(parts)


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


def list_references(data: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return every Reference in the data with its path: `subject`, `participant[0].actor`."""
    found: list[tuple[str, dict[str, Any]]] = []
    if isinstance(data, _CONTAINERS):
        _add_references(data, "", found)
    return found


PATIENT_REFERENCE = re.compile(r"\bPatient/([A-Za-z0-9\-.]{1,64})")


def find_patients(resource: Any) -> set[str]:
    """Return the keys of the patients that a resource is about: itself, or those it refers to."""
    patients = {
        f"Patient/{id}"
        for _, reference in list_references(resource)
        for id in PATIENT_REFERENCE.findall(reference["reference"])
    }
    if isinstance(resource, dict) and resource.get("resourceType") == "Patient" and "id" in resource:
        patients.add(f"Patient/{resource['id']}")
    return patients


def _add_references(data: Any, path: str, found: list[tuple[str, dict[str, Any]]]) -> None:
    if isinstance(data, dict):
        if "reference" in data and isinstance(data["reference"], str):
            found.append((path, data))
        for name, value in data.items():
            if type(value) is not str and isinstance(value, _CONTAINERS):  # most are text: the first test is quicker
                _add_references(value, f"{path}.{name}" if path else name, found)
    else:
        for number, item in enumerate(data):
            if type(item) is not str and isinstance(item, _CONTAINERS):
                _add_references(item, f"{path}[{number}]", found)
