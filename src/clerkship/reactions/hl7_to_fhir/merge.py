"""Merge, link and unlink patients. After a merge the surviving record has all that the other one had."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from clerkship.formats.fhir.resource import Resource, get_key, iter_references
from clerkship.formats.fhir.search.find import list_compartment_keys
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.filing import Filing
from clerkship.reactions.hl7_to_fhir.people import (
    build_subject,
    build_unknown_patient_refusal,
    find_patient,
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
        for _, holder in iter_references(moved):
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
