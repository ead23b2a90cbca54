"""Find the patient of a message, and the clinicians, organizations and places that it names."""

from typing import Any

from clerkship.fhir.display_text import format_human_name, to_text
from clerkship.fhir.resource import Resource, get_key
from clerkship.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.filing import Filing, escaped, trimmed
from clerkship.reactions.hl7_to_fhir.numbers import Number, numbered, of_cx, of_xcn
from clerkship.reactions.hl7_to_fhir.parts import Part, parts
from clerkship.reactions.hl7_to_fhir.recognition import Told, described, likeness, told_of
from clerkship.simulators.fhir.outcome import refusal

_MAX_LINKS = 20


def patient_of(filing: Filing, pid: Segment | None) -> Resource:
    """Find the patient of a message; refused if the chart does not have them."""
    found = find_patient(filing, pid)
    if found is None:
        raise unknown(filing, pid)
    return found


def unknown(filing: Filing, pid: Segment | None, field: int = 3) -> Exception:
    """Build the refusal for a number that no patient has."""
    told = " or ".join(str(number) for number in _numbers(filing, pid, field))
    who = str(told_of(filing, pid))
    name = pid.name if pid is not None else "PID"
    return refusal(
        404, "not-found", f"nobody in this chart has the number {told} of {name}-{field}{f': {who}' if who else ''}"
    )


def find_patient(filing: Filing, pid: Segment | None, field: int = 3) -> Resource | None:
    """Find the patient with a number of PID-3 (or MRG-1), or None; refused if name, birth date or sex contradict."""
    numbers, told = _numbers(filing, pid, field), told_of(filing, pid)
    found: dict[str, list[Resource]] = {}
    for number in numbers:
        for each in _holders(filing, number, told):
            line = _line(filing, each)
            found.setdefault(get_key(line[-1]), []).extend(line)
    if len(found) > 1:
        said = " and ".join(str(number) for number in numbers)
        raise refusal(409, "multiple-matches", f"{said} mean several patients: {', '.join(sorted(found))}")
    records = next(iter(found.values()), None)
    if records is None:
        return None
    if not any(likeness(each, told).is_possible for each in records):
        raise _mistaken(records[-1], told, f"{pid.name if pid is not None else 'PID'}-{field}")
    return records[-1]


def _numbers(filing: Filing, pid: Segment | None, field: int) -> list[Number]:
    found = [of_cx(each, filing.authorities) for each in parts(pid, field)]
    numbers = [number for number in found if number.value]
    if not numbers:
        name = pid.name if pid is not None else "PID"
        raise refusal(422, "required", f"{name}-{field} has no number: nobody can know who is meant")
    return numbers


def _holders(filing: Filing, number: Number, told: Told) -> list[Resource]:
    """Return the patients with a number. If its authority is unknown, name or birth date must confirm it."""
    found = [each for each in filing.with_number("Patient", number.value) if number.is_in(each)]
    if not number.type:  # whoever does not say means a patient's number, where there is one
        found = [each for each in found if number._replace(type="MR").is_in(each)] or found
    if not found and number.type in ("", "PI"):  # the chart's own id, which is what a PI is
        own = filing.there("Patient", number.value)
        is_ours = own is not None and (not (number.namespace or number.system) or likeness(own, told).is_certain)
        return [own] if own is not None and is_ours else []
    return [each for each in found if not number.is_strange_in(each) or likeness(each, told).is_certain]


def _line(filing: Filing, patient: Resource) -> list[Resource]:
    """Return a patient and those that they were merged into, in order; the last is the current record."""
    found = [patient]
    for _ in range(_MAX_LINKS):
        link = next((each for each in found[-1].get("link", ()) if each.get("type") == "replaced-by"), None)
        key = link.get("other", {}).get("reference", "") if link is not None else ""
        other = filing.draft.resource(key) if key.startswith("Patient/") else None
        if other is None:
            break
        found.append(other)
    return found


