"""The resources of a request, and which patient each belongs to."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

PATIENT_FIELDS = ("subject", "patient", "for", "beneficiary", "individual", "recipient")
"""Elements of R4 resources that refer to their patient, or to the patient who gets a message."""
_PATIENT = re.compile(r"(?:.*/)?Patient/([^/]+)(?:/_history/.*)?", re.DOTALL)


def find_patients(resource: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the patients that a resource says it is about; none if it does not say."""
    if resource.get("resourceType") == "Patient":
        return frozenset(id for id in (resource.get("id"),) if isinstance(id, str))
    references: list[object] = [reference for name in PATIENT_FIELDS for reference in _list_objects(resource.get(name))]
    references += [each.get("actor") for each in _list_objects(resource.get("participant"))]  # of an Appointment
    ids = (_parse_patient(reference) for reference in references)
    return frozenset(id for id in ids if id)


def _list_objects(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of an element, which may be repeated, such as the subject of an Account."""
    yield from (each for each in (value if isinstance(value, list | tuple) else [value]) if isinstance(each, Mapping))


def _parse_patient(reference: object) -> str:
    """Return the id of the patient to whom a reference leads, also to one version; empty if it leads to none."""
    text = reference.get("reference") if isinstance(reference, Mapping) else None
    match = _PATIENT.fullmatch(text) if isinstance(text, str) else None
    return match[1] if match is not None else ""


def list_resources(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the resources of a value: of a Bundle, of a list, or the value itself."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from list_resources(item)
    elif isinstance(value, Mapping) and value.get("resourceType") == "Bundle":
        entries = value.get("entry")
        for entry in entries if isinstance(entries, list | tuple) else ():
            yield from list_resources(entry.get("resource") if isinstance(entry, Mapping) else None)
    elif isinstance(value, Mapping) and isinstance(value.get("resourceType"), str):
        yield value


def read_context_patient(context: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the key of the patient of a hook, such as `Patient/42`; empty if its context names none."""
    id = context.get("patientId")
    return (f"Patient/{id}",) if isinstance(id, str) and id else ()
