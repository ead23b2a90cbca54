"""A CoverageEligibilityRequest for tests of the reactions between charts and payers."""

from clerkship.formats.fhir.resource import Resource

REQUEST: Resource = {
    "resourceType": "CoverageEligibilityRequest",
    "id": "1",
    "status": "active",
    "purpose": ["benefits"],
    "patient": {"reference": "Patient/ana"},
    "created": "2026-03-02",
    "provider": {"reference": "Organization/clinic"},
    "insurer": {"reference": "Organization/cedar"},
    "insurance": [{"coverage": {"reference": "Coverage/ana-1"}}],
}
