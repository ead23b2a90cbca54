"""`{{ patient.pid }}`: a patient as the PID segment of an HL7 message."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from clerkship.formats.fhir.display_text import select_preferred
from clerkship.formats.fhir.resource import list_objects
from clerkship.formats.fhir.resource_view import DERIVED_FIELDS, DerivedField, ResourceView
from clerkship.formats.hl7.data_types import to_hl7_time
from clerkship.formats.hl7.message import build_field, build_segment

_SEXES = {"male": "M", "female": "F", "other": "O", "unknown": "U"}
_NUMBER = re.compile(r"(?:\+?1[ .-]?)?\(?(\d{3})\)?[ .-]?(\d{3})[ .-]?(\d{4})", re.ASCII)
"""A North American telephone number. XTN has components for its parts in every version."""


def build_pid_segment(resource: ResourceView) -> str | None:
    """Return the PID segment of a patient, with the usual delimiters; None if the resource is not a patient."""
    if resource.get("resourceType") != "Patient":
        return None
    values = {
        1: "1",
        3: _build_identifier(resource),
        5: _build_name(resource),
        7: _build_birth_date(resource),
        8: _SEXES.get(str(resource.get("gender")), ""),
        11: _build_address(resource),
        13: _build_phone(resource),
    }
    last = max(number for number, value in values.items() if value)
    return build_segment("PID", {number: value for number, value in values.items() if number <= last}).render()


def _get_text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _get_texts(data: Mapping[str, Any], name: str) -> list[str]:
    values = data.get(name)
    return [item for item in values if isinstance(item, str)] if isinstance(values, list) else []


def _build_identifier(resource: ResourceView) -> str:
    """Return the medical record number with its authority; without one, the id of the resource as PI."""
    value = resource.get("mrn")
    if not isinstance(value, str):
        return build_field(str(resource.get("id", "")), "", "", "", "PI")
    identifier = next(item for item in list_objects(resource, "identifier") if item.get("value") == value)
    # The authority has subcomponents, whose separators `build_field` would escape.
    return f"{build_field(value)}^^^{_build_authority(_get_text(identifier, 'system'))}^MR"


def _build_authority(system: str) -> str:
    """Return the system of an identifier as an HD: a readable name, and the URI or OID."""
    if system.startswith("urn:oid:"):
        return f"&{build_field(system.removeprefix('urn:oid:'))}&ISO"
    host = (urlsplit(system).hostname or "") if system.startswith(("http://", "https://")) else ""
    name = next((part for part in host.split(".") if part != "www"), "").upper()
    return f"{build_field(name)}&{build_field(system)}&URI" if system else ""


def _build_name(resource: ResourceView) -> str:
    names = list_objects(resource, "name")
    if not names:
        return ""
    name = select_preferred(names, ("official", "usual", None))
    first, *others = _get_texts(name, "given") or [""]
    suffix, prefix = " ".join(_get_texts(name, "suffix")), " ".join(_get_texts(name, "prefix"))
    return build_field(_get_text(name, "family"), first, " ".join(others), suffix, prefix, "", "L")


def _build_birth_date(resource: ResourceView) -> str:
    try:
        return to_hl7_time(str(resource.get("birthDate", "")))
    except ValueError:
        return ""


def _build_address(resource: ResourceView) -> str:
    addresses = list_objects(resource, "address")
    if not addresses:
        return ""
    address = select_preferred(addresses, ("home", None, "temp"))
    street, *others = _get_texts(address, "line") or [""]
    places = (_get_text(address, name) for name in ("city", "state", "postalCode", "country"))
    return build_field(street, ", ".join(others), *places, "H")


def _build_phone(resource: ResourceView) -> str:
    value = resource.get("phone")
    if not isinstance(value, str) or not value:
        return ""
    parts = _NUMBER.fullmatch(value.strip())
    if parts is None:
        return build_field(value, "PRN", "PH")
    return build_field("", "PRN", "PH", "", "", parts[1], parts[2] + parts[3])


class RecordWithPid(ResourceView):
    """A record of a task, with the derived field `pid` for HL7 messages."""

    derived: ClassVar[Mapping[str, DerivedField]] = {
        **DERIVED_FIELDS,
        "pid": ("the PID segment of an HL7 message about a Patient, escaped", build_pid_segment),
    }
