"""Convert PID to a Patient: an empty field changes nothing, HL7's null removes the element."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from clerkship.fhir.display_text import to_text
from clerkship.fhir.resource import Resource
from clerkship.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.codes import TERMINOLOGY, concept, hl7, mapped
from clerkship.reactions.hl7_to_fhir.filing import Filing, trimmed
from clerkship.reactions.hl7_to_fhir.numbers import SSN, Number, of_cx, with_numbers
from clerkship.reactions.hl7_to_fhir.parts import Part, is_null, part, parts, text
from clerkship.reactions.hl7_to_fhir.recognition import human
from clerkship.reactions.hl7_to_fhir.tables import code_table, term_table
from clerkship.reactions.hl7_to_fhir.times import read_time
from clerkship.simulators.fhir.outcome import refusal

_SEXES = code_table("0001")
"""HL7 table 0001."""
_MARRIED = term_table("0002")
"""HL7 table 0002. A (separated) is FHIR's L (legally separated); FHIR's A means annulled."""
_PLACES = {"H": "home", "P": "home", "L": "home", "B": "work", "O": "work", "C": "temp", "V": "temp", "BA": "old"}
"""HL7 table 0190."""
_REACHED = {13: ("home", "mobile", None), 14: ("work",)}
"""The uses of the telephone numbers that each field holds."""
_TRUE = {"Y": "true", "N": "false"}


def revised(filing: Filing, pid: Segment, before: Resource | None) -> Resource:
    """Update a patient from a PID, or build a new one."""
    resource: Resource = dict(before or {"resourceType": "Patient", "id": filing.new_id("Patient"), "active": True})
    resource["identifier"] = _identifiers(filing, pid, resource)
    for field, (elements, read) in _FIELDS.items():
        if is_null(pid, field):
            for element in elements:
                resource.pop(element, None)
            uses = _REACHED.get(field, ())
            resource["telecom"] = [each for each in resource.get("telecom", ()) if each.get("use") not in uses]
        elif parts(pid, field):
            resource.update(read(filing, pid, resource))
    _died(filing, pid, resource)
    return trimmed(resource)


def _identifiers(filing: Filing, pid: Segment, resource: Resource) -> list[dict[str, Any]]:
    numbers = [of_cx(each, filing.authorities) for each in parts(pid, 3)]
    if text(pid, 19):
        numbers.append(Number(text(pid, 19), SSN, "", "SS"))
    held = with_numbers(resource, [number for number in numbers if number.value != resource["id"]])
    if "identifier" not in resource and held:
        first = next((each for each, number in zip(held, numbers, strict=False) if number.type in ("MR", "")), held[0])
        first["use"] = "usual"
    return held


def _names(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    said = [name for each in parts(pid, 5) if (name := human(each))]
    for name in said:
        name.setdefault("use", "official")
        name["text"] = to_text(name)
    return {"name": _laid_over(resource.get("name", []), said, lambda name: name.get("use", "official"), _covers)}


def _addresses(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    said = [address for each in parts(pid, 11) if (address := _address(each))]
    where = _laid_over(resource.get("address", []), said, lambda address: address.get("use", "home"), _covers)
    return {"address": where}


def _address(found: Part) -> dict[str, Any]:
    kind = found.text(7).upper()
    address = trimmed(
        {
            "use": _PLACES.get(kind, "home"),
            "type": "postal" if kind == "M" else "",
            "line": [line for line in (found.text(1, 1), found.text(2)) if line],
            "city": found.text(3),
            "district": found.text(9),
            "state": found.text(4),
            "postalCode": found.text(5),
            "country": found.text(6),
        }
    )
    return {**address, "text": to_text(address)} if len(address) > 1 else {}


def _contacts(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    """Merge the numbers of all three fields together, so that two home numbers do not replace each other."""
    fields = ((13, "home"), (14, "work"), (40, "home"))
    said = [contact for field, use in fields for each in parts(pid, field) if (contact := _contact(each, use))]
    held = resource.get("telecom", [])
    return {"telecom": _laid_over(held, said, lambda each: (each.get("system"), each.get("use")), _same_contact)}


def _contact(found: Part, use: str) -> dict[str, Any]:
    """Convert an XTN to a ContactPoint, from its parts, or from its first or twelfth component."""
    kind, said = found.text(3).upper(), found.text(2).upper()
    if found.text(4) and (kind in ("INTERNET", "X.400") or said == "NET" or "@" in found.text(4)):
        return {"system": "email", "value": found.text(4), "use": use}
    if "@" in found.text(1):
        return {"system": "email", "value": found.text(1), "use": use}
    country, area, local, extension = (found.text(number) for number in (5, 6, 7, 8))
    number = " ".join(filter(None, (f"+{country.lstrip('+')}" if country else "", f"({area})" if area else "", local)))
    number += f" x{extension}" if number and extension else ""
    value = found.text(12) or number or found.text(1)
    system = {"FX": "fax", "BP": "pager"}.get(kind, "phone")
    place = "mobile" if kind == "CP" or said == "PRS" else {"WPN": "work", "PRN": "home", "VHN": "temp"}.get(said, use)
    return {"system": system, "value": value, "use": place} if value else {}


def _covers(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether the chart's value contains all of the new one; a missing middle name is no difference."""
    return all(_begins(old.get(name), value) for name, value in new.items() if name not in ("text", "use"))


