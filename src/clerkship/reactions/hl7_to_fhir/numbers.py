"""Convert numbers (CX, EI, XCN) to identifiers, and find the resources that have them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from clerkship.fhir.resource import Resource, get_key
from clerkship.reactions.hl7_to_fhir.codes import TERMINOLOGY
from clerkship.reactions.hl7_to_fhir.filing import Filing, trimmed
from clerkship.reactions.hl7_to_fhir.parts import Part
from clerkship.reactions.hl7_to_fhir.tables import code_table
from clerkship.simulators.fhir.outcome import refusal

TYPES = f"{TERMINOLOGY}v2-0203"
NPI = "http://hl7.org/fhir/sid/us-npi"
SSN = "http://hl7.org/fhir/sid/us-ssn"
_REGISTERED = {"NPI": NPI, "USSSA": SSN}
"""Authorities that FHIR defines a system for, whatever the config of the server says."""
_TYPES = code_table("0203")
"""HL7 table 0203 with what FHIR displays, without U (unspecified). Other codes (`MRN`, `EPI`) are ignored."""
_OF_A_PATIENT = frozenset({"MR", "PI", "PT"})
"""Types that senders use for the same number."""
_NATIONAL = re.compile(r"NN[A-Z]{2,3}")
_WORD = re.compile(r"[^\W_]+")


class Number(NamedTuple):
    """A number, with its assigning authority and its type if the message has them."""

    value: str
    system: str = ""
    namespace: str = ""
    type: str = ""
    where: str = ""
    called: str = ""
    """A type that is not in HL7's table."""

    def __str__(self) -> str:
        """Return the number for an error message: `8525024 (RIVERBEND, MR)`."""
        told = ", ".join(filter(None, (self.namespace or self.system, self.type or self.called)))
        return f"`{self.value[:60]}`{f' ({told[:80]})' if told else ''}"

    def identifier(self) -> dict[str, Any]:
        """Convert the number to an Identifier. A namespace without a known system becomes the assigner's display."""
        code = {"system": TYPES, "code": self.type, "display": _TYPES.get(self.type, "")}
        assigner = {"display": self.namespace} if self.namespace and not self.system else {}
        type = {"coding": [trimmed(code)]} if self.type else trimmed({"text": self.called})
        return trimmed({"type": type, "system": self.system, "value": self.value, "assigner": assigner})

    def is_in(self, resource: Resource) -> bool:
        """Return whether a resource has this number."""
        held = [*resource.get("identifier", ()), resource.get("masterIdentifier", {})]
        return any(self.agrees(each) for each in held)

    def agrees(self, identifier: Mapping[str, Any]) -> bool:
        """Return whether an identifier has the same value, and no authority or type that contradicts."""
        if identifier.get("value") != self.value:
            return False
        codings = identifier.get("type", {}).get("coding", ())
        types = {_sort(code.get("code", "")) for code in codings if code.get("system") == TYPES} - {""}
        is_patients = self.type in _OF_A_PATIENT and types & _OF_A_PATIENT
        if self.type and types and self.type not in types and not is_patients:
            return False
        if self.system and identifier.get("system"):
            return bool(self.system == identifier["system"])
        assigner = identifier.get("assigner", {}).get("display")
        return not (self.namespace and assigner and self.namespace.casefold() != assigner.casefold())

    def is_strange_in(self, resource: Resource) -> bool:
        """Return whether the number matches a resource only for want of information: it names an authority that is
        neither known to the server nor that of the identifier."""
        return bool(self.namespace and not self.system) and all(
            "system" in each
            and "display" not in each.get("assigner", {})
            and not _words(self.namespace) <= _words(each["system"])
            for each in resource.get("identifier", ())
            if self.agrees(each)
        )


def _words(name: str) -> set[str]:
    return set(_WORD.findall(name.casefold()))


def of_cx(part: Part, authorities: Mapping[str, str], type: str = "") -> Number:
    """Read a CX: `8525024^^^RIVERBEND^MR`."""
    authority = tuple(part.text(4, number) for number in (1, 2, 3))
    known = _sort(part.text(5).upper())
    return _number(part, authority, authorities, known or type)._replace(called="" if known else part.text(5))


def _sort(type: str) -> str:
    return type if type in _TYPES or _NATIONAL.fullmatch(type) else ""


def of_ei(part: Part, authorities: Mapping[str, str], type: str = "") -> Number:
    """Read an EI: `L-1001^LAB`."""
    return _number(part, (part.text(2), part.text(3), part.text(4)), authorities, type)


def of_xcn(part: Part, authorities: Mapping[str, str]) -> Number:
    """Read an XCN: `9999910000^Toussaint^Solange^^^^MD^^NPI`. Without an authority, the type implies it."""
    authority = tuple(part.text(9, number) for number in (1, 2, 3))
    return _number(part, authority if any(authority) else (part.text(13), "", ""), authorities, "")


def _number(part: Part, authority: tuple[str, ...], authorities: Mapping[str, str], type: str) -> Number:
    namespace, universal, kind = authority
    system = authorities.get(namespace, "") or _universal(universal, kind) or _REGISTERED.get(namespace.upper(), "")
    return Number(part.text(1, 1), system, namespace, type, part.where)


def _universal(id: str, kind: str) -> str:
    """Convert the universal id of an HD to a uri (HL7 table 0301)."""
    if not id:
        return ""
    if kind.upper() == "ISO":
        return f"urn:oid:{id}"
    if kind.upper() in ("UUID", "GUID"):
        return f"urn:uuid:{id.lower()}"
    return id if kind.upper() in ("URI", "URL") or id.startswith(("http://", "https://", "urn:")) else ""


def numbered(filing: Filing, type: str, numbers: Iterable[Number]) -> Resource | None:
    """Find the resource that has one of some numbers, or whose id is one of them; refused if there are several."""
    found: dict[str, Resource] = {}
    asked = [number for number in numbers if number.value]
    for number in asked:
        for resource in filing.with_number(type, number.value):
            if number.is_in(resource):
                found[get_key(resource)] = resource
    for number in asked if not found else ():
        own = filing.there(type, number.value)
        if own is not None:
            found[get_key(own)] = own
    if len(found) > 1:
        told = " and ".join(str(number) for number in asked)
        raise refusal(409, "multiple-matches", f"{told} mean several: {', '.join(sorted(found))}")
    return next(iter(found.values()), None)


def with_numbers(resource: Resource, numbers: Iterable[Number]) -> list[dict[str, Any]]:
    """Return the identifiers of a resource with the numbers that it lacks added."""
    held = list(resource.get("identifier", ()))
    for number in numbers:
        if number.value and not any(number.agrees(each) for each in held):
            held.append(number.identifier())
    return held
