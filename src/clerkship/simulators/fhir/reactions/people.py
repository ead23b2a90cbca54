"""Who a message is about, and who else it names: in the chart, or as they are called."""

import re
import unicodedata
from typing import Any

from clerkship.fhir.resource import Resource, key_of
from clerkship.fhir.wording import human_name, words
from clerkship.hl7.message import Segment
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.reactions.filing import Filing, escaped, trimmed
from clerkship.simulators.fhir.reactions.numbers import Number, numbered, of_cx, of_xcn
from clerkship.simulators.fhir.reactions.parts import Part, part, parts
from clerkship.simulators.fhir.reactions.times import read_time

_MOST_LINKS = 20
_USES = {
    "L": "official",
    "D": "usual",
    "M": "maiden",
    "N": "nickname",
    "S": "anonymous",
    "BAD": "old",
    "T": "temp",
    "B": "maiden",
}
"""HL7 table 0200, as far as FHIR has a use for it."""


def patient_of(filing: Filing, pid: Segment | None) -> Resource:
    """The patient that a message is about, who must be in the chart."""
    found = find_patient(filing, pid)
    if found is None:
        raise unknown(filing, pid)
    return found


def unknown(filing: Filing, pid: Segment | None, field: int = 3) -> Exception:
    """That nobody in the chart is meant."""
    told = " or ".join(str(number) for number in _numbers(filing, pid, field))
    who = f": {_called(pid)}" if pid is not None and field == 3 and _called(pid) else ""
    name = pid.name if pid is not None else "PID"
    return refusal(404, "not-found", f"nobody in this chart has the number {told} of {name}-{field}{who}")


def find_patient(filing: Filing, pid: Segment | None, field: int = 3) -> Resource | None:
    """Whose number PID-3 (or MRG-1) has; None for nobody. Whoever it cannot be is refused."""
    numbers = _numbers(filing, pid, field)
    found = {key_of(each): each for number in numbers for each in _holders(filing, number)}
    found = {key_of(each): each for each in (_surviving(filing, one) for one in found.values())}
    if len(found) > 1:
        told = " and ".join(str(number) for number in numbers)
        raise refusal(412, "multiple-matches", f"{told} mean several patients: {', '.join(sorted(found))}")
    resource = next(iter(found.values()), None)
    if resource is not None and pid is not None and field == 3:
        _recognised(filing, resource, pid)
    return resource


def _numbers(filing: Filing, pid: Segment | None, field: int) -> list[Number]:
    found = [of_cx(each, filing.authorities) for each in parts(pid, field)]
    numbers = [number for number in found if number.value]
    if not numbers:
        name = pid.name if pid is not None else "PID"
        raise refusal(422, "required", f"{name}-{field} has no number: nobody can know who is meant")
    return numbers


def _holders(filing: Filing, number: Number) -> list[Resource]:
    found = [each for each in filing.find("Patient", ("identifier", escaped(number.value))) if number.is_in(each)]
    if not found and number.type in ("", "PI"):  # the chart's own id, which is what a PI is
        own = filing.there("Patient", number.value)
        found = [own] if own is not None else []
    return found


def _surviving(filing: Filing, patient: Resource) -> Resource:
    """Who a patient that was merged into another is now."""
    for _ in range(_MOST_LINKS):
        link = next((each for each in patient.get("link", ()) if each.get("type") == "replaced-by"), None)
        key = link.get("other", {}).get("reference", "") if link is not None else ""
        other = filing.draft.resource(key) if key.startswith("Patient/") else None
        if other is None:
            return patient
        patient = other
    return patient


