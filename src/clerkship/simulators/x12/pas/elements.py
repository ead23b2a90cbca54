"""How extensions and codes of the PAS guide are read and written."""

from typing import Any

from clerkship.formats.fhir.resource import list_objects
from clerkship.payer.fhir_parties import list_codes

GUIDE = "http://hl7.org/fhir/us/davinci-pas"
DEFINITION = f"{GUIDE}/StructureDefinition"
PAS_PATHS = ("/fhir/Claim/$submit", "/fhir/Claim/$inquire")


def get_extension(element: Any, name: str, kind: str = "extension") -> dict[str, Any]:
    """Return the first extension of the guide with a name, such as `certificationType`; empty if there is none."""
    url = f"{DEFINITION}/{kind.lower()}-{name}"
    return next((each for each in list_objects(element, kind) if each.get("url") == url), {})


def get_extension_code(element: Any, name: str) -> str:
    """Return the code of an extension; empty if there is none."""
    return get_code(get_extension(element, name).get("valueCodeableConcept"))


def get_code(concept: Any) -> str:
    """Return the first code of a CodeableConcept; empty if there is none."""
    return next(iter(list_codes(concept)), "")


def build_extension(name: str, **value: Any) -> dict[str, Any]:
    """Return an extension of the guide with its value: `valueString="A1"`, or `extension=[…]`."""
    return {"url": f"{DEFINITION}/extension-{name}", **value}


def build_code(element: int, code: str, text: str = "") -> dict[str, Any]:
    """Return a code of X12 as a CodeableConcept, by the number of its data element, such as 306."""
    coding = {"system": f"https://codesystem.x12.org/005010/{element}", "code": code}
    return {"coding": [coding], **({"text": text} if text else {})}
