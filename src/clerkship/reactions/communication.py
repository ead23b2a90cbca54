"""What the reactions between a chart and a patient portal have in common (R4 Communication)."""

from collections.abc import Iterator, Mapping
from typing import Any

from clerkship.formats.fhir.resource import list_objects, parse_reference
from clerkship.simulators.messages.state import MessagesState

COMMUNICATION = "Communication"
MEDIUM_SYSTEM = "http://terminology.hl7.org/CodeSystem/v3-ParticipationMode"
PORTAL_MEDIUM = "ONLINEWRIT"


def find_key(reference: Any) -> str:
    """Return the key that a Reference names, such as `Patient/p1`; empty if it names none on this server."""
    text = reference.get("reference") if isinstance(reference, Mapping) else None
    target = parse_reference(text) if isinstance(text, str) else None
    return target.key if target is not None else ""


def list_codes(concepts: Any) -> Iterator[str]:
    """Yield the codes of a list of CodeableConcepts."""
    for concept in concepts if isinstance(concepts, list) else ():
        for coding in list_objects(concept, "coding"):
            if isinstance(coding.get("code"), str):
                yield coding["code"]


def find_message_id(resource: Mapping[str, Any], messages: MessagesState) -> str | None:
    """Return the id of the patient portal message that a Communication stands for; None if there is none."""
    for identifier in list_objects(resource, "identifier"):
        value = identifier.get("value")
        if isinstance(value, str) and value in messages.messages:
            return value
    return messages.mailbox.references.get(f"{COMMUNICATION}/{resource.get('id')}")
