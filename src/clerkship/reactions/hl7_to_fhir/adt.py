"""ADT: file patients and their visits."""

from clerkship.fhir.resource import Resource, get_key
from clerkship.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir import visit
from clerkship.reactions.hl7_to_fhir.filing import Filing, by_trigger
from clerkship.reactions.hl7_to_fhir.merge import link, merge, unlink
from clerkship.reactions.hl7_to_fhir.parts import part
from clerkship.reactions.hl7_to_fhir.patient import revised
from clerkship.reactions.hl7_to_fhir.people import find_patient, goes_by, must_be_new, patient_of
from clerkship.reactions.hl7_to_fhir.times import read_time
from clerkship.simulators.fhir.outcome import refusal


def _pid(filing: Filing) -> Segment:
    return filing.segment("PID", "who is meant")


def _pv1(filing: Filing) -> Segment | None:
    return filing.message.first("PV1")


def _registered(filing: Filing) -> Resource:
    """Create the patient of the message, or update the one that the chart has."""
    pid = _pid(filing)
    found = find_patient(filing, pid)
    if found is not None:
        return _revised(filing, pid, found)
    must_be_new(filing, pid)
    return filing.write(revised(filing, pid, None))


def _updated(filing: Filing) -> Resource:
    pid = _pid(filing)
    return _revised(filing, pid, patient_of(filing, pid))


def _revised(filing: Filing, pid: Segment, patient: Resource) -> Resource:
    """Update a patient, unless the PID has only a number from before a merge, and so describes the old record."""
    return filing.write(revised(filing, pid, patient) if goes_by(filing, patient, pid) else patient)


def add_person(filing: Filing) -> None:
    """A28: create or update the patient alone."""
    _registered(filing)


def admit(filing: Filing) -> None:
    """A01, A04: begin a visit."""
    patient, pv1 = _registered(filing), _pv1(filing)
    start = read_time(part(pv1, 44), filing.zone) or visit.happened(filing)
    begun = visit.begun(filing, patient, pv1, "in-progress", start)
    filing.write(visit.moved(filing, pv1, begun, start))


def preadmit(filing: Filing) -> None:
    """A05: plan a visit."""
    patient, pv1 = _registered(filing), _pv1(filing)
    start = read_time(part(filing.message.first("PV2"), 8), filing.zone) or read_time(part(pv1, 44), filing.zone)
    filing.write(visit.begun(filing, patient, pv1, "planned", start))


def transfer(filing: Filing) -> None:
    """A02: move the patient to another place."""
    patient, pv1 = _updated(filing), _pv1(filing)
    if part(pv1, 3) is None:
        raise refusal(422, "required", "PV1-3 is empty: nobody can know where the patient was taken")
    _move(filing, patient, pv1)


def reclassify(filing: Filing) -> None:
    """A06, A07: change an outpatient to an inpatient, or the reverse."""
    _move(filing, _updated(filing), _pv1(filing))


def _move(filing: Filing, patient: Resource, pv1: Segment | None) -> None:
    found = visit.visit_of(filing, patient, pv1, "in-progress")
    _must_be(found, "in-progress", filing)
    filing.write(visit.moved(filing, pv1, visit.told(filing, pv1, found), visit.happened(filing)))


def discharge(filing: Filing) -> None:
    """A03: end a visit."""
    patient, pv1 = _updated(filing), _pv1(filing)
    found = visit.visit_of(filing, patient, pv1, "in-progress")
    at = read_time(part(pv1, 45), filing.zone) or visit.happened(filing)
    if found.get("status") != "finished":
        _must_be(found, "in-progress", filing)
        found = visit.ended(found, at)
    filing.write(visit.told(filing, pv1, found))


def update(filing: Filing) -> None:
    """A08, A31: update what the message contains; a visit that is not in the chart is ignored."""
    patient, pv1 = _updated(filing), _pv1(filing)
    found = visit.find_visit(filing, patient, pv1)
    if found is not None:
        filing.write(visit.told(filing, pv1, found))


def cancel_admission(filing: Filing) -> None:
    """A11, A38: cancel a visit that has begun or is planned."""
    patient = patient_of(filing, _pid(filing))
    found = visit.visit_of(filing, patient, _pv1(filing), "in-progress", "planned")
    if found.get("status") != "cancelled":
        _must_be(found, "in-progress", filing, "planned")
    filing.write({**found, "status": "cancelled"})


def cancel_discharge(filing: Filing) -> None:
    """A13: cancel the end of a visit."""
    patient = patient_of(filing, _pid(filing))
    found = visit.visit_of(filing, patient, _pv1(filing), "finished")
    if found.get("status") != "in-progress":
        _must_be(found, "finished", filing)
        found = visit.reopened(found)
    filing.write(found)


def _must_be(found: Resource, status: str, filing: Filing, other: str = "") -> None:
    if found.get("status") not in (status, other):
        raise refusal(
            409,
            "conflict",
            f"{get_key(found)} is {found.get('status')}, and {filing.operation} is about one that is {status}",
        )


ADT = by_trigger(
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
