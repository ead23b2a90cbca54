"""Tables, coded terms, and builders of FHIR datatypes and resources."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from clerkship.formats.fhir.exact import Decimal
from clerkship.formats.fhir.resource import Resource

SNOMED = "http://snomed.info/sct"
ICD10 = "http://hl7.org/fhir/sid/icd-10-cm"
LOINC = "http://loinc.org"
RXNORM = "http://www.nlm.nih.gov/research/umls/rxnorm"
CVX = "http://hl7.org/fhir/sid/cvx"
CPT = "http://www.ama-assn.org/go/cpt"
UCUM = "http://unitsofmeasure.org"
NPI = "http://hl7.org/fhir/sid/us-npi"
HL7 = "http://terminology.hl7.org/CodeSystem/"
TABLE_FOLDER = Path(__file__).parent / "tables"
SYSTEMS = {"snomed": SNOMED, "icd-10-cm": ICD10, "loinc": LOINC, "rxnorm": RXNORM, "cvx": CVX, "cpt": CPT}
"""The short names of code systems. Any other name is one of HL7's own."""

Row = TypeVar("Row")


class Term(NamedTuple):
    """A code of a code system."""

    system: str
    code: str
    display: str

    def coding(self) -> dict[str, str]:
        return {"system": self.system, "code": self.code, "display": self.display}


def codeable_concept(*terms: Term, text: str = "") -> dict[str, Any]:
    """Return a CodeableConcept of terms that mean the same."""
    return {"coding": [term.coding() for term in terms], "text": text or terms[0].display}


def round_to_digits(value: float, digits: int) -> float | int:
    """Return a value with this many decimals; a Decimal where the last one is zero, because `1.20` is not `1.2`."""
    if digits == 0:
        return round(value)
    text = f"{value:.{digits}f}"
    return Decimal(text) if digits > 1 and text.endswith("0") else float(text)


def build_quantity(value: float, unit: str, ucum: str) -> dict[str, Any]:
    """Return a Quantity in a unit of UCUM."""
    return {"value": value, "unit": unit, "system": UCUM, "code": ucum}


def build_reference(key: str, display: str = "") -> dict[str, str]:
    """Return a Reference."""
    return {"reference": key, "display": display} if display else {"reference": key}


def build_resource(type: str, id: str, updated: str, /, **fields: Any) -> Resource:
    """Return a resource with its metadata; fields that are None or empty are left out."""
    resource: Resource = {"resourceType": type, "id": id, "meta": {"versionId": "1", "lastUpdated": updated}}
    for name, value in fields.items():
        if value is not None and value != []:
            resource[name] = value
    return resource


class NamedTerm(NamedTuple):
    """A term that code refers to by its key."""

    key: str
    term: Term


def read_table(name: str, row: Callable[..., Row]) -> tuple[Row, ...]:
    """Build a `row` from each object in `tables/<name>.json`; its keys are the parameters.

    Arrays become tuples, and objects of `system`, `code` and `display` become terms. Types are not checked here: the
    tests check every table.
    """
    rows = orjson.loads((TABLE_FOLDER / f"{name}.json").read_bytes())
    return tuple(row(**{column: _parse_cell(value) for column, value in fields.items()}) for fields in rows)


def _parse_cell(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_parse_cell, value))
    if isinstance(value, dict):
        return Term(SYSTEMS.get(value["system"], HL7 + value["system"]), value["code"], value["display"])
    return value


TERMS = dict(read_table("terms", NamedTerm))


def build_concept(key: str, text: str = "") -> dict[str, Any]:
    """Return a CodeableConcept of one of `TERMS`."""
    return codeable_concept(TERMS[key], text=text)