def _recognised(filing: Filing, patient: Resource, pid: Segment) -> None:
    """A number that leads to somebody of another name, born on another day, was mistyped: that is not their message."""
    born = read_time(part(pid, 7), filing.zone)
    held = patient.get("birthDate")
    names = [name for each in parts(pid, 5) if (name := human(each)).get("family")]
    if born is None or not held or not names or not patient.get("name"):
        return
    length = min(len(born.date), len(held))
    if born.date[:length] == held[:length] or any(_alike(new, old) for new in names for old in patient["name"]):
        return
    raise refusal(
        409,
        "conflict",
        f"PID-3 names {key_of(patient)}, who is {words(patient['name'])}, born {held}; PID-5 and PID-7 say "
        f"{_called(pid)}: this is somebody else, and nothing was filed",
    )


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """The same family name, and the same first name as far as both have one (an initial will do)."""
    if _folded(one.get("family", "")) != _folded(other.get("family", "")):
        return False
    mine, theirs = (_folded(next(iter(name.get("given", ())), "")) for name in (one, other))
    return not mine or not theirs or mine.startswith(theirs) or theirs.startswith(mine)


def _folded(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).casefold()
    return re.sub(r"[\W_]", "", "".join(sign for sign in plain if not unicodedata.combining(sign)))


def _called(pid: Segment) -> str:
    name = part(pid, 5)
    told = human_name(human(name)) if name is not None else ""
    born = part(pid, 7)
    when = born.text(1, 1) if born is not None else ""
    return ", ".join(filter(None, (told[:100], f"born {when[:20]}" if when else "")))


def human(found: Part) -> dict[str, Any]:
    """An XPN as a HumanName."""
    given = [found.text(2), *found.text(3).split()]
    name = {
        "use": _USES.get(found.text(7).upper(), ""),
        "family": found.text(1, 1),
        "given": [each for each in given if each],
        "prefix": [found.text(5)] if found.text(5) else [],
        "suffix": [each for each in (found.text(4), found.text(6)) if each],
    }
    return trimmed(name)


def subject(patient: Resource) -> dict[str, Any]:
    """A reference to a patient, with what they are called."""
    return trimmed({"reference": key_of(patient), "display": words(patient.get("name"))})


def practitioner(filing: Filing, found: Part) -> dict[str, Any]:
    """A reference to whom an XCN names; where the chart does not know them, by name alone."""
    number = of_xcn(found, filing.authorities)
    known = numbered(filing, "Practitioner", [number]) if number.value else None
    if known is not None:
        return trimmed({"reference": key_of(known), "display": words(known.get("name"))})
    name = trimmed({"family": found.text(2, 1), "given": [found.text(3)] if found.text(3) else []})
    told = human_name({**name, "prefix": [found.text(6)], "suffix": [found.text(7, 1)]})
    return trimmed({"identifier": number.identifier() if number.value else {}, "display": told})


def practitioners(filing: Filing, segment: Segment | None, *fields: int) -> list[dict[str, Any]]:
    """Those that the first of some fields names which names any."""
    for field in fields:
        found = [reference for each in parts(segment, field) if (reference := practitioner(filing, each))]
        if found:
            return found
    return []


def organization(filing: Filing, name: str) -> dict[str, Any]:
    """A reference to an organization of a name; where the chart does not know it, by name alone."""
    known = filing.find("Organization", ("name:exact", escaped(name)))
    return {"reference": key_of(known[0]), "display": name} if len(known) == 1 else {"display": name}


def location(filing: Filing, found: Part) -> dict[str, Any]:
    """A reference to where a PL is: by its number, its name or the chart's id; else as it is called."""
    point = found.text(1, 1)
    known = numbered(filing, "Location", [Number(point)]) if point else None
    if known is None and point:
        named = filing.find("Location", ("name:exact", escaped(point)))
        known = named[0] if len(named) == 1 else None
    beds = [f"{word} {found.text(number, 1)}" for number, word in ((2, "room"), (3, "bed")) if found.text(number, 1)]
    base = words(known.get("name")) if known is not None else point or found.text(9) or found.text(4, 1)
    display = ", ".join(filter(None, (base, *beds)))
    return trimmed({"reference": key_of(known) if known is not None else "", "display": display})
