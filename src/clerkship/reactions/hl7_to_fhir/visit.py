"""Convert PV1 to an Encounter, and find Encounters by visit number."""

from typing import Any

from clerkship.fhir.resource import Resource, get_key
from clerkship.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.codes import TERMINOLOGY, coding, concept, hl7
from clerkship.reactions.hl7_to_fhir.filing import Filing, trimmed
from clerkship.reactions.hl7_to_fhir.numbers import Number, numbered, of_cx, with_numbers
from clerkship.reactions.hl7_to_fhir.parts import part, parts, text
from clerkship.reactions.hl7_to_fhir.people import location, must_be_of, practitioner, subject
from clerkship.reactions.hl7_to_fhir.tables import term_table
from clerkship.reactions.hl7_to_fhir.times import Time, read_time
from clerkship.simulators.fhir.outcome import refusal

_CLASSES = term_table("0004")
"""HL7 table 0004."""
_TAKING_PART = {
    7: ("ATND", "attender"),
    8: ("REF", "referrer"),
    9: ("CON", "consultant"),
    17: ("ADM", "admitter"),
}
"""Fields of PV1 that name a participant, and its type (FHIR's v3-ParticipationType)."""


def happened(filing: Filing) -> Time:
    """Return when the event of a message happened: EVN-6, else EVN-2, else MSH-7."""
    event = filing.message.first("EVN")
    for segment, field in ((event, 6), (event, 2), (filing.message.header, 7)):
        found = read_time(part(segment, field), filing.zone)
        if found is not None:
            return found
    raise refusal(422, "required", "EVN-6, EVN-2 and MSH-7 are empty: nobody can know when this happened")


def visit_number(filing: Filing, pv1: Segment | None) -> Number | None:
    """Read the visit number, PV1-19."""
    found = part(pv1, 19)
    number = of_cx(found, filing.authorities, "VN") if found is not None else None
    return number if number is not None and number.value else None


def find_visit(filing: Filing, patient: Resource, pv1: Segment | None) -> Resource | None:
    """Find the Encounter that PV1-19 names; refused if it is another patient's."""
    number = visit_number(filing, pv1)
    found = numbered(filing, "Encounter", [number]) if number is not None else None
    return must_be_of(patient, found, f"visit {number}")


def visit_of(filing: Filing, patient: Resource, pv1: Segment | None, *statuses: str) -> Resource:
    """Find the Encounter of a message by PV1-19, else the only one of the patient in one of the states."""
    number = visit_number(filing, pv1)
    if number is not None:
        found = find_visit(filing, patient, pv1)
        if found is None:
            raise refusal(404, "not-found", f"{get_key(patient)} has no visit with the number {number} of PV1-19")
        return found
    open_ones = filing.find("Encounter", ("patient", get_key(patient)), ("status", ",".join(statuses)))
    if len(open_ones) != 1:
        told = f"{len(open_ones)} visits that are {' or '.join(statuses)}"
        raise refusal(422, "required", f"PV1-19 is empty, and {get_key(patient)} has {told}: which is meant?")
    return open_ones[0]


def visit_reference(filing: Filing, patient: Resource, pv1: Segment | None) -> dict[str, Any] | None:
    """Return a reference to the visit of a result, order or document, if the chart has it."""
    found = find_visit(filing, patient, pv1)
    return {"reference": get_key(found)} if found is not None else None


def begun(filing: Filing, patient: Resource, pv1: Segment | None, status: str, start: Time | None) -> Resource:
    """Build the Encounter of an admission, registration or preadmission, or update the one that the chart has."""
    found = find_visit(filing, patient, pv1)
    if found is None and visit_number(filing, pv1) is None and start is not None:
        same = filing.find("Encounter", ("patient", get_key(patient)), ("status", status))
        found = next((each for each in same if each.get("period", {}).get("start") == start.text), None)
    if found is not None and found.get("status") in ("finished", "cancelled", "entered-in-error"):
        raise refusal(
            409, "conflict", f"{get_key(found)} is {found.get('status')}: it cannot begin again by {filing.operation}"
        )
    visit: Resource = found or {"resourceType": "Encounter", "id": filing.new_id("Encounter")}
    visit = {**visit, "status": status, "subject": visit.get("subject") or subject(patient)}
    if start is not None and (found is None or "period" not in found or found.get("status") == "planned"):
        visit["period"] = {"start": start.text}
    return told(filing, pv1, visit)


