"""What the reactions between a chart and its payers read from a CoverageEligibilityRequest."""

from collections.abc import Mapping
from typing import Any

from clerkship.formats.fhir.resource import list_objects

REQUEST_TYPE = "CoverageEligibilityRequest"


def find_asked_coverage(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reference to the coverage that a request is about: the focal one, else the first."""
    insurances = list_objects(request, "insurance")
    focal = [insurance for insurance in insurances if insurance.get("focal") is True]
    coverage = [*focal, *insurances][0].get("coverage") if insurances else None
    return coverage if isinstance(coverage, dict) else {}