def _mistaken(patient: Resource, told: Told, where: str) -> Exception:
    """Build the refusal for a number that belongs to a patient of another name, birth date or sex."""
    named = f"{where} names {get_key(patient)}, who is {described(patient)}"
    said = f"{told.where} {told}{f', {told.sex}' if told.sex else ''}"
    return refusal(409, "conflict", f"{named}; {said}: this is somebody else, and nothing was filed")


def goes_by(filing: Filing, patient: Resource, pid: Segment) -> bool:
    """Return whether a PID has a current number of a patient, not only one from before a merge."""
    now = {**patient, "identifier": [each for each in patient.get("identifier", ()) if each.get("use") != "old"]}
    numbers = _numbers(filing, pid, 3)
    return any(number.value == patient["id"] or number.is_in(now) for number in numbers)


def must_be_new(filing: Filing, pid: Segment) -> None:
    """Refuse to register a patient if one with the same name or birth date has the same number of another type."""
    told = told_of(filing, pid)
    for number in _numbers(filing, pid, 3):
        for each in filing.with_number("Patient", number.value):
            like = likeness(each, told)
            if like.name or like.is_day:
                raise refusal(
                    409,
                    "duplicate",
                    f"{get_key(each)}, who is {described(each)}, has the number `{number.value[:60]}` of another sort, "
                    f"and PID-3 has it as {number} of {told}: a second chart of one person is not begun",
                )


def must_be_of(patient: Resource, found: Resource | None, named: str) -> Resource | None:
    """Return what a message names, if the chart has it; refused if it is another patient's."""
    if found is not None and found.get("subject", {}).get("reference") != get_key(patient):
        whose = found.get("subject", {}).get("reference", "nobody")
        raise refusal(409, "conflict", f"{named} is {whose}'s {get_key(found)}, and PID-3 names {get_key(patient)}")
    return found


def subject(patient: Resource) -> dict[str, Any]:
    """Build a reference to a patient, with their name."""
    return trimmed({"reference": get_key(patient), "display": to_text(patient.get("name"))})


def practitioner(filing: Filing, found: Part) -> dict[str, Any]:
    """Build a reference to the clinician of an XCN; by name alone if the chart does not have them."""
    number = of_xcn(found, filing.authorities)
    known = numbered(filing, "Practitioner", [number]) if number.value else None
    if known is not None:
        return trimmed({"reference": get_key(known), "display": to_text(known.get("name"))})
    name = trimmed({"family": found.text(2, 1), "given": [found.text(3)] if found.text(3) else []})
    told = format_human_name({**name, "prefix": [found.text(6)], "suffix": [found.text(7, 1)]})
    return trimmed({"identifier": number.identifier() if number.value else {}, "display": told})


def practitioners(filing: Filing, segment: Segment | None, *fields: int) -> list[dict[str, Any]]:
    """Return references to the clinicians of the first field that names any."""
    for field in fields:
        found = [reference for each in parts(segment, field) if (reference := practitioner(filing, each))]
        if found:
            return found
    return []


def organization(filing: Filing, name: str) -> dict[str, Any]:
    """Build a reference to an organization; by name alone if the chart does not have it."""
    known = filing.find("Organization", ("name:exact", escaped(name)))
    return {"reference": get_key(known[0]), "display": name} if len(known) == 1 else {"display": name}


def location(filing: Filing, found: Part) -> dict[str, Any]:
    """Build a reference to the place of a PL, found by number, id or name; by name alone if it is not in the chart."""
    point = found.text(1, 1)
    known = numbered(filing, "Location", [Number(point)]) if point else None
    if known is None and point:
        named = filing.find("Location", ("name:exact", escaped(point)))
        known = named[0] if len(named) == 1 else None
    beds = [f"{word} {found.text(number, 1)}" for number, word in ((2, "room"), (3, "bed")) if found.text(number, 1)]
    base = to_text(known.get("name")) if known is not None else point or found.text(9) or found.text(4, 1)
    display = ", ".join(filter(None, (base, *beds)))
    return trimmed({"reference": get_key(known) if known is not None else "", "display": display})