def told(filing: Filing, pv1: Segment | None, visit: Resource) -> Resource:
    """Update an Encounter from PV1 and PV2, except for its place, which `moved` updates."""
    number = visit_number(filing, pv1)
    pv2 = filing.message.first("PV2")
    reason, service = concept(part(pv2, 3)), concept(part(pv1, 10), f"{TERMINOLOGY}v2-0069")
    return trimmed(
        {
            **visit,
            "identifier": with_numbers(visit, [number] if number is not None and number.value != visit["id"] else []),
            "class": _class(pv1, visit),
            "participant": _participants(filing, pv1) or visit.get("participant"),
            "reasonCode": [reason] if reason is not None else visit.get("reasonCode"),
            "serviceType": service or visit.get("serviceType"),
            "hospitalization": _hospitalization(pv1, visit),
        }
    )


def _class(pv1: Segment | None, visit: Resource) -> dict[str, Any]:
    code = text(pv1, 2).upper()
    if code in _CLASSES:
        actual, display = _CLASSES[code]
        return coding(actual, display, f"{TERMINOLOGY}v3-ActCode")
    if code:
        return coding(code, "", f"{TERMINOLOGY}v2-0004")
    held: dict[str, Any] = visit.get("class") or coding("AMB", "ambulatory", f"{TERMINOLOGY}v3-ActCode")
    return held


def _participants(filing: Filing, pv1: Segment | None) -> list[dict[str, Any]]:
    return [
        {"type": [hl7("v3-ParticipationType", *role)], "individual": individual}
        for field, role in _TAKING_PART.items()
        for each in parts(pv1, field)
        if (individual := practitioner(filing, each))
    ]


def _hospitalization(pv1: Segment | None, visit: Resource) -> dict[str, Any]:
    source = concept(part(pv1, 14), f"{TERMINOLOGY}v2-0023")
    went = concept(part(pv1, 36), f"{TERMINOLOGY}v2-0112")
    held = visit.get("hospitalization", {})
    return trimmed({**held, **trimmed({"admitSource": source, "dischargeDisposition": went})})


def moved(filing: Filing, pv1: Segment | None, visit: Resource, at: Time) -> Resource:
    """Move an Encounter to the place of PV1-3; earlier places are kept."""
    found = part(pv1, 3)
    place = location(filing, found) if found is not None else {}
    if not place:
        return visit
    held = list(visit.get("location", ()))
    if held and held[-1].get("location") == place and held[-1].get("status", "active") == "active":
        return visit
    left = [_left(each, at) for each in held]
    return {**visit, "location": [*left, {"location": place, "status": "active", "period": {"start": at.text}}]}


def _left(stay: dict[str, Any], at: Time) -> dict[str, Any]:
    if stay.get("status", "active") != "active":
        return stay
    return {**stay, "status": "completed", "period": {**stay.get("period", {}), "end": at.text}}


def ended(visit: Resource, at: Time) -> Resource:
    """End an Encounter."""
    stays = [_left(each, at) for each in visit.get("location", ())]
    period = {**visit.get("period", {}), "end": at.text}
    return trimmed({**visit, "status": "finished", "period": period, "location": stays})


def reopened(visit: Resource) -> Resource:
    """Reopen an Encounter."""
    period = {name: value for name, value in visit.get("period", {}).items() if name != "end"}
    stays = list(visit.get("location", ()))
    if stays:
        last = {name: value for name, value in stays[-1].get("period", {}).items() if name != "end"}
        stays[-1] = trimmed({**stays[-1], "status": "active", "period": last})
    return trimmed({**visit, "status": "in-progress", "period": period, "location": stays})
