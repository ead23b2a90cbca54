"""Convert PV1 to an Encounter, and find Encounters by visit number."""

from typing import Any

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.fields import (
    TERMINOLOGY,
    MessageTime,
    build_coding,
    build_hl7_concept,
    read_repetition,
    read_repetitions,
    read_text,
    read_time,
    term_table,
    to_concept,
)
from clerkship.reactions.hl7_to_fhir.filing import Filing, drop_empty
from clerkship.reactions.hl7_to_fhir.identifiers import Hl7Identifier, add_identifiers, find_by_identifiers, parse_cx
from clerkship.reactions.hl7_to_fhir.people import (
    build_location,
    build_practitioner,
    build_subject,
    require_same_patient,
)
from clerkship.simulators.fhir.outcome import refusal

_CLASSES = term_table("0004")
"""HL7 table 0004."""
_PARTICIPANT_FIELDS = {
    7: ("ATND", "attender"),
    8: ("REF", "referrer"),
    9: ("CON", "consultant"),
    17: ("ADM", "admitter"),
}
"""Fields of PV1 that name a participant, and its type (FHIR's v3-ParticipationType)."""


def read_event_time(filing: Filing) -> MessageTime:
    """Return when the event of a message happened: EVN-6, else EVN-2, else MSH-7."""
    event = filing.message.first("EVN")
    for segment, field in ((event, 6), (event, 2), (filing.message.header, 7)):
        time = read_time(read_repetition(segment, field), filing.zone)
        if time is not None:
            return time
    raise refusal(422, "required", "EVN-6, EVN-2 and MSH-7 (time of the event) are missing")


def visit_number(filing: Filing, pv1: Segment | None) -> Hl7Identifier | None:
    """Read the visit number, PV1-19."""
    repetition = read_repetition(pv1, 19)
    number = parse_cx(repetition, filing.authorities, "VN") if repetition is not None else None
    return number if number is not None and number.value else None


def find_visit(filing: Filing, patient: Resource, pv1: Segment | None) -> Resource | None:
    """Find the Encounter that PV1-19 names; refused if it is another patient's."""
    number = visit_number(filing, pv1)
    visit = find_by_identifiers(filing, "Encounter", [number]) if number is not None else None
    return require_same_patient(patient, visit, f"visit {number}")


def require_visit(filing: Filing, patient: Resource, pv1: Segment | None, *statuses: str) -> Resource:
    """Find the Encounter of a message by PV1-19, else the only one of the patient in one of the states."""
    number = visit_number(filing, pv1)
    if number is not None:
        visit = find_visit(filing, patient, pv1)
        if visit is None:
            raise refusal(404, "not-found", f"{get_key(patient)} has no visit with the number {number} of PV1-19")
        return visit
    candidates = filing.find("Encounter", ("patient", get_key(patient)), ("status", ",".join(statuses)))
    if len(candidates) != 1:
        matches = f"{len(candidates)} visits that are {' or '.join(statuses)}"
        raise refusal(422, "required", f"PV1-19 (visit number) is missing, and {get_key(patient)} has {matches}")
    return candidates[0]


def build_visit_reference(filing: Filing, patient: Resource, pv1: Segment | None) -> dict[str, Any] | None:
    """Return a reference to the visit of a result, order or document, if the chart has it."""
    visit = find_visit(filing, patient, pv1)
    return {"reference": get_key(visit)} if visit is not None else None


def start_visit(
    filing: Filing, patient: Resource, pv1: Segment | None, status: str, start: MessageTime | None
) -> Resource:
    """Build the Encounter of an admission, registration or preadmission, or update the one that the chart has."""
    existing = find_visit(filing, patient, pv1)
    if existing is None and visit_number(filing, pv1) is None and start is not None:
        same = filing.find("Encounter", ("patient", get_key(patient)), ("status", status))
        existing = next((each for each in same if each.get("period", {}).get("start") == start.text), None)
    if existing is not None and existing.get("status") in ("finished", "cancelled", "entered-in-error"):
        raise refusal(
            409,
            "conflict",
            f"{get_key(existing)} is {existing.get('status')}: {filing.operation} cannot start it again",
        )
    visit: Resource = existing or {"resourceType": "Encounter", "id": filing.new_id("Encounter")}
    visit = {**visit, "status": status, "subject": visit.get("subject") or build_subject(patient)}
    if start is not None and (existing is None or "period" not in existing or existing.get("status") == "planned"):
        visit["period"] = {"start": start.text}
    return update_visit(filing, pv1, visit)


