"""A small library of policies for tests."""

from typing import Any

from clerkship.model.dataset import Dataset
from clerkship.payer.policies.dataset import PoliciesDatasetFile, build_policy_dataset

CRITERIA = {"heading": "Criteria", "criteria": ["Six weeks of conservative treatment.", "An examination after it."]}
SPINE_POLICY: dict[str, Any] = {
    "id": "CM-RAD-014",
    "title": "Imaging of the lumbar spine",
    "publisher": "Cedar Mutual Insurance",
    "kind": "medical_policy",
    "payer": "CM002",
    "plans": ["cedar-select-epo"],
    "versions": [
        {
            "number": "2025.2",
            "effective": "2025-03-01",
            "until": "2025-12-31",
            "services": ["72148"],
            "sections": [CRITERIA],
        },
        {
            "number": "2026.1",
            "effective": "2026-01-01",
            "services": ["72148", "72149-72158"],
            "changes": "Four weeks instead of six.",
            "sections": [{"heading": "Criteria", "paragraphs": ["Four weeks <supervised>."]}],
        },
    ],
    "sections": [
        {"heading": "Codes", "table": [["Code", "Service"], ["72148", "MRI of the lumbar spine"]]},
        {"heading": "Criteria", "paragraphs": ["No version says this."]},
    ],
}
PLAN_DOCUMENT: dict[str, Any] = {
    "id": "CM-PLN-101",
    "title": "Cedar Select EPO",
    "publisher": "Cedar Mutual Insurance",
    "kind": "plan_document",
    "payer": "CM002",
    "versions": [{"number": "2026.1", "effective": "2026-01-01", "sections": [{"heading": "Limits"}]}],
}
FEDERAL_RULE: dict[str, Any] = {
    "id": "FED-PA-001",
    "title": "Times of a decision",
    "publisher": "Library",
    "kind": "federal_rule",
    "versions": [{"number": "2026.1", "effective": "2026-01-01", "sections": [{"heading": "Times"}]}],
}
LIBRARY = (SPINE_POLICY, PLAN_DOCUMENT, FEDERAL_RULE)


def build_library(*policies: dict[str, Any]) -> Dataset:
    """Return a dataset of policies; of all samples by default."""
    written = {"name": "library", "type": "policies", "policies": list(policies or LIBRARY)}
    return build_policy_dataset(PoliciesDatasetFile.model_validate(written))
