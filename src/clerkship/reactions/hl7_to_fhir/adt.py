"""ADT: file patients and their visits."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from clerkship.formats.fhir.resource import Resource, get_key, list_references
from clerkship.formats.fhir.search.find import list_compartment_keys
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir import visit
from clerkship.reactions.hl7_to_fhir.fields import read_repetition, read_time
from clerkship.reactions.hl7_to_fhir.filing import Filing, map_triggers
from clerkship.reactions.hl7_to_fhir.patient import apply_pid
from clerkship.reactions.hl7_to_fhir.people import (
    build_subject,
    build_unknown_patient_refusal,
    find_patient,
    has_current_number,
    refuse_duplicate,
    require_patient,
)
from clerkship.simulators.fhir.outcome import refusal

_NOT_MOVED = frozenset({"AuditEvent", "Patient", "Provenance"})
"""Not moved by a merge: these record the past, or who else a patient is."""
_OUTSIDE_COMPARTMENT = (("Task", "subject"), ("Task", "owner"), ("Task", "requester"), ("Device", "patient"))
"""References to a patient from outside of the patient compartment (R4 CompartmentDefinition patient)."""


def merge(filing: Filing) -> None:
    """A18, A34, A39, A40: merge the patient of each MRG into the patient of the PID before it."""
    pairs = list(_pair_segments(filing, "MRG"))
    if not pairs:
        raise refusal(422, "required", "the message has no MRG segment after a PID")
    for pid, mrg in pairs:
        survivor = require_patient(filing, pid)
        merged = find_patient(filing, mrg, 1)
        if merged is None:
            raise build_unknown_patient_refusal(filing, mrg, 1)
        if get_key(merged) == get_key(survivor):  # already merged, or the same record
            filing.write(survivor)
        else:
            _merge(filing, survivor, merged)


def _pair_segments(filing: Filing, name: str) -> Iterator[tuple[Segment, Segment]]:
    pid: Segment | None = None
    for segment in filing.message.segments:
        if segment.name == name and pid is not None:
            yield pid, segment
        if segment.name == "PID":
            pid = segment


def _merge(filing: Filing, survivor: Resource, merged: Resource) -> None:
    for resource in _find_referring(filing, get_key(merged)):
        moved = deepcopy(resource)
        for _, holder in list_references(moved):
            if holder["reference"] == get_key(merged):
                holder.update(build_subject(survivor))
        filing.write(moved)
    old = [{**each, "use": "old"} for each in merged.get("identifier", ())]
    known = [(each.get("system"), each.get("value")) for each in survivor.get("identifier", ())]
    numbers = [each for each in old if (each.get("system"), each.get("value")) not in known]
    filing.write({**merged, "active": False, "link": _add_link(merged, survivor, "replaced-by")})
    updated = {**survivor, "link": _add_link(survivor, merged, "replaces")}
    if numbers or "identifier" in survivor:
        updated["identifier"] = [*survivor.get("identifier", ()), *numbers]
    filing.write(updated)


def _find_referring(filing: Filing, key: str) -> list[Resource]:
    """Return all resources that refer to a patient; refused if there are more than one message may move."""
    keys = [each for each in list_compartment_keys(filing.transaction, "Patient", key.partition("/")[2]) if each != key]
    for type, parameter in _OUTSIDE_COMPARTMENT:
        keys += [get_key(each) for each in filing.find(type, (parameter, key))]
    moved_keys = [each for each in dict.fromkeys(keys) if each.partition("/")[0] not in _NOT_MOVED]
    limit = filing.transaction.settings.max_entries
    if len(moved_keys) > limit:
        raise refusal(
            413, "too-costly", f"{len(moved_keys)} resources refer to {key}; this server moves {limit} at once"
        )
    return filing.get_resources(moved_keys)


def _add_link(patient: Resource, other: Resource, type: str) -> list[dict[str, Any]]:
    links = [each for each in patient.get("link", ()) if each.get("other", {}).get("reference") != get_key(other)]
    return [*links, {"other": {"reference": get_key(other)}, "type": type}]


def link(filing: Filing) -> None:
    """A24: link two patients that may be one person; both records stay as they are."""
    first, second = _read_two_patients(filing)
    filing.write({**first, "link": _add_link(first, second, "seealso")})
    filing.write({**second, "link": _add_link(second, first, "seealso")})


def unlink(filing: Filing) -> None:
    """A37: remove the link between two patients."""
    first, second = _read_two_patients(filing)
    for patient, linked in ((first, second), (second, first)):
        links = [
            each
            for each in patient.get("link", ())
            if (each.get("type"), each.get("other", {}).get("reference")) != ("seealso", get_key(linked))
        ]
        unlinked = {name: value for name, value in patient.items() if name != "link"}
        filing.write({**unlinked, "link": links} if links else unlinked)


def _read_two_patients(filing: Filing) -> tuple[Resource, Resource]:
    pids = filing.message.all("PID")
    if len(pids) != 2:
        raise refusal(422, "required", f"{filing.operation} needs two PID segments, not {len(pids)}")
    first, second = (require_patient(filing, pid) for pid in pids)
    if get_key(first) == get_key(second):
        raise refusal(409, "conflict", f"both PID name {get_key(first)}")
    return first, second


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
