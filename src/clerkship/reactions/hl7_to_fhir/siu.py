"""SIU: file appointments, and mark their slots as busy or free."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.fields import (
    TERMINOLOGY,
    MessageTime,
    code_table,
    parse_instant,
    read_repetition,
    read_repetitions,
    read_text,
    read_time,
    to_concept,
)
from clerkship.reactions.hl7_to_fhir.filing import Filing, drop_empty, map_triggers
from clerkship.reactions.hl7_to_fhir.identifiers import Hl7Identifier, add_identifiers, find_by_identifiers, parse_ei
from clerkship.reactions.hl7_to_fhir.orders import join_notes
from clerkship.reactions.hl7_to_fhir.people import build_location, build_practitioners, build_subject, require_patient
from clerkship.simulators.fhir.outcome import refusal

_TYPES = f"{TERMINOLOGY}v2-0276"
_STATUSES = code_table("0278")
"""HL7 table 0278: SCH-25."""
_UNITS = {"": 1, "MIN": 1, "M": 1, "MINUTES": 1, "H": 60, "HR": 60, "HOUR": 60, "HOURS": 60, "S": 1 / 60, "SEC": 1 / 60}
"""Minutes."""
_CLOSED = ("fulfilled", "noshow", "cancelled", "entered-in-error")
_MAX_DURATION = timedelta(days=7)
_STARTS = (("AIS", 4), ("AIG", 8), ("AIL", 6), ("AIP", 6))
"""For each resource segment, the field with its start; duration and its unit are three and four fields on."""


class AppointmentTime(NamedTuple):
    """The start and end of an appointment."""

    start: str
    end: str

    @property
    def minutes(self) -> int:
        """Return the length in minutes."""
        return round((parse_instant(self.end) - parse_instant(self.start)) / timedelta(minutes=1))


def book(filing: Filing) -> None:
    """S12: book an appointment; a repeated message changes nothing."""
    _file_appointment(filing, _read_status(filing), may_be_new=True)


def alter(filing: Filing) -> None:
    """S13, S14: reschedule or modify an appointment."""
    _file_appointment(filing, _read_status(filing), may_be_new=False)


def cancel(filing: Filing) -> None:
    """S15, S16: cancel an appointment."""
    _close_appointment(filing, "cancelled")


def delete(filing: Filing) -> None:
    """S17: mark an appointment as entered in error."""
    _close_appointment(filing, "entered-in-error")


def record_no_show(filing: Filing) -> None:
    """S26: record that the patient did not come."""
    _close_appointment(filing, "noshow")


def _read_status(filing: Filing) -> str:
    code = read_text(_sch(filing), 25).upper()
    if code and code not in _STATUSES:
        raise refusal(422, "code-invalid", f"SCH-25: unknown status `{code[:40]}` (expected: {', '.join(_STATUSES)})")
    return _STATUSES.get(code, "booked")


def _sch(filing: Filing) -> Segment:
    return filing.require_segment("SCH", "appointment")


def _read_numbers(filing: Filing) -> list[Hl7Identifier]:
    """Read the filler's number (SCH-2) and the placer's (SCH-1)."""
    types = ((2, "FILL"), (1, "PLAC"))
    parsed = [
        parse_ei(each, filing.authorities, type) for at, type in types for each in read_repetitions(_sch(filing), at)
    ]
    numbers = [number for number in parsed if number.value]
    if not numbers:
        raise refusal(422, "required", "SCH-1 and SCH-2 (appointment numbers) are missing")
    return numbers


def _find_appointment(filing: Filing, patient: Resource) -> Resource | None:
    numbers = _read_numbers(filing)
    appointment = find_by_identifiers(filing, "Appointment", numbers)
    if appointment is not None and get_key(patient) not in _actors(appointment):
        detail = f"appointment {numbers[0]} ({get_key(appointment)}) does not belong to {get_key(patient)}"
        raise refusal(409, "conflict", f"{detail}, which PID-3 names")
    return appointment


def _actors(appointment: Resource) -> list[str]:
    return [each.get("actor", {}).get("reference", "") for each in appointment.get("participant", ())]


def _require_appointment(filing: Filing, patient: Resource) -> Resource:
    appointment = _find_appointment(filing, patient)
    if appointment is None:
        numbers = " or ".join(str(number) for number in _read_numbers(filing))
        raise refusal(404, "not-found", f"{get_key(patient)} has no appointment {numbers} of SCH")
    return appointment


def _close_appointment(filing: Filing, status: str) -> None:
    patient = require_patient(filing, filing.message.first("PID"))
    appointment = _require_appointment(filing, patient)
    if status != "entered-in-error":
        _refuse_closed(appointment, status, filing)
    if status != "noshow":
        for slot in _slots_of(filing, appointment):
            filing.write({**slot, "status": "free"})
    remaining = {name: value for name, value in appointment.items() if name != "slot" or status == "noshow"}
    reason = to_concept(read_repetition(_sch(filing), 6)) if status == "cancelled" else None
    filing.write(
        drop_empty({**remaining, "status": status, "cancelationReason": reason or appointment.get("cancelationReason")})
    )


def _refuse_closed(appointment: Resource, status: str, filing: Filing) -> None:
    """Refuse to change an appointment that is over."""
    before = appointment.get("status")
    if before in _CLOSED and before != status:
        raise refusal(
            409, "conflict", f"{get_key(appointment)} is {before}: {filing.operation} cannot make it {status}"
        )


def _slots_of(filing: Filing, appointment: Resource) -> list[Resource]:
    return filing.get_resources(each.get("reference", "") for each in appointment.get("slot", ()))


def _file_appointment(filing: Filing, status: str, *, may_be_new: bool) -> None:
    patient = require_patient(filing, filing.message.first("PID"))
    existing = _find_appointment(filing, patient) if may_be_new else _require_appointment(filing, patient)
    if existing is not None:
        _refuse_closed(existing, status, filing)
    base: Resource = existing or {"resourceType": "Appointment", "id": filing.new_id("Appointment")}
    people = _build_participants(filing, patient, base)
    doctors = [key for key in _actors({"participant": people}) if key.startswith("Practitioner/")]
    span = _read_appointment_time(filing, base, doctors)
    slots = _book_slots(filing, base, doctors, span) if status in ("booked", "pending", "arrived") else []
    sch, created = _sch(filing), read_time(read_repetition(filing.message.header, 7), filing.zone)
    reason, type = to_concept(read_repetition(sch, 7)), to_concept(read_repetition(sch, 8), _TYPES)
    service = [each for ais in filing.message.all("AIS") if (each := to_concept(read_repetition(ais, 3))) is not None]
    appointment = {
        **base,
        "identifier": add_identifiers(base, [each for each in _read_numbers(filing) if each.value != base["id"]]),
        "status": status,
        "serviceType": service or base.get("serviceType"),
        "appointmentType": type or base.get("appointmentType"),
        "reasonCode": [reason] if reason is not None else base.get("reasonCode"),
        "comment": join_notes(filing.message.all("NTE")) or base.get("comment"),
        "created": base.get("created") or (created.text if created is not None else None),
        "start": span.start,
        "end": span.end,
        "minutesDuration": span.minutes,
        "slot": [{"reference": get_key(each)} for each in slots],
        "participant": people,
    }
    filing.write(drop_empty(appointment))


def _build_participants(filing: Filing, patient: Resource, base: Resource) -> list[dict[str, Any]]:
    """Build the participants: the patient, and those of AIP and AIL. Types that the message lacks are kept."""
    message = filing.message
    doctors = [each for aip in message.all("AIP") for each in build_practitioners(filing, aip, 3)]
    places = [
        place
        for ail in message.all("AIL")
        for each in read_repetitions(ail, 3)
        if (place := build_location(filing, each))
    ]
    new = [{"actor": each, "required": "required", "status": "accepted"} for each in (*doctors, *places)]
    existing = [each for each in base.get("participant", ()) if _is_kept(each, bool(doctors), bool(places))]
    first = [each for each in existing if each.get("actor", {}).get("reference") == get_key(patient)]
    others = [each for each in existing if each not in first]
    patient_participant = {"actor": build_subject(patient), "required": "required", "status": "accepted"}
    return [*(first or [patient_participant]), *new, *others]


def _is_kept(participant: dict[str, Any], doctors: bool, places: bool) -> bool:
    key = participant.get("actor", {}).get("reference", "")
    if key.startswith("Location/"):
        return not places
    return key.startswith("Patient/") or not (doctors if key.startswith("Practitioner") else doctors or places)


def _read_appointment_time(filing: Filing, base: Resource, doctors: list[str]) -> AppointmentTime:
    """Read start and end from SCH-11, TQ1 or a resource segment.

    Without an end, use the duration, the length of the slot, or the previous length.
    """
    start, end = _read_start_and_end(filing)
    if start is None:
        if "start" not in base or "end" not in base:
            raise refusal(422, "required", "SCH-11, TQ1-7 and AIS-4 (start) are missing")
        return AppointmentTime(base["start"], base["end"])
    if not start.is_exact:
        raise refusal(422, "value", f"the start of an appointment needs a time of day: `{start.text}`")
    if end is not None and end.is_exact:
        last, end_text = end.at, end.text
    else:
        last = start.at + (_read_duration(filing) or _default_duration(filing, base, doctors, start))
        end_text = last.isoformat()
    if not timedelta(0) < last - start.at <= _MAX_DURATION:
        raise refusal(422, "value", f"an appointment from {start.text} to {end_text} is not possible")
    return AppointmentTime(start.text, end_text)


def _read_start_and_end(filing: Filing) -> tuple[MessageTime | None, MessageTime | None]:
    timing = read_repetition(_sch(filing), 11)
    start = read_time(timing, filing.zone, 4)
    if start is not None:
        return start, read_time(timing, filing.zone, 5)
    for tq1 in filing.message.all("TQ1"):
        if read_repetition(tq1, 7) is not None:
            return read_time(read_repetition(tq1, 7), filing.zone), read_time(read_repetition(tq1, 8), filing.zone)
    for name, field in _STARTS:
        for segment in filing.message.all(name):
            if read_repetition(segment, field) is not None:
                return read_time(read_repetition(segment, field), filing.zone), None
    return None, None


def _read_duration(filing: Filing) -> timedelta | None:
    """Read the duration: SCH-9 in the unit of SCH-10, else that of a resource segment."""
    fields = [(_sch(filing), 9)]
    fields += [(segment, field + 3) for name, field in _STARTS for segment in filing.message.all(name)]
    for segment, field in fields:
        value, unit = read_text(segment, field), read_text(segment, field + 1).upper()
        if value:
            if not value.isascii() or not value.isdigit() or len(value) > 5 or unit not in _UNITS:
                detail = f"`{value[:20]}` in `{unit[:20]}`"
                raise refusal(
                    422, "value", f"{segment.name}-{field}: {detail} is not a duration (expected: minutes, MIN)"
                )
            return timedelta(minutes=int(value) * _UNITS[unit])
    return None


def _default_duration(filing: Filing, base: Resource, doctors: list[str], start: MessageTime) -> timedelta:
    if "start" in base and "end" in base:
        return parse_instant(base["end"]) - parse_instant(base["start"])
    for slot in _find_slots(filing, doctors, start.at, start.at + timedelta(seconds=1)):
        if "end" in slot:
            return parse_instant(slot["end"]) - parse_instant(slot["start"])
    raise refusal(422, "required", "SCH-9 (duration) and the end in SCH-11 are missing")


def _find_slots(filing: Filing, doctors: list[str], start: datetime, end: datetime) -> list[Resource]:
    """Return the slots in the schedules of some clinicians that begin within a time, free or busy."""
    slots: list[Resource] = []
    for doctor in doctors:
        within = (("start", f"ge{start.isoformat()}"), ("start", f"lt{end.isoformat()}"))
        slots += filing.find("Slot", ("schedule.actor", doctor), *within)
    return slots


def _book_slots(filing: Filing, base: Resource, doctors: list[str], span: AppointmentTime) -> list[Resource]:
    """Mark the slots of an appointment as busy, and those that it no longer has as free."""
    before = {get_key(each): each for each in _slots_of(filing, base)}
    needed = {
        get_key(each): each for each in _find_slots(filing, doctors, parse_instant(span.start), parse_instant(span.end))
    }
    overbooked = read_text(_sch(filing), 25).upper() == "OVERBOOK"
    for key, slot in needed.items():
        if key not in before and slot.get("status") != "free" and not overbooked:
            raise refusal(409, "conflict", f"{key} is {slot.get('status')}: no free slot at {span.start}")
    for key, slot in before.items():
        if key not in needed:
            filing.write({**slot, "status": "free"})
    slots = list(needed.values())
    return [filing.write({**slot, "status": "busy"}) if slot.get("status") == "free" else slot for slot in slots]


SIU = map_triggers({book: "S12", alter: "S13 S14", cancel: "S15 S16", delete: "S17", record_no_show: "S26"})
