"""ADT: file patients and their visits."""

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir import visit
from clerkship.reactions.hl7_to_fhir.fields import read_repetition
from clerkship.reactions.hl7_to_fhir.filing import Filing, map_triggers
from clerkship.reactions.hl7_to_fhir.merge import link, merge, unlink
from clerkship.reactions.hl7_to_fhir.patient import apply_pid
from clerkship.reactions.hl7_to_fhir.people import find_patient, has_current_number, refuse_duplicate, require_patient
from clerkship.reactions.hl7_to_fhir.times import read_time
from clerkship.simulators.fhir.outcome import refusal


def _pid(filing: Filing) -> Segment:
    return filing.require_segment("PID", "patient")


def _pv1(filing: Filing) -> Segment | None:
    return filing.message.first("PV1")


def _register_patient(filing: Filing) -> Resource:
    """Create the patient of the message, or update the one that the chart has."""
    pid = _pid(filing)
    patient = find_patient(filing, pid)
    if patient is not None:
        return _apply_pid(filing, pid, patient)
    refuse_duplicate(filing, pid)
    return filing.write(apply_pid(filing, pid, None))


def _update_patient(filing: Filing) -> Resource:
    pid = _pid(filing)
    return _apply_pid(filing, pid, require_patient(filing, pid))


def _apply_pid(filing: Filing, pid: Segment, patient: Resource) -> Resource:
    """Update a patient, unless the PID has only a number from before a merge, and so describes the old record."""
    return filing.write(apply_pid(filing, pid, patient) if has_current_number(filing, patient, pid) else patient)


def add_person(filing: Filing) -> None:
    """A28: create or update the patient alone."""
    _register_patient(filing)


def admit(filing: Filing) -> None:
    """A01, A04: begin a visit."""
    patient, pv1 = _register_patient(filing), _pv1(filing)
    start = read_time(read_repetition(pv1, 44), filing.zone) or visit.read_event_time(filing)
    begun = visit.start_visit(filing, patient, pv1, "in-progress", start)
    filing.write(visit.move_visit(filing, pv1, begun, start))


def preadmit(filing: Filing) -> None:
    """A05: plan a visit."""
    patient, pv1 = _register_patient(filing), _pv1(filing)
    start = read_time(read_repetition(filing.message.first("PV2"), 8), filing.zone) or read_time(
        read_repetition(pv1, 44), filing.zone
    )
    filing.write(visit.start_visit(filing, patient, pv1, "planned", start))


def transfer(filing: Filing) -> None:
    """A02: move the patient to another place."""
    patient, pv1 = _update_patient(filing), _pv1(filing)
    if read_repetition(pv1, 3) is None:
        raise refusal(422, "required", "PV1-3 (new location) is missing")
    _move(filing, patient, pv1)


def reclassify(filing: Filing) -> None:
    """A06, A07: change an outpatient to an inpatient, or the reverse."""
    _move(filing, _update_patient(filing), _pv1(filing))


def _move(filing: Filing, patient: Resource, pv1: Segment | None) -> None:
    encounter = visit.require_visit(filing, patient, pv1, "in-progress")
    _require_status(encounter, "in-progress", filing)
    filing.write(
        visit.move_visit(filing, pv1, visit.update_visit(filing, pv1, encounter), visit.read_event_time(filing))
    )


def discharge(filing: Filing) -> None:
    """A03: end a visit."""
    patient, pv1 = _update_patient(filing), _pv1(filing)
    encounter = visit.require_visit(filing, patient, pv1, "in-progress")
    at = read_time(read_repetition(pv1, 45), filing.zone) or visit.read_event_time(filing)
    if encounter.get("status") != "finished":
        _require_status(encounter, "in-progress", filing)
        encounter = visit.end_visit(encounter, at)
    filing.write(visit.update_visit(filing, pv1, encounter))


def update(filing: Filing) -> None:
    """A08, A31: update what the message contains; a visit that is not in the chart is ignored."""
    patient, pv1 = _update_patient(filing), _pv1(filing)
    encounter = visit.find_visit(filing, patient, pv1)
    if encounter is not None:
        filing.write(visit.update_visit(filing, pv1, encounter))


def cancel_admission(filing: Filing) -> None:
    """A11, A38: cancel a visit that has begun or is planned."""
    patient = require_patient(filing, _pid(filing))
    encounter = visit.require_visit(filing, patient, _pv1(filing), "in-progress", "planned")
    if encounter.get("status") != "cancelled":
        _require_status(encounter, "in-progress", filing, "planned")
    filing.write({**encounter, "status": "cancelled"})


def cancel_discharge(filing: Filing) -> None:
    """A13: cancel the end of a visit."""
    patient = require_patient(filing, _pid(filing))
    encounter = visit.require_visit(filing, patient, _pv1(filing), "finished")
    if encounter.get("status") != "in-progress":
        _require_status(encounter, "finished", filing)
        encounter = visit.reopen_visit(encounter)
    filing.write(encounter)


def _require_status(encounter: Resource, status: str, filing: Filing, other: str = "") -> None:
    if encounter.get("status") not in (status, other):
        raise refusal(
            409,
            "conflict",
            f"{get_key(encounter)} is {encounter.get('status')}, and {filing.operation} is about one that is {status}",
        )


ADT = map_triggers(
    {
        admit: "A01 A04",
        transfer: "A02",
        discharge: "A03",
        preadmit: "A05",
        reclassify: "A06 A07",
        update: "A08 A31",
        cancel_admission: "A11 A38",
        cancel_discharge: "A13",
        merge: "A18 A34 A39 A40",
        link: "A24",
        add_person: "A28",
        unlink: "A37",
    }
)
