"""Merge, link and unlink patients. After a merge the surviving record has all that the other one had."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from clerkship.fhir.reference import iter_references
from clerkship.fhir.resource import Resource, get_key
from clerkship.fhir.search.find import list_compartment_keys
from clerkship.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.filing import Filing
from clerkship.reactions.hl7_to_fhir.people import find_patient, patient_of, subject, unknown
from clerkship.simulators.fhir.outcome import refusal

_OF_RECORD = frozenset({"AuditEvent", "Patient", "Provenance"})
"""Not moved by a merge: these record the past, or who else a patient is."""
_BESIDE = (("Task", "subject"), ("Task", "owner"), ("Task", "requester"), ("Device", "patient"))
"""References to a patient from outside of the patient compartment (R4 CompartmentDefinition patient)."""


def merge(filing: Filing) -> None:
    """A18, A34, A39, A40: merge the patient of each MRG into the patient of the PID before it."""
    pairs = list(_pairs(filing, "MRG"))
    if not pairs:
        raise refusal(422, "required", "the message has no MRG after a PID: nobody can know who is merged into whom")
    for pid, mrg in pairs:
        staying = patient_of(filing, pid)
        going = find_patient(filing, mrg, 1)
        if going is None:
            raise unknown(filing, mrg, 1)
        if get_key(going) == get_key(staying):  # they were merged before, or are one anyway
            filing.write(staying)
        else:
            _merge(filing, staying, going)


def _pairs(filing: Filing, name: str) -> Iterator[tuple[Segment, Segment]]:
    pid: Segment | None = None
    for segment in filing.message.segments:
        if segment.name == name and pid is not None:
            yield pid, segment
        if segment.name == "PID":
            pid = segment


def _merge(filing: Filing, staying: Resource, going: Resource) -> None:
    for resource in _moving(filing, get_key(going)):
        moved = deepcopy(resource)
        for _, holder in iter_references(moved):
            if holder["reference"] == get_key(going):
                holder.update(subject(staying))
        filing.write(moved)
    old = [{**each, "use": "old"} for each in going.get("identifier", ())]
    held = [(each.get("system"), each.get("value")) for each in staying.get("identifier", ())]
    numbers = [each for each in old if (each.get("system"), each.get("value")) not in held]
    filing.write({**going, "active": False, "link": _linked(going, staying, "replaced-by")})
    stays = {**staying, "link": _linked(staying, going, "replaces")}
    if numbers or "identifier" in staying:
        stays["identifier"] = [*staying.get("identifier", ()), *numbers]
    filing.write(stays)


def _moving(filing: Filing, key: str) -> list[Resource]:
    """Return all resources that refer to a patient; refused if there are more than one message may move."""
    keys = [each for each in list_compartment_keys(filing.draft, "Patient", key.partition("/")[2]) if each != key]
    for type, parameter in _BESIDE:
        keys += [get_key(each) for each in filing.find(type, (parameter, key))]
    wanted = [each for each in dict.fromkeys(keys) if each.partition("/")[0] not in _OF_RECORD]
    most = filing.draft.settings.max_entries
    if len(wanted) > most:
        raise refusal(413, "too-costly", f"{len(wanted)} resources are {key}'s; this server moves {most} at once")
    return filing.resources(wanted)


def _linked(patient: Resource, other: Resource, type: str) -> list[dict[str, Any]]:
    held = [each for each in patient.get("link", ()) if each.get("other", {}).get("reference") != get_key(other)]
    return [*held, {"other": {"reference": get_key(other)}, "type": type}]


def link(filing: Filing) -> None:
    """A24: link two patients that may be one person; both records stay as they are."""
    one, other = _two(filing)
    filing.write({**one, "link": _linked(one, other, "seealso")})
    filing.write({**other, "link": _linked(other, one, "seealso")})


def unlink(filing: Filing) -> None:
    """A37: remove the link between two patients."""
    one, other = _two(filing)
    for patient, apart in ((one, other), (other, one)):
        rest = [
            each
            for each in patient.get("link", ())
            if (each.get("type"), each.get("other", {}).get("reference")) != ("seealso", get_key(apart))
        ]
        kept = {name: value for name, value in patient.items() if name != "link"}
        filing.write({**kept, "link": rest} if rest else kept)


def _two(filing: Filing) -> tuple[Resource, Resource]:
    pids = filing.message.all("PID")
    if len(pids) != 2:
        raise refusal(422, "required", f"{filing.operation} is about two patients, and there are {len(pids)} PID")
    one, other = (patient_of(filing, pid) for pid in pids)
    if get_key(one) == get_key(other):
        raise refusal(409, "conflict", f"both PID name {get_key(one)}")
    return one, other
