"""MDM: file documents as DocumentReferences, with their text."""

from typing import Any

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.fields import (
    TERMINOLOGY,
    build_hl7_concept,
    code_table,
    map_code,
    read_repetition,
    read_repetitions,
    read_text,
    read_time,
    to_concept,
)
from clerkship.reactions.hl7_to_fhir.filing import Filing, drop_empty, map_triggers
from clerkship.reactions.hl7_to_fhir.identifiers import Hl7Identifier, find_by_identifiers, parse_ei
from clerkship.reactions.hl7_to_fhir.people import (
    build_practitioners,
    build_subject,
    require_patient,
    require_same_patient,
)
from clerkship.reactions.hl7_to_fhir.values import DOCUMENT_TYPES, TEXT_TYPES, build_attachment, build_text_attachment
from clerkship.reactions.hl7_to_fhir.visit import build_visit_reference
from clerkship.simulators.fhir.outcome import refusal

_STATUSES = code_table("0271")
"""HL7 table 0271: TXA-17."""
_AVAILABILITY = {"AV": "current", "UN": "current", "OB": "superseded", "CA": "entered-in-error"}
"""HL7 table 0273: TXA-19."""
_CONFIDENTIALITY = {"U": ("N", "normal"), "R": ("R", "restricted"), "V": ("V", "very restricted")}
"""HL7 table 0272: TXA-18."""


def add_document(filing: Filing) -> None:
    """T01, T02: add a document; a repeated message changes nothing."""
    patient = _patient(filing)
    filing.write(_build_document(filing, patient, _find_document(filing, patient)))


def alter(filing: Filing) -> None:
    """T03, T04, T07, T08: change the status or the content of a document."""
    patient = _patient(filing)
    existing = _require_document(filing, patient)
    document = _build_document(filing, patient, existing)
    edited = filing.message.trigger in ("T07", "T08") and existing.get("docStatus") in ("final", "amended")
    filing.write(
        {**document, "docStatus": "amended"} if edited and document.get("docStatus") != "preliminary" else document
    )


def append(filing: Filing) -> None:
    """T05, T06: add an addendum to a document."""
    _add_related_document(filing, "appends")


def replace(filing: Filing) -> None:
    """T09, T10: replace a document."""
    parent = _add_related_document(filing, "replaces")
    filing.write({**parent, "status": "superseded"})


def cancel(filing: Filing) -> None:
    """T11: mark a document as entered in error."""
    filing.write({**_require_document(filing, _patient(filing)), "status": "entered-in-error"})


def _patient(filing: Filing) -> Resource:
    return require_patient(filing, filing.message.first("PID"))


def _txa(filing: Filing) -> Segment:
    return filing.require_segment("TXA", "document")


def _read_number(filing: Filing, field: int = 12) -> Hl7Identifier:
    repetition = read_repetition(_txa(filing), field)
    number = parse_ei(repetition, filing.authorities) if repetition is not None else None
    if number is None or not number.value:
        raise refusal(422, "required", f"TXA-{field} (document number) is missing")
    return number


def _find_document(filing: Filing, patient: Resource, field: int = 12) -> Resource | None:
    number = _read_number(filing, field)
    return require_same_patient(
        patient, find_by_identifiers(filing, "DocumentReference", [number]), f"document {number}"
    )


def _require_document(filing: Filing, patient: Resource, field: int = 12) -> Resource:
    document = _find_document(filing, patient, field)
    if document is None:
        raise refusal(
            404, "not-found", f"{get_key(patient)} has no document {_read_number(filing, field)} of TXA-{field}"
        )
    return document


def _add_related_document(filing: Filing, how: str) -> Resource:
    """Add a document that refers to the one that TXA-13 names; return the one that is named."""
    patient = _patient(filing)
    parent = _require_document(filing, patient, 13)
    existing = _find_document(filing, patient)
    if existing is not None and get_key(existing) == get_key(parent):
        raise refusal(409, "conflict", f"TXA-12 and TXA-13 both name {get_key(parent)}")
    document = _build_document(filing, patient, existing)
    filing.write({**document, "relatesTo": [{"code": how, "target": {"reference": get_key(parent)}}]})
    return parent


