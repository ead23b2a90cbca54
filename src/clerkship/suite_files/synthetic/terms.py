"""Coded terms, and builders of FHIR datatypes and resources."""

from typing import Any, NamedTuple

from clerkship.formats.fhir.exact import Decimal
from clerkship.formats.fhir.resource import Resource

SNOMED = "http://snomed.info/sct"
ICD10 = "http://hl7.org/fhir/sid/icd-10-cm"
LOINC = "http://loinc.org"
RXNORM = "http://www.nlm.nih.gov/research/umls/rxnorm"
CVX = "http://hl7.org/fhir/sid/cvx"
UCUM = "http://unitsofmeasure.org"
NPI = "http://hl7.org/fhir/sid/us-npi"
HL7 = "http://terminology.hl7.org/CodeSystem/"


class Term(NamedTuple):
    """A code of a code system."""

    system: str
    code: str
    display: str

    def coding(self) -> dict[str, str]:
        """Return a Coding."""
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
