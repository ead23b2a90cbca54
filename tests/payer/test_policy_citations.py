"""Which policies and versions a text names, in any spelling, and which of them it sets aside."""

import pytest

from clerkship.payer.policies.citations import PolicyReader
from clerkship.payer.policies.policy import Policy
from tests.payer.policy_samples import LIBRARY, SPINE_POLICY

READER = PolicyReader([*map(Policy.model_validate, LIBRARY)])
NEW, OLD = "CM-RAD-014 2026.1", "CM-RAD-014 2025.2"


def read(text: str) -> list[str]:
    """Return what a text names; in parentheses what it sets aside."""
    return [f"({each.name})" if each.is_set_aside else each.name for each in READER.read(text)]


@pytest.mark.parametrize(
    "text",
    [
        "CM-RAD-014 version 2026.1",
        "cm rad 14, v2026.1",
        "CMRAD014 (2026.1)",
        "CM-RAD-014-2026.1",
        "CM\u2011RAD\u2011014 v. 2026.1",
        "policy 014 version 2026.1",
        "Medical policy no. 14, version 2026.1",
        "version 2026.1 of the medical policy CM-RAD-014",
        "CM-RAD-014 effective 2026-01-01",
        "CM-RAD-014 (effective January 1, 2026)",
        "policy CM-RAD-014\nversion 2026.1",
        "CM-RAD-014, version 2026.1. It was read over FHIR version 4.0.1.",
    ],
)
def test_a_policy_and_its_version_are_read_in_any_spelling(text: str) -> None:
    assert read(text) == [NEW]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("CM-RAD-014 asks for 14 weeks from 2026-01-12", ["CM-RAD-014"]),
        ("CM-RAD-0141 and XCM-RAD-014", []),
        ("the plan asks for 2026.1", []),
        ('{"policy": "CM-RAD-014", "version": "2026.1"}', ["CM-RAD-014", NEW]),
        ("CM-RAD-014 version 2027.9", ["CM-RAD-014 2027.9"]),
        ("CM-RAD-014 for 2 visits on 2026-1-5", ["CM-RAD-014"]),
        ("CM-PLN-101 2026.1 and CM-RAD-014 2025.2", ["CM-PLN-101 2026.1", OLD]),
    ],
)
def test_only_what_is_named_is_read(text: str, named: list[str]) -> None:
    assert read(text) == named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("CM-RAD-014 2026.1 (supersedes 2025.2)", [NEW, f"({OLD})"]),
        ("CM-RAD-014 version 2025.2 was superseded by version 2026.1", [f"({OLD})", NEW]),
        ("CM-RAD-014 v2026.1 replaced v2025.2", [NEW, f"({OLD})"]),
        ("CM-RAD-014 v2025.2 (superseded), v2026.1", [f"({OLD})", NEW]),
        ("CM-RAD-014 2025.2 is no longer in force; CM-RAD-014 2026.1 applies", [f"({OLD})", NEW]),
        ("The earlier version 2025.2 of CM-RAD-014 asked for six. CM-RAD-014 2026.1 asks for four.", [f"({OLD})", NEW]),
        ("CM-PLN-101 2026.1 takes precedence over CM-RAD-014", ["CM-PLN-101 2026.1", "(CM-RAD-014)"]),
        ("CM-RAD-014 gives way to CM-PLN-101", ["(CM-RAD-014)", "CM-PLN-101"]),
        ("not CM-RAD-014 but CM-PLN-101", ["(CM-RAD-014)", "CM-PLN-101"]),
        ("CM-RAD-014 2025.2 supersedes 2026.1", [OLD, f"({NEW})"]),
        ("CM-RAD-014 version 2025.2 applies.\nIt was superseded.", [OLD]),
    ],
)
def test_what_a_sentence_says_to_give_way_is_set_aside(text: str, named: list[str]) -> None:
    assert read(text) == named


def test_a_number_that_two_policies_have_names_neither() -> None:
    reader = PolicyReader(
        [Policy.model_validate(each) for each in (SPINE_POLICY, {**SPINE_POLICY, "id": "HL-MED-014"})]
    )
    assert reader.read("policy 014") == []
    assert [each.policy for each in reader.read("HL MED 14")] == ["HL-MED-014"]
