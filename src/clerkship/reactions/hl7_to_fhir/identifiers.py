"""Convert numbers (CX, EI, XCN) to identifiers, and find the resources that have them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.reactions.hl7_to_fhir.fields import TERMINOLOGY, Repetition, code_table
from clerkship.reactions.hl7_to_fhir.filing import Filing, drop_empty
from clerkship.simulators.fhir.outcome import refusal

IDENTIFIER_TYPES = f"{TERMINOLOGY}v2-0203"
NPI = "http://hl7.org/fhir/sid/us-npi"
SSN = "http://hl7.org/fhir/sid/us-ssn"
_WELL_KNOWN_SYSTEMS = {"NPI": NPI, "USSSA": SSN}
"""Authorities that FHIR defines a system for, whatever the config of the server says."""
_TYPES = code_table("0203")
"""HL7 table 0203 with what FHIR displays, without U (unspecified). Other codes (`MRN`, `EPI`) are ignored."""
_PATIENT_NUMBER_TYPES = frozenset({"MR", "PI", "PT"})
"""Types that senders use for the same number."""
_NATIONAL = re.compile(r"NN[A-Z]{2,3}")
_WORD = re.compile(r"[^\W_]+")


class Hl7Identifier(NamedTuple):
    """A number, with its assigning authority and its type if the message has them."""

    value: str
    system: str = ""
    namespace: str = ""
    type: str = ""
    where: str = ""
    type_text: str = ""
    """A type that is not in HL7's table."""

    def __str__(self) -> str:
        """Return the number for an error message: `8525024 (RIVERBEND, MR)`."""
        details = ", ".join(filter(None, (self.namespace or self.system, self.type or self.type_text)))
        return f"`{self.value[:60]}`{f' ({details[:80]})' if details else ''}"

    def to_identifier(self) -> dict[str, Any]:
        """Convert the number to an Identifier. A namespace without a known system becomes the assigner's display."""
        code = {"system": IDENTIFIER_TYPES, "code": self.type, "display": _TYPES.get(self.type, "")}
        assigner = {"display": self.namespace} if self.namespace and not self.system else {}
        type = {"coding": [drop_empty(code)]} if self.type else drop_empty({"text": self.type_text})
        return drop_empty({"type": type, "system": self.system, "value": self.value, "assigner": assigner})

    def is_in(self, resource: Resource) -> bool:
        """Return whether a resource has this number."""
        identifiers = [*resource.get("identifier", ()), resource.get("masterIdentifier", {})]
        return any(self.matches(each) for each in identifiers)

    def matches(self, identifier: Mapping[str, Any]) -> bool:
        """Return whether an identifier has the same value, and no authority or type that contradicts."""
        if identifier.get("value") != self.value:
            return False
        codings = identifier.get("type", {}).get("coding", ())
        types = {
            _normalize_type(code.get("code", "")) for code in codings if code.get("system") == IDENTIFIER_TYPES
        } - {""}
        is_patients = self.type in _PATIENT_NUMBER_TYPES and types & _PATIENT_NUMBER_TYPES
        if self.type and types and self.type not in types and not is_patients:
            return False
        if self.system and identifier.get("system"):
            return bool(self.system == identifier["system"])
        assigner = identifier.get("assigner", {}).get("display")
        return not (self.namespace and assigner and self.namespace.casefold() != assigner.casefold())

    def has_unknown_authority_in(self, resource: Resource) -> bool:
        """Return whether the number matches a resource only because information is missing.

        This is so if it names an authority that neither the server knows nor the identifier has.
        """
        return bool(self.namespace and not self.system) and all(
            "system" in each
            and "display" not in each.get("assigner", {})
            and not _split_words(self.namespace) <= _split_words(each["system"])
            for each in resource.get("identifier", ())
            if self.matches(each)
        )


def _split_words(name: str) -> set[str]:
    return set(_WORD.findall(name.casefold()))


def parse_cx(repetition: Repetition, authorities: Mapping[str, str], type: str = "") -> Hl7Identifier:
    """Read a CX: `8525024^^^RIVERBEND^MR`."""
    authority = tuple(repetition.text(4, number) for number in (1, 2, 3))
    type_code = _normalize_type(repetition.text(5).upper())
    return _build_identifier(repetition, authority, authorities, type_code or type)._replace(
        type_text="" if type_code else repetition.text(5)
    )


def _normalize_type(type: str) -> str:
    return type if type in _TYPES or _NATIONAL.fullmatch(type) else ""


def parse_ei(repetition: Repetition, authorities: Mapping[str, str], type: str = "") -> Hl7Identifier:
    """Read an EI: `L-1001^LAB`."""
    return _build_identifier(
        repetition, (repetition.text(2), repetition.text(3), repetition.text(4)), authorities, type
    )


def parse_xcn(repetition: Repetition, authorities: Mapping[str, str]) -> Hl7Identifier:
    """Read an XCN: `9999910000^Toussaint^Solange^^^^MD^^NPI`. Without an authority, the type implies it."""
    authority = tuple(repetition.text(9, number) for number in (1, 2, 3))
    return _build_identifier(
        repetition, authority if any(authority) else (repetition.text(13), "", ""), authorities, ""
    )


def _build_identifier(
    repetition: Repetition, authority: tuple[str, ...], authorities: Mapping[str, str], type: str
) -> Hl7Identifier:
    namespace, universal, kind = authority
    system = (
        authorities.get(namespace, "") or _universal(universal, kind) or _WELL_KNOWN_SYSTEMS.get(namespace.upper(), "")
    )
    return Hl7Identifier(repetition.text(1, 1), system, namespace, type, repetition.where)


def _universal(id: str, kind: str) -> str:
    """Convert the universal id of an HD to a uri (HL7 table 0301)."""
    if not id:
        return ""
    if kind.upper() == "ISO":
        return f"urn:oid:{id}"
    if kind.upper() in ("UUID", "GUID"):
        return f"urn:uuid:{id.lower()}"
    return id if kind.upper() in ("URI", "URL") or id.startswith(("http://", "https://", "urn:")) else ""


def find_by_identifiers(filing: Filing, type: str, numbers: Iterable[Hl7Identifier]) -> Resource | None:
    """Find the resource that has one of some numbers, or whose id is one of them; refused if there are several."""
    matches: dict[str, Resource] = {}
    candidates = [number for number in numbers if number.value]
    for number in candidates:
        for resource in filing.find_by_identifier(type, number.value):
            if number.is_in(resource):
                matches[get_key(resource)] = resource
    for number in candidates if not matches else ():
        by_id = filing.find_by_id(type, number.value)
        if by_id is not None:
            matches[get_key(by_id)] = by_id
    if len(matches) > 1:
        listing = " and ".join(str(number) for number in candidates)
        raise refusal(409, "multiple-matches", f"{listing} match several resources: {', '.join(sorted(matches))}")
    return next(iter(matches.values()), None)


def add_identifiers(resource: Resource, numbers: Iterable[Hl7Identifier]) -> list[dict[str, Any]]:
    """Return the identifiers of a resource with the numbers that it lacks added."""
    identifiers = list(resource.get("identifier", ()))
    for number in numbers:
        if number.value and not any(number.matches(each) for each in identifiers):
            identifiers.append(number.to_identifier())
    return identifiers
