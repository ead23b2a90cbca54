"""MDM: file documents as DocumentReferences, with their text."""

from typing import Any

from clerkship.fhir.resource import Resource, get_key
from clerkship.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.attached import attachment, plain
from clerkship.reactions.hl7_to_fhir.codes import TERMINOLOGY, concept, hl7, mapped
from clerkship.reactions.hl7_to_fhir.filing import Filing, by_trigger, trimmed
from clerkship.reactions.hl7_to_fhir.numbers import Number, numbered, of_ei
from clerkship.reactions.hl7_to_fhir.parts import part, parts, text
from clerkship.reactions.hl7_to_fhir.people import must_be_of, patient_of, practitioners, subject
from clerkship.reactions.hl7_to_fhir.tables import code_table
from clerkship.reactions.hl7_to_fhir.times import read_time
from clerkship.reactions.hl7_to_fhir.values import DOCUMENTS, TEXTS
from clerkship.reactions.hl7_to_fhir.visit import visit_reference
from clerkship.simulators.fhir.outcome import refusal

_STATES = code_table("0271")
"""HL7 table 0271: TXA-17."""
_KEPT = {"AV": "current", "UN": "current", "OB": "superseded", "CA": "entered-in-error"}
"""HL7 table 0273: TXA-19."""
_CONFIDENTIAL = {"U": ("N", "normal"), "R": ("R", "restricted"), "V": ("V", "very restricted")}
"""HL7 table 0272: TXA-18."""


def original(filing: Filing) -> None:
    """T01, T02: add a document; a repeated message changes nothing."""
    patient = _patient(filing)
    filing.write(_document(filing, patient, _held(filing, patient)))


def alter(filing: Filing) -> None:
    """T03, T04, T07, T08: change the status or the content of a document."""
    patient = _patient(filing)
    held = _there(filing, patient)
    made = _document(filing, patient, held)
    edited = filing.message.trigger in ("T07", "T08") and held.get("docStatus") in ("final", "amended")
    filing.write({**made, "docStatus": "amended"} if edited and made.get("docStatus") != "preliminary" else made)


def append(filing: Filing) -> None:
    """T05, T06: add an addendum to a document."""
    _after(filing, "appends")


def replace(filing: Filing) -> None:
    """T09, T10: replace a document."""
    parent = _after(filing, "replaces")
    filing.write({**parent, "status": "superseded"})


def cancel(filing: Filing) -> None:
    """T11: mark a document as entered in error."""
    filing.write({**_there(filing, _patient(filing)), "status": "entered-in-error"})


def _patient(filing: Filing) -> Resource:
    return patient_of(filing, filing.message.first("PID"))


def _txa(filing: Filing) -> Segment:
    return filing.segment("TXA", "which document is meant")


def _number(filing: Filing, field: int = 12) -> Number:
    found = part(_txa(filing), field)
    number = of_ei(found, filing.authorities) if found is not None else None
    if number is None or not number.value:
        raise refusal(422, "required", f"TXA-{field} is empty: nobody can know which document is meant")
    return number


def _held(filing: Filing, patient: Resource, field: int = 12) -> Resource | None:
    number = _number(filing, field)
    return must_be_of(patient, numbered(filing, "DocumentReference", [number]), f"document {number}")


def _there(filing: Filing, patient: Resource, field: int = 12) -> Resource:
    found = _held(filing, patient, field)
    if found is None:
        raise refusal(404, "not-found", f"{get_key(patient)} has no document {_number(filing, field)} of TXA-{field}")
    return found


def _after(filing: Filing, how: str) -> Resource:
    """Add a document that refers to the one that TXA-13 names; return the one that is named."""
    patient = _patient(filing)
    parent = _there(filing, patient, 13)
    held = _held(filing, patient)
    if held is not None and get_key(held) == get_key(parent):
        raise refusal(409, "conflict", f"TXA-12 and TXA-13 both name {get_key(parent)}")
    made = _document(filing, patient, held)
    filing.write({**made, "relatesTo": [{"code": how, "target": {"reference": get_key(parent)}}]})
    return parent


def _document(filing: Filing, patient: Resource, held: Resource | None) -> Resource:
    txa = _txa(filing)
    base: Resource = held or {"resourceType": "DocumentReference", "id": filing.new_id("DocumentReference")}
    number = _number(filing)
    written = [read_time(part(txa, field), filing.zone) for field in (8, 7, 6)]
    date = next((each.text for each in written if each is not None and each.is_exact), None)
    secret = part(txa, 18)
    label = _CONFIDENTIAL.get(secret.text().upper()) if secret is not None else None
    own_number = number.identifier() if number.value != base["id"] else None
    said = {
        "masterIdentifier": base.get("masterIdentifier") or own_number,
        "status": mapped(_KEPT, part(txa, 19), "availability (TXA-19)") or base.get("status", "current"),
        "docStatus": mapped(_STATES, part(txa, 17), "completion status (TXA-17)"),
        "type": concept(part(txa, 2), f"{TERMINOLOGY}v2-0270"),
        "subject": base.get("subject") or subject(patient),
        "date": date,
        "author": practitioners(filing, txa, 9),
        "authenticator": next(iter(practitioners(filing, txa, 22, 10)), None),
        "securityLabel": [hl7("v3-Confidentiality", *label)] if label is not None else None,
        "content": _content(filing, txa) or base.get("content") or [{"attachment": _empty(txa)}],
        "context": _context(filing, patient, txa, base),
    }
    return trimmed({**base, **trimmed(said)})


def _empty(txa: Segment) -> dict[str, Any]:
    """Build the attachment of a document that is announced without its text."""
    kind = part(txa, 2)
    return {"title": text(txa, 16) or (kind.text(2) or kind.text(1) if kind is not None else "") or "Document"}


def _content(filing: Filing, txa: Segment) -> list[dict[str, Any]]:
    """Build the attachments: one for all lines of text, one for each embedded document or pointer."""
    lines: list[str] = []
    found: list[dict[str, Any]] = []
    for obx in filing.message.all("OBX"):
        kind = text(obx, 2).upper()
        if kind in TEXTS:
            lines.append("\n".join(each.whole for each in parts(obx, 5)))
        elif kind in DOCUMENTS:
            found.append(attachment(obx))
        elif parts(obx, 5):
            raise refusal(
                501, "not-supported", f"OBX-2 says `{kind[:10]}`: the text of a document is TX, FT, ST, ED or RP"
            )
    said = "\n".join(lines)
    if said.strip():
        found.insert(0, {**plain(said), **trimmed({"title": _empty(txa)["title"]})})
    made = read_time(part(txa, 6), filing.zone)
    creation = {"creation": made.text} if made is not None else {}
    return [{"attachment": {**each, **creation}} for each in found]


def _context(filing: Filing, patient: Resource, txa: Segment, base: Resource) -> dict[str, Any]:
    visit = visit_reference(filing, patient, filing.message.first("PV1"))
    start = read_time(part(txa, 4), filing.zone)
    placer = part(txa, 14)
    number = of_ei(placer, filing.authorities, "PLAC") if placer is not None else None
    order = numbered(filing, "ServiceRequest", [number]) if number is not None else None
    said = {
        "encounter": [visit] if visit is not None else [],
        "period": {"start": start.text} if start is not None else {},
        "related": [{"reference": get_key(order)}] if order is not None else [],
    }
    return {**base.get("context", {}), **trimmed(said)}


MDM = by_trigger({original: "T01 T02", alter: "T03 T04 T07 T08", append: "T05 T06", replace: "T09 T10", cancel: "T11"})
