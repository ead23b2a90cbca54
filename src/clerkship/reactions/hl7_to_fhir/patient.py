"""Convert PID to a Patient: an empty field changes nothing, HL7's null removes the element."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from clerkship.formats.fhir.display_text import to_text
from clerkship.formats.fhir.resource import Resource
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.fields import (
    TERMINOLOGY,
    Repetition,
    build_hl7_concept,
    code_table,
    is_null,
    map_code,
    read_repetition,
    read_repetitions,
    read_text,
    read_time,
    term_table,
    to_concept,
)
from clerkship.reactions.hl7_to_fhir.filing import Filing, drop_empty
from clerkship.reactions.hl7_to_fhir.identifiers import SSN, Hl7Identifier, add_identifiers, parse_cx
from clerkship.reactions.hl7_to_fhir.people import to_human_name
from clerkship.simulators.fhir.outcome import refusal
from clerkship.text.contact_points import is_same_phone

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
    identifiers = add_identifiers(resource, [number for number in numbers if number.value != resource["id"]])
    if "identifier" not in resource and identifiers:
        first = next(
            (each for each, number in zip(identifiers, numbers, strict=False) if number.type in ("MR", "")),
            identifiers[0],
        )
        first["use"] = "usual"
    return identifiers


def _convert_names(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    names = [name for each in read_repetitions(pid, 5) if (name := to_human_name(each))]
    for name in names:
        name.setdefault("use", "official")
        name["text"] = to_text(name)
    return {"name": _merge_by_use(resource.get("name", []), names, lambda name: name.get("use", "official"), _covers)}


def _convert_addresses(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    addresses = [address for each in read_repetitions(pid, 11) if (address := _convert_address(each))]
    merged = _merge_by_use(resource.get("address", []), addresses, lambda address: address.get("use", "home"), _covers)
    return {"address": merged}


def _convert_address(repetition: Repetition) -> dict[str, Any]:
    kind = repetition.text(7).upper()
    address = drop_empty(
        {
            "use": _ADDRESS_USES.get(kind, "home"),
            "type": "postal" if kind == "M" else "",
            "line": [line for line in (repetition.text(1, 1), repetition.text(2)) if line],
            "city": repetition.text(3),
            "district": repetition.text(9),
            "state": repetition.text(4),
            "postalCode": repetition.text(5),
            "country": repetition.text(6),
        }
    )
    return {**address, "text": to_text(address)} if len(address) > 1 else {}


def _convert_contacts(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    """Merge the numbers of all three fields together, so that two home numbers do not replace each other."""
    fields = ((13, "home"), (14, "work"), (40, "home"))
    contacts = [
        contact
        for field, use in fields
        for each in read_repetitions(pid, field)
        if (contact := _convert_contact(each, use))
    ]
    existing = resource.get("telecom", [])
    return {
        "telecom": _merge_by_use(
            existing, contacts, lambda each: (each.get("system"), each.get("use")), _is_same_contact
        )
    }


def _convert_contact(repetition: Repetition, use: str) -> dict[str, Any]:
    """Convert an XTN to a ContactPoint, from its parts, or from its first or twelfth component."""
    kind, use_code = repetition.text(3).upper(), repetition.text(2).upper()
    if repetition.text(4) and (kind in ("INTERNET", "X.400") or use_code == "NET" or "@" in repetition.text(4)):
        return {"system": "email", "value": repetition.text(4), "use": use}
    if "@" in repetition.text(1):
        return {"system": "email", "value": repetition.text(1), "use": use}
    country, area, local, extension = (repetition.text(number) for number in (5, 6, 7, 8))
    number = " ".join(filter(None, (f"+{country.lstrip('+')}" if country else "", f"({area})" if area else "", local)))
    number += f" x{extension}" if number and extension else ""
    value = repetition.text(12) or number or repetition.text(1)
    system = {"FX": "fax", "BP": "pager"}.get(kind, "phone")
    place = (
        "mobile"
        if kind == "CP" or use_code == "PRS"
        else {"WPN": "work", "PRN": "home", "VHN": "temp"}.get(use_code, use)
    )
    return {"system": system, "value": value, "use": place} if value else {}


def _covers(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether the chart's value contains all of the new one; a missing middle name is no difference."""
    return all(_starts_with(old.get(name), value) for name, value in new.items() if name not in ("text", "use"))


