"""The handle of a FHIR sandbox, for Python agents: `sandboxes.get_as(Fhir, "name")`."""

from clerkship.simulators.fhir.handle import Fhir as Fhir
