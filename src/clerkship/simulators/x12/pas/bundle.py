"""Check the Bundle of a request, and find the resources in it."""

from typing import Any

from clerkship.formats.fhir.issue import FhirError, Issue, IssueCode
from clerkship.formats.fhir.resource import Resource, list_objects, list_references
from clerkship.formats.fhir.validation import validate
from clerkship.payer.fhir_parties import LinkedResources
from clerkship.simulators.x12.pas.elements import SERVICE_TYPES, get_code, get_extension_code

CLAIM_PATH = "Bundle.entry[0].resource"
_COMPLETE_TYPES = ("Claim", "Coverage")
"""Types of resources whose references must all be in the Bundle. Others may refer to more than the payer needs."""
_FIXED = {"type": "collection", "status": "active", "use": "preauthorization"}
"""Elements of a Bundle and of a Claim that have one value in every request."""


def problem(path: str, text: str, code: IssueCode = "required") -> FhirError:
    """Return an error with the place in the Bundle."""
    return FhirError(Issue("error", code, f"{path}: {text}", path))


class PasBundle:
    """The Bundle of a request: a Claim, and the resources that it refers to."""

    def __init__(self, bundle: Resource) -> None:
        self.identifier: dict[str, Any] = bundle["identifier"]
        self.claim: Resource = bundle["entry"][0]["resource"]
        self.items = list_objects(self.claim, "item")
        self.linked = LinkedResources(self.claim, lambda reference: self.find_entry(reference).get("resource"))
        self._entries: dict[str, dict[str, Any]] = {}
        for entry in bundle["entry"]:
            self._entries |= {f"{entry['resource']['resourceType']}/{entry['resource'].get('id')}": entry}
            self._entries |= {entry["fullUrl"]: entry}

    def find_entry(self, reference: str) -> dict[str, Any]:
        """Return the entry that a reference names, by its fullUrl or by type and id; empty if there is none."""
        return self._entries.get(reference, {})


def read_bundle(data: Any, max_items: int, *, is_inquiry: bool) -> PasBundle:
    """Return the Bundle of a request; raises FhirError with the place that is not as R4 and the guide want it."""
    if not isinstance(data, dict) or data.get("resourceType") != "Bundle":
        raise problem("Bundle", "the body is not a Bundle", "structure")
    if issues := validate(data):
        raise FhirError(*issues)
    _require(data, "Bundle", "identifier", "type", "timestamp", "entry")
    for number, entry in enumerate(data["entry"]):
        _require(entry, path := f"Bundle.entry[{number}]", "fullUrl", "resource")
        key = f"{entry['resource']['resourceType']}/{entry['resource'].get('id')}"
        if not entry["fullUrl"].startswith("urn:") and not entry["fullUrl"].endswith(f"/{key}"):
            raise problem(f"{path}.fullUrl", f"neither a URN, nor a URL that ends in {key}", "value")
    bundle = PasBundle(data)
    if bundle.claim["resourceType"] != "Claim":
        raise problem(CLAIM_PATH, "the first resource is not the Claim", "structure")
    _require(bundle.claim, CLAIM_PATH, "status", "use", "identifier", "insurer", *(() if is_inquiry else ("item",)))
    if not any(each["focal"] for each in list_objects(bundle.claim, "insurance")):
        raise problem(f"{CLAIM_PATH}.insurance", "none is focal; the guide requires it")
    if len(bundle.items) > max_items:
        raise problem(f"{CLAIM_PATH}.item", f"more than {max_items}; send fewer items at once", "too-costly")
    for number, item in enumerate(() if is_inquiry else bundle.items):
        _check_item(item, f"{CLAIM_PATH}.item[{number}]")
    _check_references(data["entry"], bundle)
    return bundle


def _require(element: Any, path: str, *names: str) -> None:
    for name in names:
        value = element.get(name)
        if not value:
            raise problem(f"{path}.{name}", "missing; the guide requires it")
        if value != _FIXED.get(name, value):
            raise problem(f"{path}.{name}", f"`{value}` (expected: {_FIXED[name]})", "value")


def _check_item(item: dict[str, Any], path: str) -> None:
    if not get_code(item.get("category"), *SERVICE_TYPES):
        raise problem(f"{path}.category", "missing, or of another code system; the guide requires a code of X12 1365")
    for name in ("serviceItemRequestType", "certificationType"):
        if not get_extension_code(item, name):
            raise problem(f"{path}.extension", f"no `extension-{name}` with a code of X12; the guide requires it")


def _check_references(entries: list[dict[str, Any]], bundle: PasBundle) -> None:
    """Refuse references to resources that are not in the Bundle. One with only an identifier is allowed."""
    for number, entry in enumerate(entries):
        is_complete = entry["resource"]["resourceType"] in _COMPLETE_TYPES
        for path, reference in list_references(entry["resource"]) if is_complete else ():
            text = reference["reference"]
            if not text.startswith("#") and not bundle.find_entry(text):
                place = f"Bundle.entry[{number}].resource.{path}"
                raise problem(place, f"`{text[:80]}` is not in the Bundle", "not-found")