def _starts_with(old: Any, new: Any) -> bool:
    return bool(old[: len(new)] == new if isinstance(old, list) and isinstance(new, list) else old == new)


def _is_same_contact(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Return whether two contacts are the same, in whatever notation a telephone number is written."""
    values = str(old.get("value")), str(new["value"])
    return values[0] == values[1] or (new["system"] != "email" and is_same_phone(*values))


def _merge_by_use(
    existing: list[dict[str, Any]],
    new: Iterable[dict[str, Any]],
    use_of: Callable[[dict[str, Any]], Any],
    same: Callable[[dict[str, Any], dict[str, Any]], bool],
) -> list[dict[str, Any]]:
    """Replace the values that have the same use as a new one, and keep the others."""
    merged, used = list(existing), set[int]()
    for item in new:
        free = [at for at, old in enumerate(merged) if at not in used and use_of(old) == use_of(item)]
        at = next((at for at in free if same(merged[at], item)), free[0] if free else len(merged))
        if at == len(merged):
            merged.append(item)
        elif not same(merged[at], item):
            merged[at] = item
        used.add(at)
    return merged


def _convert_birth_date(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    born = read_time(read_repetition(pid, 7), filing.zone)
    return {"birthDate": born.date} if born is not None else {}


def _convert_sex(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    return {"gender": map_code(_SEXES, read_repetition(pid, 8), "administrative sex")}


def _convert_language(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    repetition = read_repetition(pid, 15)
    language = to_concept(repetition)
    if repetition is None or language is None:
        return {}
    code = repetition.text()
    if re.fullmatch(r"[A-Za-z]{2}(-[A-Za-z]{2})?", code):
        language["coding"][0]["system"] = "urn:ietf:bcp:47"
    existing = resource.get("communication", [])
    if any(
        code == each.get("code")
        for communication in existing
        for each in communication.get("language", {}).get("coding", ())
    ):
        return {}
    return {"communication": [{"language": language, "preferred": True}]}


def _convert_marital_status(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    repetition = read_repetition(pid, 16)
    code = repetition.text().upper() if repetition is not None else ""
    if code in _MARITAL_STATUSES:
        status = build_hl7_concept("v3-MaritalStatus", *_MARITAL_STATUSES[code])
        codes = {each.get("code") for each in resource.get("maritalStatus", {}).get("coding", ())}
        return {} if _MARITAL_STATUSES[code][0] in codes else {"maritalStatus": status}
    return {"maritalStatus": to_concept(repetition, f"{TERMINOLOGY}v2-0002")}


def _convert_multiple_birth(filing: Filing, pid: Segment, resource: Resource) -> Resource:
    order = read_text(pid, 25)
    if order and re.fullmatch(r"[1-9]\d?", order):
        return {"multipleBirthInteger": int(order), "multipleBirthBoolean": None}
    indicator = map_code(_YES_NO, read_repetition(pid, 24), "yes or no")
    return {"multipleBirthBoolean": indicator == "true", "multipleBirthInteger": None} if indicator is not None else {}


def _apply_deceased(filing: Filing, pid: Segment, resource: Resource) -> None:
    """Read `deceased`: PID-29 has the time, PID-30 the indicator."""
    when = read_time(read_repetition(pid, 29), filing.zone)
    indicator = map_code(_YES_NO, read_repetition(pid, 30), "yes or no")
    if when is not None and indicator == "false":
        raise refusal(422, "value", "PID-29 (time of death) contradicts PID-30 (death indicator)")
    if when is None and indicator is None and not (is_null(pid, 29) or is_null(pid, 30)):
        return
    if indicator == "true" and when is None and "deceasedDateTime" in resource and not is_null(pid, 29):
        return
    resource.pop("deceasedDateTime", None)
    resource.pop("deceasedBoolean", None)
    if when is not None:
        resource["deceasedDateTime"] = when.text
    elif indicator is not None:
        resource["deceasedBoolean"] = indicator == "true"


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