def update_visit(filing: Filing, pv1: Segment | None, visit: Resource) -> Resource:
    """Update an Encounter from PV1 and PV2, except for its place, which `move_visit` updates."""
    number = visit_number(filing, pv1)
    pv2 = filing.message.first("PV2")
    reason, service = to_concept(read_repetition(pv2, 3)), to_concept(read_repetition(pv1, 10), f"{TERMINOLOGY}v2-0069")
    return drop_empty(
        {
            **visit,
            "identifier": add_identifiers(
                visit, [number] if number is not None and number.value != visit["id"] else []
            ),
            "class": _class(pv1, visit),
            "participant": _participants(filing, pv1) or visit.get("participant"),
            "reasonCode": [reason] if reason is not None else visit.get("reasonCode"),
            "serviceType": service or visit.get("serviceType"),
            "hospitalization": _hospitalization(pv1, visit),
        }
    )


def _class(pv1: Segment | None, visit: Resource) -> dict[str, Any]:
    code = read_text(pv1, 2).upper()
    if code in _CLASSES:
        actual, display = _CLASSES[code]
        return build_coding(actual, display, f"{TERMINOLOGY}v3-ActCode")
    if code:
        return build_coding(code, "", f"{TERMINOLOGY}v2-0004")
    existing: dict[str, Any] = visit.get("class") or build_coding("AMB", "ambulatory", f"{TERMINOLOGY}v3-ActCode")
    return existing


def _participants(filing: Filing, pv1: Segment | None) -> list[dict[str, Any]]:
    return [
        {"type": [build_hl7_concept("v3-ParticipationType", *role)], "individual": individual}
        for field, role in _PARTICIPANT_FIELDS.items()
        for each in read_repetitions(pv1, field)
        if (individual := build_practitioner(filing, each))
    ]


def _hospitalization(pv1: Segment | None, visit: Resource) -> dict[str, Any]:
    source = to_concept(read_repetition(pv1, 14), f"{TERMINOLOGY}v2-0023")
    disposition = to_concept(read_repetition(pv1, 36), f"{TERMINOLOGY}v2-0112")
    existing = visit.get("hospitalization", {})
    return drop_empty({**existing, **drop_empty({"admitSource": source, "dischargeDisposition": disposition})})


def move_visit(filing: Filing, pv1: Segment | None, visit: Resource, at: MessageTime) -> Resource:
    """Move an Encounter to the place of PV1-3; earlier places are kept."""
    repetition = read_repetition(pv1, 3)
    place = build_location(filing, repetition) if repetition is not None else {}
    if not place:
        return visit
    locations = list(visit.get("location", ()))
    if locations and locations[-1].get("location") == place and locations[-1].get("status", "active") == "active":
        return visit
    earlier = [_end_stay(each, at) for each in locations]
    return {**visit, "location": [*earlier, {"location": place, "status": "active", "period": {"start": at.text}}]}


def _end_stay(stay: dict[str, Any], at: MessageTime) -> dict[str, Any]:
    if stay.get("status", "active") != "active":
        return stay
    return {**stay, "status": "completed", "period": {**stay.get("period", {}), "end": at.text}}


def end_visit(visit: Resource, at: MessageTime) -> Resource:
    """End an Encounter."""
    stays = [_end_stay(each, at) for each in visit.get("location", ())]
    period = {**visit.get("period", {}), "end": at.text}
    return drop_empty({**visit, "status": "finished", "period": period, "location": stays})


def reopen_visit(visit: Resource) -> Resource:
    """Reopen an Encounter."""
    period = {name: value for name, value in visit.get("period", {}).items() if name != "end"}
    stays = list(visit.get("location", ()))
    if stays:
        last = {name: value for name, value in stays[-1].get("period", {}).items() if name != "end"}
        stays[-1] = drop_empty({**stays[-1], "status": "active", "period": last})
    return drop_empty({**visit, "status": "in-progress", "period": period, "location": stays})
