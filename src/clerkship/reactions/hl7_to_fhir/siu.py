"""SIU: file appointments, and mark their slots as busy or free."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from clerkship.fhir.resource import Resource, get_key
from clerkship.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.codes import TERMINOLOGY, concept
from clerkship.reactions.hl7_to_fhir.filing import Filing, by_trigger, trimmed
from clerkship.reactions.hl7_to_fhir.numbers import Number, numbered, of_ei, with_numbers
from clerkship.reactions.hl7_to_fhir.orders import remarks
from clerkship.reactions.hl7_to_fhir.parts import part, parts, text
from clerkship.reactions.hl7_to_fhir.people import location, patient_of, practitioners, subject
from clerkship.reactions.hl7_to_fhir.tables import code_table
from clerkship.reactions.hl7_to_fhir.times import Time, moment, read_time
from clerkship.simulators.fhir.outcome import refusal

_TYPES = f"{TERMINOLOGY}v2-0276"
_STATES = code_table("0278")
"""HL7 table 0278: SCH-25."""
_UNITS = {"": 1, "MIN": 1, "M": 1, "MINUTES": 1, "H": 60, "HR": 60, "HOUR": 60, "HOURS": 60, "S": 1 / 60, "SEC": 1 / 60}
"""Minutes."""
_OVER = ("fulfilled", "noshow", "cancelled", "entered-in-error")
_LONGEST = timedelta(days=7)
_STARTS = (("AIS", 4), ("AIG", 8), ("AIL", 6), ("AIP", 6))
"""For each resource segment, the field with its start; duration and its unit are three and four fields on."""


class Span(NamedTuple):
    """The start and end of an appointment."""

    start: str
    end: str

    @property
    def minutes(self) -> int:
        """Return the length in minutes."""
        return round((moment(self.end) - moment(self.start)) / timedelta(minutes=1))


def book(filing: Filing) -> None:
    """S12: book an appointment; a repeated message changes nothing."""
    _change(filing, _state(filing), may_be_new=True)


def alter(filing: Filing) -> None:
    """S13, S14: reschedule or modify an appointment."""
    _change(filing, _state(filing), may_be_new=False)


def cancel(filing: Filing) -> None:
    """S15, S16: cancel an appointment."""
    _end(filing, "cancelled")


def delete(filing: Filing) -> None:
    """S17: mark an appointment as entered in error."""
    _end(filing, "entered-in-error")


def miss(filing: Filing) -> None:
    """S26: record that the patient did not come."""
    _end(filing, "noshow")


def _state(filing: Filing) -> str:
    said = text(_sch(filing), 25).upper()
    if said and said not in _STATES:
        raise refusal(422, "code-invalid", f"SCH-25: `{said[:40]}` is no status; {', '.join(_STATES)} are")
    return _STATES.get(said, "booked")


def _sch(filing: Filing) -> Segment:
    return filing.segment("SCH", "which appointment is meant")


def _numbers(filing: Filing) -> list[Number]:
    """Read the filler's number (SCH-2) and the placer's (SCH-1)."""
    types = ((2, "FILL"), (1, "PLAC"))
    found = [of_ei(each, filing.authorities, type) for at, type in types for each in parts(_sch(filing), at)]
    numbers = [number for number in found if number.value]
    if not numbers:
        raise refusal(422, "required", "SCH-1 and SCH-2 are empty: nobody can know which appointment is meant")
    return numbers


def _held(filing: Filing, patient: Resource) -> Resource | None:
    numbers = _numbers(filing)
    found = numbered(filing, "Appointment", numbers)
    if found is not None and get_key(patient) not in _actors(found):
        told = f"appointment {numbers[0]} ({get_key(found)}) is not one of {get_key(patient)}, whom PID-3 names"
        raise refusal(409, "conflict", told)
    return found


def _actors(appointment: Resource) -> list[str]:
    return [each.get("actor", {}).get("reference", "") for each in appointment.get("participant", ())]


def _there(filing: Filing, patient: Resource) -> Resource:
    found = _held(filing, patient)
    if found is None:
        told = " or ".join(str(number) for number in _numbers(filing))
        raise refusal(404, "not-found", f"{get_key(patient)} has no appointment {told} of SCH")
    return found


def _end(filing: Filing, status: str) -> None:
    patient = patient_of(filing, filing.message.first("PID"))
    held = _there(filing, patient)
    if status != "entered-in-error":
        _still_open(held, status, filing)
    if status != "noshow":
        for slot in _slots_of(filing, held):
            filing.write({**slot, "status": "free"})
    kept = {name: value for name, value in held.items() if name != "slot" or status == "noshow"}
    reason = concept(part(_sch(filing), 6)) if status == "cancelled" else None
    filing.write(trimmed({**kept, "status": status, "cancelationReason": reason or held.get("cancelationReason")}))


def _still_open(held: Resource, status: str, filing: Filing) -> None:
    """Refuse to change an appointment that is over."""
    before = held.get("status")
    if before in _OVER and before != status:
        raise refusal(409, "conflict", f"{get_key(held)} is {before}: it is not {status} by {filing.operation}")


def _slots_of(filing: Filing, appointment: Resource) -> list[Resource]:
    return filing.resources(each.get("reference", "") for each in appointment.get("slot", ()))


def _change(filing: Filing, status: str, *, may_be_new: bool) -> None:
    patient = patient_of(filing, filing.message.first("PID"))
    held = _held(filing, patient) if may_be_new else _there(filing, patient)
    if held is not None:
        _still_open(held, status, filing)
    base: Resource = held or {"resourceType": "Appointment", "id": filing.new_id("Appointment")}
    people = _participants(filing, patient, base)
    doctors = [key for key in _actors({"participant": people}) if key.startswith("Practitioner/")]
    span = _span(filing, base, doctors)
    slots = _taken(filing, base, doctors, span) if status in ("booked", "pending", "arrived") else []
    sch, created = _sch(filing), read_time(part(filing.message.header, 7), filing.zone)
    reason, type = concept(part(sch, 7)), concept(part(sch, 8), _TYPES)
    service = [each for ais in filing.message.all("AIS") if (each := concept(part(ais, 3))) is not None]
    made = {
        **base,
        "identifier": with_numbers(base, [each for each in _numbers(filing) if each.value != base["id"]]),
        "status": status,
        "serviceType": service or base.get("serviceType"),
        "appointmentType": type or base.get("appointmentType"),
        "reasonCode": [reason] if reason is not None else base.get("reasonCode"),
        "comment": remarks(filing.message.all("NTE")) or base.get("comment"),
        "created": base.get("created") or (created.text if created is not None else None),
        "start": span.start,
        "end": span.end,
        "minutesDuration": span.minutes,
        "slot": [{"reference": get_key(each)} for each in slots],
        "participant": people,
    }
    filing.write(trimmed(made))


def _participants(filing: Filing, patient: Resource, base: Resource) -> list[dict[str, Any]]:
    """Build the participants: the patient, and those of AIP and AIL. Types that the message lacks are kept."""
    message = filing.message
    doctors = [each for aip in message.all("AIP") for each in practitioners(filing, aip, 3)]
    places = [place for ail in message.all("AIL") for each in parts(ail, 3) if (place := location(filing, each))]
    named = [{"actor": each, "required": "required", "status": "accepted"} for each in (*doctors, *places)]
    held = [each for each in base.get("participant", ()) if _stays(each, bool(doctors), bool(places))]
    first = [each for each in held if each.get("actor", {}).get("reference") == get_key(patient)]
    rest = [each for each in held if each not in first]
    me = {"actor": subject(patient), "required": "required", "status": "accepted"}
    return [*(first or [me]), *named, *rest]


def _stays(participant: dict[str, Any], doctors: bool, places: bool) -> bool:
    key = participant.get("actor", {}).get("reference", "")
    if key.startswith("Location/"):
        return not places
    return key.startswith("Patient/") or not (doctors if key.startswith("Practitioner") else doctors or places)


def _span(filing: Filing, base: Resource, doctors: list[str]) -> Span:
    """Read start and end from SCH-11, TQ1 or a resource segment. Without an end, the duration, the slot or the previous
    length decides."""
    start, end = _said(filing)
    if start is None:
        if "start" not in base or "end" not in base:
            raise refusal(422, "required", "SCH-11, TQ1-7 and AIS-4 are empty: nobody can know when it is")
        return Span(base["start"], base["end"])
    if not start.is_exact:
        raise refusal(422, "value", f"an appointment begins at a time of day, and `{start.text}` has none")
    if end is not None and end.is_exact:
        last, told = end.at, end.text
    else:
        last = start.at + (_length(filing) or _usual(filing, base, doctors, start))
        told = last.isoformat()
    if not timedelta(0) < last - start.at <= _LONGEST:
        raise refusal(422, "value", f"an appointment from {start.text} to {told} cannot be")
    return Span(start.text, told)


def _said(filing: Filing) -> tuple[Time | None, Time | None]:
    timing = part(_sch(filing), 11)
    start = read_time(timing, filing.zone, 4)
    if start is not None:
        return start, read_time(timing, filing.zone, 5)
    for tq1 in filing.message.all("TQ1"):
        if part(tq1, 7) is not None:
            return read_time(part(tq1, 7), filing.zone), read_time(part(tq1, 8), filing.zone)
    for name, field in _STARTS:
        for segment in filing.message.all(name):
            if part(segment, field) is not None:
                return read_time(part(segment, field), filing.zone), None
    return None, None


def _length(filing: Filing) -> timedelta | None:
    """Read the duration: SCH-9 in the unit of SCH-10, else that of a resource segment."""
    asked = [(_sch(filing), 9)]
    asked += [(segment, field + 3) for name, field in _STARTS for segment in filing.message.all(name)]
    for segment, field in asked:
        said, unit = text(segment, field), text(segment, field + 1).upper()
        if said:
            if not said.isascii() or not said.isdigit() or len(said) > 5 or unit not in _UNITS:
                told = f"`{said[:20]}` in `{unit[:20]}`"
                raise refusal(422, "value", f"{segment.name}-{field}: {told} is no length of time; minutes (MIN) are")
            return timedelta(minutes=int(said) * _UNITS[unit])
    return None


def _usual(filing: Filing, base: Resource, doctors: list[str], start: Time) -> timedelta:
    if "start" in base and "end" in base:
        return moment(base["end"]) - moment(base["start"])
    for slot in _open(filing, doctors, start.at, start.at + timedelta(seconds=1)):
        if "end" in slot:
            return moment(slot["end"]) - moment(slot["start"])
    raise refusal(422, "required", "SCH-9 is empty and SCH-11 has no end: nobody can know how long it is")


def _open(filing: Filing, doctors: list[str], start: datetime, end: datetime) -> list[Resource]:
    """Return the slots in the schedules of some clinicians that begin within a time, free or busy."""
    found: list[Resource] = []
    for doctor in doctors:
        within = (("start", f"ge{start.isoformat()}"), ("start", f"lt{end.isoformat()}"))
        found += filing.find("Slot", ("schedule.actor", doctor), *within)
    return found


def _taken(filing: Filing, base: Resource, doctors: list[str], span: Span) -> list[Resource]:
    """Mark the slots of an appointment as busy, and those that it no longer has as free."""
    before = {get_key(each): each for each in _slots_of(filing, base)}
    wanted = {get_key(each): each for each in _open(filing, doctors, moment(span.start), moment(span.end))}
    overbooked = text(_sch(filing), 25).upper() == "OVERBOOK"
    for key, slot in wanted.items():
        if key not in before and slot.get("status") != "free" and not overbooked:
            raise refusal(409, "conflict", f"{key} is {slot.get('status')}: at {span.start} the book has no room")
    for key, slot in before.items():
        if key not in wanted:
            filing.write({**slot, "status": "free"})
    found = list(wanted.values())
    return [filing.write({**slot, "status": "busy"}) if slot.get("status") == "free" else slot for slot in found]


SIU = by_trigger({book: "S12", alter: "S13 S14", cancel: "S15 S16", delete: "S17", miss: "S26"})
