"""Policies: which version applies, what their documents say, and mistakes in them."""

from datetime import date
from typing import Any

import pytest
from pydantic import ValidationError

from clerkship.model.errors import InputError
from clerkship.payer import SPEC
from clerkship.payer.book import PayerDataset
from clerkship.payer.config import PayerConfig
from clerkship.payer.policies.document import build_document, write_policy_html, write_policy_pdf
from clerkship.payer.policies.policy import Policy, search_versions
from tests.payer.policy_samples import LIBRARY, SPINE_POLICY, build_library

SPINE = Policy.model_validate(SPINE_POLICY)


@pytest.mark.parametrize(
    ("day", "statuses"),
    [
        (date(2025, 2, 28), ["future", "future"]),
        (date(2025, 12, 31), ["in_force", "future"]),
        (date(2026, 1, 1), ["superseded", "in_force"]),
    ],
)
def test_a_version_applies_from_its_first_to_its_last_day(day: date, statuses: list[str]) -> None:
    assert [each.find_status(day) for each in SPINE.versions] == statuses


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ["FED-PA-001 2026.1", "CM-PLN-101 2026.1", "CM-RAD-014 2026.1", "CM-RAD-014 2025.2"]),
        ({"text": "Lumbar SPINE"}, ["CM-RAD-014 2026.1", "CM-RAD-014 2025.2"]),
        ({"text": "six weeks"}, ["CM-RAD-014 2025.2"]),
        ({"text": "cm rad 014", "day": date(2026, 3, 2)}, ["CM-RAD-014 2026.1"]),
        ({"code": "72150", "text": "MRI"}, ["CM-RAD-014 2026.1"]),
        ({"day": date(2025, 6, 1)}, ["CM-RAD-014 2025.2"]),
        ({"code": "27447"}, ["FED-PA-001 2026.1", "CM-PLN-101 2026.1"]),
    ],
)
def test_a_library_is_searched_by_words_code_and_day(asked: dict[str, Any], found: list[str]) -> None:
    policies = [Policy.model_validate(each) for each in LIBRARY]
    assert [f"{policy.id} {version.number}" for policy, version in search_versions(policies, **asked)] == found


def test_a_version_has_its_own_sections_then_those_of_all() -> None:
    assert [each.heading for each in SPINE.list_sections(SPINE.versions[0])] == ["Criteria", "Codes"]


def test_documents_have_the_same_bytes_each_time_and_their_version_on_each_page() -> None:
    long = {**SPINE_POLICY, "sections": [{"heading": "Text", "paragraphs": ["Words. " * 900]}]}
    policy = Policy.model_validate(long)
    document = build_document(policy, policy.versions[1])
    pdf = write_policy_pdf(document)
    assert pdf == write_policy_pdf(document)
    assert b"/Count 3 " in pdf
    assert pdf.count(b"(CM-RAD-014 \xb7 Version 2026.1 \xb7 Effective 01/01/2026)") == 3


def test_html_is_escaped_and_says_what_the_pdf_says() -> None:
    html = write_policy_html(build_document(SPINE, SPINE.versions[1])).decode()
    assert "<p>Four weeks &lt;supervised&gt;.</p>" in html
    assert "Medical policy (rank 3 of 4)" in html
    assert "Cedar Select EPO" in html
    assert "<td>Four weeks instead of six.</td>" in html


def test_the_history_of_a_superseded_version_ends_with_it() -> None:
    old, new = (build_document(SPINE, version).sections[-1].table for version in SPINE.versions)
    assert [row[0] for row in old] == ["Version", "2025.2"]
    assert [row[0] for row in new] == ["Version", "2025.2", "2026.1"]


def test_a_dataset_has_a_pdf_and_an_html_file_for_each_version() -> None:
    library = build_library()
    assert sorted(library.files)[2:6] == [
        "policies/CM-RAD-014_2025.2.html",
        "policies/CM-RAD-014_2025.2.pdf",
        "policies/CM-RAD-014_2026.1.html",
        "policies/CM-RAD-014_2026.1.pdf",
    ]
    assert [record["id"] for record in library.records] == ["CM-RAD-014", "CM-PLN-101", "FED-PA-001"]


OLD, NEW = SPINE_POLICY["versions"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"versions": []}, "at least 1 item"),
        ({"versions": [OLD, {**NEW, "number": "2025.2"}]}, "two versions have the number 2025.2"),
        ({"versions": [NEW, OLD]}, "it is before that of 2026.1; sort them"),
        ({"versions": [OLD, {**NEW, "effective": "2025-12-31"}]}, "version 2025.2 applies on this day, too"),
        ({"versions": [{**OLD, "until": None}, NEW]}, "version 2025.2 applies on this day, too"),
        ({"versions": [{**OLD, "until": "2025-01-01"}]}, "is before `effective`"),
        ({"versions": [{**OLD, "number": 2025.2}]}, "valid string"),
        ({"versions": [{**OLD, "sections": []}]}, "at least 1 item"),
        ({"kind": "law"}, "'federal_rule', 'plan_document', 'medical_policy' or 'guideline'"),
        ({"id": "spine"}, "should match pattern"),
    ],
)
def test_a_mistake_in_a_policy_is_an_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Policy.model_validate({**SPINE_POLICY, **changes})
    assert message in str(caught.value)


def test_an_unknown_payer_or_plan_is_an_error() -> None:
    base = SPEC.prepare([build_library({**SPINE_POLICY, "plans": ["cedar-select-ep"]})])
    assert isinstance(base, PayerDataset)
    with pytest.raises(InputError) as caught:
        base.open_book(PayerConfig.model_validate({}))
    assert [str(each) for each in caught.value.problems] == [
        "the policy CM-RAD-014 is of the unknown payer `CM002`",
        "the policy CM-RAD-014 is of the unknown plan `cedar-select-ep`; did you mean `cedar-select-epo`?",
    ]


def test_two_policies_with_one_id_are_an_error() -> None:
    with pytest.raises(ValidationError, match="two policies have the id CM-RAD-014"):
        build_library(SPINE_POLICY, SPINE_POLICY)
