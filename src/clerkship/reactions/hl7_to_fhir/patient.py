"""Convert PID to a Patient: an empty field changes nothing, HL7's null removes the element."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from clerkship.fhir.display_text import to_text
from clerkship.fhir.resource import Resource
from clerkship.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.codes import TERMINOLOGY, build_hl7_concept, map_code, to_concept
from clerkship.reactions.hl7_to_fhir.demographics import to_human_name
from clerkship.reactions.hl7_to_fhir.fields import Repetition, is_null, read_repetition, read_repetitions, read_text
from clerkship.reactions.hl7_to_fhir.filing import Filing, drop_empty
from clerkship.reactions.hl7_to_fhir.identifiers import SSN, Hl7Identifier, add_identifiers, parse_cx
from clerkship.reactions.hl7_to_fhir.tables import code_table, term_table
from clerkship.reactions.hl7_to_fhir.times import read_time
from clerkship.simulators.fhir.outcome import refusal

_SEXES = code_table("0001")
"""HL7 table 0001."""
_MARITAL_STATUSES = term_table("0002")
"""HL7 table 0002. A (separated) is FHIR's L (legally separated); FHIR's A means annulled."""
_ADDRESS_USES = {"H": "home", "P": "home", "L": "home", "B": "work", "O": "work", "C": "temp", "V": "temp", "BA": "old"}
"""HL7 table 0190."""
_TELECOM_USES = {13: ("home", "mobile", None), 14: ("work",)}
"""The uses of the telephone numbers that each field holds."""
_YES_NO = {"Y": "true", "N": "false"}


def apply_pid(filing: Filing, pid: Segment, before: Resource | None) -> Resource:
    """Update a patient from a PID, or build a new one."""
    resource: Resource = dict(before or {"resourceType": "Patient", "id": filing.new_id("Patient"), "active": True})
    resource["identifier"] = _build_identifiers(filing, pid, resource)
    for field, (elements, read) in _FIELDS.items():
        if is_null(pid, field):
            for element in elements:
                resource.pop(element, None)
            uses = _TELECOM_USES.get(field, ())
            resource["telecom"] = [each for each in resource.get("telecom", ()) if each.get("use") not in uses]
        elif read_repetitions(pid, field):
            resource.update(read(filing, pid, resource))
    _apply_deceased(filing, pid, resource)
    return drop_empty(resource)


def _build_identifiers(filing: Filing, pid: Segment, resource: Resource) -> list[dict[str, Any]]:
    numbers = [parse_cx(each, filing.authorities) for each in read_repetitions(pid, 3)]
    if read_text(pid, 19):
        numbers.append(Hl7Identifier(read_text(pid, 19), SSN, "", "SS"))
    held = add_identifiers(resource, [number for number in numbers if number.value != resource["id"]])
    if "identifier" not in resource and held:
        first = next((each for each, number in zip(held, numbers, strict=False) if number.type in ("MR", "")), held[0])
        first["use"] = "usual"
    return held


def _convert_names(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    said = [name for each in read_repetitions(pid, 5) if (name := to_human_name(each))]
    for name in said:
        name.setdefault("use", "official")
        name["text"] = to_text(name)
    return {"name": _merge_by_use(resource.get("name", []), said, lambda name: name.get("use", "official"), _covers)}


def _convert_addresses(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    said = [address for each in read_repetitions(pid, 11) if (address := _convert_address(each))]
    where = _merge_by_use(resource.get("address", []), said, lambda address: address.get("use", "home"), _covers)
    return {"address": where}


def _convert_address(found: Repetition) -> dict[str, Any]:
    kind = found.text(7).upper()
    address = drop_empty(
        {
            "use": _ADDRESS_USES.get(kind, "home"),
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


def _convert_contacts(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    """Merge the numbers of all three fields together, so that two home numbers do not replace each other."""
    fields = ((13, "home"), (14, "work"), (40, "home"))
    said = [
        contact
        for field, use in fields
        for each in read_repetitions(pid, field)
        if (contact := _convert_contact(each, use))
    ]
    held = resource.get("telecom", [])
    return {"telecom": _merge_by_use(held, said, lambda each: (each.get("system"), each.get("use")), _is_same_contact)}


def _convert_contact(found: Repetition, use: str) -> dict[str, Any]:
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
    return all(_starts_with(old.get(name), value) for name, value in new.items() if name not in ("text", "use"))


def _starts_with(old: Any, new: Any) -> bool:
    return bool(old[: len(new)] == new if isinstance(old, list) and isinstance(new, list) else old == new)


def _is_same_contact(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether two contacts are the same; telephone numbers are compared by their digits."""
    digits = re.sub(r"\D", "", new["value"])
    if new["system"] == "email" or not digits:
        return bool(old.get("value") == new["value"])
    return re.sub(r"\D", "", str(old.get("value"))) == digits


def _merge_by_use(
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


def _convert_birth_date(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    born = read_time(read_repetition(pid, 7), filing.zone)
    return {"birthDate": born.date} if born is not None else {}


def _convert_sex(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    return {"gender": map_code(_SEXES, read_repetition(pid, 8), "administrative sex")}


def _convert_language(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    found = read_repetition(pid, 15)
    language = to_concept(found)
    if found is None or language is None:
        return {}
    code = found.text()
    if re.fullmatch(r"[A-Za-z]{2}(-[A-Za-z]{2})?", code):
        language["coding"][0]["system"] = "urn:ietf:bcp:47"
    held = resource.get("communication", [])
    if any(code == each.get("code") for one in held for each in one.get("language", {}).get("coding", ())):
        return {}
    return {"communication": [{"language": language, "preferred": True}]}


def _convert_marital_status(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    found = read_repetition(pid, 16)
    code = found.text().upper() if found is not None else ""
    if code in _MARITAL_STATUSES:
        told = build_hl7_concept("v3-MaritalStatus", *_MARITAL_STATUSES[code])
        held = {each.get("code") for each in resource.get("maritalStatus", {}).get("coding", ())}
        return {} if _MARITAL_STATUSES[code][0] in held else {"maritalStatus": told}
    return {"maritalStatus": to_concept(found, f"{TERMINOLOGY}v2-0002")}


def _convert_multiple_birth(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    order = read_text(pid, 25)
    if order and re.fullmatch(r"[1-9]\d?", order):
        return {"multipleBirthInteger": int(order), "multipleBirthBoolean": None}
    said = map_code(_YES_NO, read_repetition(pid, 24), "yes or no")
    return {"multipleBirthBoolean": said == "true", "multipleBirthInteger": None} if said is not None else {}


def _apply_deceased(filing: Filing, pid: Segment, resource: Resource) -> None:
    """Read `deceased`: PID-29 has the time, PID-30 the indicator."""
    when = read_time(read_repetition(pid, 29), filing.zone)
    said = map_code(_YES_NO, read_repetition(pid, 30), "yes or no")
    if when is not None and said == "false":
        raise refusal(422, "value", "PID-29 (time of death) contradicts PID-30 (death indicator)")
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
    5: (("name",), _convert_names),
    7: (("birthDate",), _convert_birth_date),
    8: (("gender",), _convert_sex),
    11: (("address",), _convert_addresses),
    13: ((), _convert_contacts),
    14: ((), _convert_contacts),
    40: ((), _convert_contacts),
    15: (("communication",), _convert_language),
    16: (("maritalStatus",), _convert_marital_status),
    24: (("multipleBirthBoolean", "multipleBirthInteger"), _convert_multiple_birth),
}
"""For each field, the elements that null removes, and the function that reads it."""