def _begins(old: Any, new: Any) -> bool:
    return bool(old[: len(new)] == new if isinstance(old, list) and isinstance(new, list) else old == new)


def _same_contact(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether two contacts are the same; telephone numbers are compared by their digits."""
    digits = re.sub(r"\D", "", new["value"])
    if new["system"] == "email" or not digits:
        return bool(old.get("value") == new["value"])
    return re.sub(r"\D", "", str(old.get("value"))) == digits


def _laid_over(
    held: list[dict[str, Any]],
    said: Iterable[dict[str, Any]],
    place: Callable[[dict[str, Any]], Any],
    same: Callable[[dict[str, Any], dict[str, Any]], bool],
) -> list[dict[str, Any]]:
    """Replace the values that have the same use as a new one, and keep the others."""
    found, taken = list(held), set[int]()
    for item in said:
        free = [at for at, old in enumerate(found) if at not in taken and place(old) == place(item)]
        at = next((at for at in free if same(found[at], item)), free[0] if free else len(found))
        if at == len(found):
            found.append(item)
        elif not same(found[at], item):
            found[at] = item
        taken.add(at)
    return found


def _born(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    born = read_time(part(pid, 7), filing.zone)
    return {"birthDate": born.date} if born is not None else {}


def _sex(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    return {"gender": mapped(_SEXES, part(pid, 8), "administrative sex")}


def _language(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    found = part(pid, 15)
    language = concept(found)
    if found is None or language is None:
        return {}
    code = found.text()
    if re.fullmatch(r"[A-Za-z]{2}(-[A-Za-z]{2})?", code):
        language["coding"][0]["system"] = "urn:ietf:bcp:47"
    held = resource.get("communication", [])
    if any(code == each.get("code") for one in held for each in one.get("language", {}).get("coding", ())):
        return {}
    return {"communication": [{"language": language, "preferred": True}]}


def _married(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    found = part(pid, 16)
    code = found.text().upper() if found is not None else ""
    if code in _MARRIED:
        told = hl7("v3-MaritalStatus", *_MARRIED[code])
        held = {each.get("code") for each in resource.get("maritalStatus", {}).get("coding", ())}
        return {} if _MARRIED[code][0] in held else {"maritalStatus": told}
    return {"maritalStatus": concept(found, f"{TERMINOLOGY}v2-0002")}


def _multiple(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    order = text(pid, 25)
    if order and re.fullmatch(r"[1-9]\d?", order):
        return {"multipleBirthInteger": int(order), "multipleBirthBoolean": None}
    said = mapped(_TRUE, part(pid, 24), "yes or no")
    return {"multipleBirthBoolean": said == "true", "multipleBirthInteger": None} if said is not None else {}


def _died(filing: Filing, pid: Segment, resource: Resource) -> None:
    """Read `deceased`: PID-29 has the time, PID-30 the indicator."""
    when = read_time(part(pid, 29), filing.zone)
    said = mapped(_TRUE, part(pid, 30), "yes or no")
    if when is not None and said == "false":
        raise refusal(422, "value", "PID-29 says when the patient died, and PID-30 that they did not")
    if when is None and said is None and not (is_null(pid, 29) or is_null(pid, 30)):
        return
    if said == "true" and when is None and "deceasedDateTime" in resource and not is_null(pid, 29):
        return
    resource.pop("deceasedDateTime", None)
    resource.pop("deceasedBoolean", None)
    if when is not None:
        resource["deceasedDateTime"] = when.text
    elif said is not None:
        resource["deceasedBoolean"] = said == "true"


_FIELDS: dict[int, tuple[tuple[str, ...], Callable[[Filing, Segment, Resource], Resource]]] = {
    5: (("name",), _names),
    7: (("birthDate",), _born),
    8: (("gender",), _sex),
    11: (("address",), _addresses),
    13: ((), _contacts),
    14: ((), _contacts),
    40: ((), _contacts),
    15: (("communication",), _language),
    16: (("maritalStatus",), _married),
    24: (("multipleBirthBoolean", "multipleBirthInteger"), _multiple),
}
"""For each field, the elements that null removes, and the function that reads it."""
