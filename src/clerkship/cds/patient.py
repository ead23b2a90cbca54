"""Which patient a resource belongs to."""

from collections.abc import Mapping
from typing import Any

PATIENT_FIELDS = ("subject", "patient", "for", "beneficiary", "individual")
"""Elements of R4 resources that refer to their patient."""


def find_patients(resource: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the patients that a resource says it is about; none if it does not say."""
    if resource.get("resourceType") == "Patient":
        return frozenset(id for id in (resource.get("id"),) if isinstance(id, str))
    references = [resource.get(name) for name in PATIENT_FIELDS]
    participants = resource.get("participant")
    if isinstance(participants, list):  # of an Appointment
        references += [each.get("actor") for each in participants if isinstance(each, Mapping)]
    ids = (_parse_patient(reference) for reference in references)
    return frozenset(id for id in ids if id)


def _parse_patient(reference: object) -> str:
    text = reference.get("reference") if isinstance(reference, Mapping) else None
    parts = text.split("/") if isinstance(text, str) else []
    return parts[-1] if len(parts) >= 2 and parts[-2] == "Patient" else ""
