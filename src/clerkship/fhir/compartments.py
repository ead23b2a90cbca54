"""Compartments: everything that belongs to a patient, an encounter, a practitioner (R4 CompartmentDefinition)."""

from clerkship.fhir.chart import View
from clerkship.fhir.search.compartment import compartment_parameters, compartment_types, types_in
from clerkship.fhir.search.criteria import compartment_criterion
from clerkship.fhir.search.match import Search

__all__ = ["compartment_parameters", "compartment_types", "in_compartment", "types_in"]


def in_compartment(view: View, compartment: str, id: str, *, base: str = "") -> list[str]:
    """The keys of what is in somebody's compartment, they themselves first, then by type and id."""
    search, key = Search(view, base), f"{compartment}/{id}"
    found: set[str] = set()
    for type in types_in(compartment):
        criterion = compartment_criterion(type, compartment_parameters(compartment, type), key, base)
        found.update(search.matching(type, [criterion]).keys)
    return [*([key] if key in found else []), *sorted(found - {key})]