def _build_document(filing: Filing, patient: Resource, existing: Resource | None) -> Resource:
    txa = _txa(filing)
    base: Resource = existing or {"resourceType": "DocumentReference", "id": filing.new_id("DocumentReference")}
    number = _read_number(filing)
    written = [read_time(read_repetition(txa, field), filing.zone) for field in (8, 7, 6)]
    date = next((each.text for each in written if each is not None and each.is_exact), None)
    secret = read_repetition(txa, 18)
    label = _CONFIDENTIALITY.get(secret.text().upper()) if secret is not None else None
    own_number = number.to_identifier() if number.value != base["id"] else None
    values = {
        "masterIdentifier": base.get("masterIdentifier") or own_number,
        "status": map_code(_AVAILABILITY, read_repetition(txa, 19), "availability status")
        or base.get("status", "current"),
        "docStatus": map_code(_STATUSES, read_repetition(txa, 17), "completion status"),
        "type": to_concept(read_repetition(txa, 2), f"{TERMINOLOGY}v2-0270"),
        "subject": base.get("subject") or build_subject(patient),
        "date": date,
        "author": build_practitioners(filing, txa, 9),
        "authenticator": next(iter(build_practitioners(filing, txa, 22, 10)), None),
        "securityLabel": [build_hl7_concept("v3-Confidentiality", *label)] if label is not None else None,
        "content": _build_content(filing, txa) or base.get("content") or [{"attachment": _build_placeholder(txa)}],
        "context": _build_context(filing, patient, txa, base),
    }
    return drop_empty({**base, **drop_empty(values)})


def _build_placeholder(txa: Segment) -> dict[str, Any]:
    """Build the attachment of a document that is announced without its text."""
    kind = read_repetition(txa, 2)
    return {"title": read_text(txa, 16) or (kind.text(2) or kind.text(1) if kind is not None else "") or "Document"}


def _build_content(filing: Filing, txa: Segment) -> list[dict[str, Any]]:
    """Build the attachments: one for all lines of text, one for each embedded document or pointer."""
    lines: list[str] = []
    attachments: list[dict[str, Any]] = []
    for obx in filing.message.all("OBX"):
        kind = read_text(obx, 2).upper()
        if kind in TEXT_TYPES:
            lines.append("\n".join(each.whole for each in read_repetitions(obx, 5)))
        elif kind in DOCUMENT_TYPES:
            attachments.append(build_attachment(obx))
        elif read_repetitions(obx, 5):
            raise refusal(
                501, "not-supported", f"OBX-2: unsupported type `{kind[:10]}` (expected: TX, FT, ST, ED or RP)"
            )
    content = "\n".join(lines)
    if content.strip():
        attachments.insert(
            0, {**build_text_attachment(content), **drop_empty({"title": _build_placeholder(txa)["title"]})}
        )
    created = read_time(read_repetition(txa, 6), filing.zone)
    creation = {"creation": created.text} if created is not None else {}
    return [{"attachment": {**each, **creation}} for each in attachments]


def _build_context(filing: Filing, patient: Resource, txa: Segment, base: Resource) -> dict[str, Any]:
    visit = build_visit_reference(filing, patient, filing.message.first("PV1"))
    start = read_time(read_repetition(txa, 4), filing.zone)
    placer = read_repetition(txa, 14)
    number = parse_ei(placer, filing.authorities, "PLAC") if placer is not None else None
    order = find_by_identifiers(filing, "ServiceRequest", [number]) if number is not None else None
    values = {
        "encounter": [visit] if visit is not None else [],
        "period": {"start": start.text} if start is not None else {},
        "related": [{"reference": get_key(order)}] if order is not None else [],
    }
    return {**base.get("context", {}), **drop_empty(values)}


MDM = map_triggers(
    {add_document: "T01 T02", alter: "T03 T04 T07 T08", append: "T05 T06", replace: "T09 T10", cancel: "T11"}
)
