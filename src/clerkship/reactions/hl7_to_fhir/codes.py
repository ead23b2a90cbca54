"""Convert coded values: the names of code systems, and tables that are mapped code by code."""

import re
from collections.abc import Mapping
from typing import Any

from clerkship.reactions.hl7_to_fhir.fields import Repetition, code_table
from clerkship.reactions.hl7_to_fhir.filing import drop_empty
from clerkship.simulators.fhir.outcome import refusal

TERMINOLOGY = "http://terminology.hl7.org/CodeSystem/"
UCUM = "http://unitsofmeasure.org"
SYSTEMS = code_table("0396")
"""HL7 table 0396 and other names that occur, where FHIR has a uri. Local systems (`L`, `99ABC`) have none."""
_TABLE = re.compile(r"HL7(\d{4})")


def find_system(name: str) -> str:
    """Return the uri of a code system such as `LN`; empty if it has none."""
    normalized = name.strip().upper()
    table = _TABLE.fullmatch(normalized)
    if table is not None:
        return f"{TERMINOLOGY}v2-{table[1]}"
    system = SYSTEMS.get(normalized, "")
    return system or (name if name.startswith(("http://", "https://", "urn:")) else "")


def build_coding(code: str, display: str, system: str) -> dict[str, Any]:
    """Build a Coding."""
    return drop_empty({"system": system, "code": code, "display": display})


def to_concept(repetition: Repetition | None, system: str = "") -> dict[str, Any] | None:
    """Convert a CE, CWE or CNE with its alternate to a CodeableConcept; `system` is for a code that names no system."""
    if repetition is None:
        return None
    codings = []
    for first in (1, 4):
        code, display, name = (repetition.text(first + number) for number in range(3))
        if code:
            codings.append(build_coding(code, display, find_system(name) or (system if not name else "")))
    display_text = repetition.text(9) or repetition.text(2) or repetition.text(5) or repetition.text(1)
    return drop_empty({"coding": codings, "text": display_text}) or None


def build_hl7_concept(table: str, code: str, display: str) -> dict[str, Any]:
    """Build a CodeableConcept with a Coding of one of HL7's own systems."""
    return drop_empty({"coding": [build_coding(code, display, f"{TERMINOLOGY}{table}")], "text": display})


def map_code(table: Mapping[str, str], repetition: Repetition | None, description: str) -> str | None:
    """Look a code up in a table; None for an empty field, refused if the table does not have the code."""
    code = repetition.text() if repetition is not None else ""
    if repetition is None or not code:
        return None
    mapped = table.get(code.upper())
    if mapped is None:
        raise refusal(
            422,
            "code-invalid",
            f"{repetition.where}: `{code[:40]}` is not a valid {description} (expected: {', '.join(table)})",
        )
    return mapped
