"""How extensions and codes of the PAS guide are read and written."""

from typing import Any

from clerkship.formats.fhir.resource import list_objects
from clerkship.payer.fhir_parties import get_text

GUIDE = "http://hl7.org/fhir/us/davinci-pas"
DEFINITION = f"{GUIDE}/StructureDefinition"
PAS_PATHS = ("/fhir/Claim/$submit", "/fhir/Claim/$inquire")
SERVICE_TYPES = ("x12.org/005010/1365",)
PROCEDURES = ("go/cpt", "hcpcs", "icd-10-pcs", "icd10pcs", "nubc")
DIAGNOSES = ("icd-10-cm", "icd10cm", "icd-10")
"""Parts of the addresses of code systems; several are in use for one system."""
_EXTENSION_SYSTEMS = {
    "serviceItemRequestType": "x12.org/005010/1525",
    "certificationType": "x12.org/005010/1322",
    "levelOfServiceCode": "x12.org/005010/1338",
}


def get_extension(element: Any, name: str, kind: str = "extension") -> dict[str, Any]:
    """Return the first extension of the guide with a name, such as `certificationType`; empty if there is none."""
    url = f"{DEFINITION}/{kind.lower()}-{name}"
    return next((each for each in list_objects(element, kind) if each.get("url") == url), {})


def get_extension_code(element: Any, name: str) -> str:
    """Return the code of an extension, if it is of the system that the guide wants; empty if there is none."""
    return get_code(get_extension(element, name).get("valueCodeableConcept"), _EXTENSION_SYSTEMS[name])


def get_code(concept: Any, *systems: str) -> str:
    """Return the first code of a CodeableConcept, of one of the systems if some are given; empty if there is none."""
    codings = list_objects(concept, "coding")
    if systems:
        codings = [each for each in codings if any(part in get_text(each, "system").lower() for part in systems)]
    return next(filter(None, (get_text(each, "code") for each in codings)), "")


def build_extension(name: str, **value: Any) -> dict[str, Any]:
    """Return an extension of the guide with its value: `valueString="A1"`, or `extension=[…]`."""
    return {"url": f"{DEFINITION}/extension-{name}", **value}


def build_code(element: int, code: str, text: str = "") -> dict[str, Any]:
    """Return a code of X12 as a CodeableConcept, by the number of its data element, such as 306."""
    coding = {"system": f"https://codesystem.x12.org/005010/{element}", "code": code}
    return {"coding": [coding], **({"text": text} if text else {})}
