"""The resources that a request refers to: those that it contains, and those of its chart (R4 references)."""

from collections.abc import Iterator, Mapping
from typing import Any

from clerkship.formats.fhir.reference import parse_reference
from clerkship.formats.fhir.resource import Resource, list_objects
from clerkship.simulators.fhir.state import FhirState

NPI_SYSTEM = "http://hl7.org/fhir/sid/us-npi"


class LinkedResources:
    """Finds the resources that a resource refers to."""

    def __init__(self, resource: Resource, chart: FhirState) -> None:
        self._chart = chart
        contained = list_objects(resource, "contained")
        self._contained = {f"#{item['id']}": item for item in contained if isinstance(item.get("id"), str)}

    def find(self, reference: Any) -> Resource:
        """Return the resource that a Reference names; an empty one if it is in neither the resource nor the chart."""
        text = reference.get("reference") if isinstance(reference, Mapping) else None
        if not isinstance(text, str):
            return {}
        if text.startswith("#"):
            return self._contained.get(text, {})
        target = parse_reference(text)
        return (self._chart.resource(target.key) if target is not None else None) or {}

    def list_identifiers(self, reference: Any) -> list[Mapping[str, Any]]:
        """Return the identifier in a Reference, and those of the resource that it names."""
        logical = reference.get("identifier") if isinstance(reference, Mapping) else None
        stated = [logical] if isinstance(logical, Mapping) else []
        identifiers = [*stated, *list_objects(self.find(reference), "identifier")]
        return [identifier for identifier in identifiers if get_text(identifier, "value")]

    def find_number(self, reference: Any) -> str:
        """Return the first identifier of what a Reference names; empty if it has none."""
        return next((get_text(item, "value") for item in self.list_identifiers(reference)), "")

    def find_npi(self, reference: Any) -> str:
        """Return the NPI of an organization, a practitioner, or the practitioner or organization of a role.

        Where no identifier is called an NPI, it is the first one.
        """
        candidates = list(self._iter_provider_references(reference))
        for candidate in candidates:
            for identifier in self.list_identifiers(candidate):
                if identifier.get("system") == NPI_SYSTEM:
                    return get_text(identifier, "value")
        return next(filter(None, map(self.find_number, candidates)), "")

    def _iter_provider_references(self, reference: Any) -> Iterator[Any]:
        yield reference
        role = self.find(reference)
        if role.get("resourceType") == "PractitionerRole":
            yield role.get("practitioner")
            yield role.get("organization")


def get_text(data: Any, name: str) -> str:
    """Return a text element without surrounding blanks; empty if it is not there."""
    value = data.get(name) if isinstance(data, Mapping) else None
    return value.strip() if isinstance(value, str) else ""
