"""The answer of a payer as a CoverageEligibilityResponse."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from clerkship.formats.fhir.resource import Resource
from clerkship.formats.fhir.validation import validate
from clerkship.payer.answer import Benefit, Coverage, EligibilityAnswer, Member, OtherCoverage, Rejection
from clerkship.reactions.payer_codes import (
    REJECTION_REASONS,
    SERVICE_TYPES,
    build_category,
    find_service_type,
)
from clerkship.reactions.payer_to_fhir import build_response
from tests.reactions.eligibility import REQUEST

NOW = datetime(2026, 3, 2, 14, 0, tzinfo=UTC)
COVERAGE = Coverage(
    id="Coverage/ana-1",
    payer_id="CM002",
    plan="cedar-select-epo",
    plan_name="Cedar Select EPO",
    start=date(2025, 1, 1),
    end=date(2026, 12, 31),
)
MEMBER = Member(
    key="CM002/CM1/0",
    payer_id="CM002",
    member_id="CM1",
    family="Silva",
    given=("Ana",),
    birth_date=date(1965, 3, 15),
    patient="Patient/ana",
    coverages=(COVERAGE,),
)


def answer(*benefits: Benefit, **fields: Any) -> EligibilityAnswer:
    """Return the answer about a coverage in force."""
    shared = {"member": MEMBER, "coverage": COVERAGE, "status": "active", "service_date": date(2026, 3, 2)}
    return EligibilityAnswer.model_validate({**shared, "benefits": benefits, **fields})


def respond(reply: EligibilityAnswer, missing: tuple[str, ...] = (), **elements: Any) -> Resource:
    """Return a response that R4 allows."""
    response = build_response({**REQUEST, **elements}, reply, NOW, lambda key: key not in missing)
    issues = validate({**response, "id": "1"})
    assert [issue for issue in issues if issue.severity in ("error", "fatal")] == []
    return response


def items_of(response: Resource) -> list[dict[str, Any]]:
    """Return the items of the only insurance."""
    [insurance] = response["insurance"]
    items: list[dict[str, Any]] = insurance.get("item", [])
    return items


def code_of(concept: dict[str, Any]) -> str:
    """Return the first code of a CodeableConcept."""
    code: str = concept["coding"][0]["code"]
    return code


def test_response_repeats_the_parties_of_the_request() -> None:
    response = respond(answer())
    assert response["patient"] == {"reference": "Patient/ana"}
    assert response["insurer"] == {"reference": "Organization/cedar"}
    assert response["requestor"] == {"reference": "Organization/clinic"}
    assert response["request"] == {"reference": "CoverageEligibilityRequest/1"}
    assert (response["outcome"], response["purpose"]) == ("complete", ["benefits"])
    assert response["created"] == "2026-03-02T14:00:00+00:00"


def test_coverage_in_force_has_plan_and_period() -> None:
    assert respond(answer())["insurance"] == [
        {
            "coverage": {"reference": "Coverage/ana-1", "display": "Cedar Select EPO"},
            "inforce": True,
            "benefitPeriod": {"start": "2025-01-01", "end": "2026-12-31"},
        }
    ]


@pytest.mark.parametrize(("status", "text"), [("terminated", "has ended"), ("future", "has not begun")])
def test_coverage_not_in_force_has_no_items(status: str, text: str) -> None:
    benefit = Benefit(kind="inactive", service_types=("plan",))
    response = respond(answer(benefit, status=status))
    [insurance] = response["insurance"]
    assert (response["outcome"], insurance["inforce"], items_of(response)) == ("complete", False, [])
    assert text in response["disposition"]


def test_service_date_of_the_answer_is_stated_if_the_request_has_none() -> None:
    assert respond(answer())["servicedDate"] == "2026-03-02"
    period = {"start": "2026-04-01", "end": "2026-04-30"}
    response = respond(answer(), servicedPeriod=period)
    assert (response["servicedPeriod"], "servicedDate" in response) == (period, False)


def test_copay_and_coinsurance_of_a_network_are_one_item() -> None:
    response = respond(
        answer(
            Benefit(kind="active", service_types=("office_visit",), in_network=True),
            Benefit(kind="copay", service_types=("office_visit",), period="visit", amount=25, in_network=True),
            Benefit(kind="coinsurance", service_types=("office_visit",), share=0.2, in_network=True),
            Benefit(kind="coinsurance", service_types=("office_visit",), share=0.4, in_network=False),
        )
    )
    inside, outside = items_of(response)
    assert (code_of(inside["category"]), code_of(inside["network"])) == ("98", "in")
    assert [(code_of(each["type"]), each) for each in inside["benefit"]] == [
        ("copay", {"type": inside["benefit"][0]["type"], "allowedMoney": {"value": 25, "currency": "USD"}}),
        ("copay-percent", {"type": inside["benefit"][1]["type"], "allowedUnsignedInt": 20}),
    ]
    assert (code_of(outside["network"]), outside["benefit"][0]["allowedUnsignedInt"]) == ("out", 40)


def test_numbers_that_are_not_whole_are_texts() -> None:
    shared: dict[str, Any] = {"kind": "limit", "service_types": ("physical_therapy",), "unit": "visits"}
    response = respond(
        answer(
            Benefit(kind="coinsurance", service_types=("dental",), share=0.125),
            Benefit(kind="coinsurance", service_types=("vision",), share=0.29),
            Benefit(**shared, period="calendar_year", quantity=20),
            Benefit(**shared, period="remaining", quantity=17.5),
        )
    )
    eighth, percent, visits = (item["benefit"][0] for item in items_of(response))
    assert (eighth["allowedString"], percent["allowedUnsignedInt"]) == ("12.5", 29)
    assert (visits["allowedUnsignedInt"], visits["usedString"]) == (20, "2.5")


def test_deductible_states_what_is_allowed_and_used() -> None:
    shared: dict[str, Any] = {"kind": "deductible", "service_types": ("plan",), "level": "individual"}
    response = respond(
        answer(
            Benefit(**shared, period="calendar_year", amount=1500),
            Benefit(**shared, period="remaining", amount=1079.55),
        )
    )
    [item] = items_of(response)
    assert (code_of(item["category"]), code_of(item["unit"]), code_of(item["term"])) == ("30", "individual", "annual")
    [benefit] = item["benefit"]
    assert code_of(benefit["type"]) == "deductible"
    assert benefit["allowedMoney"]["value"] == 1500
    assert benefit["usedMoney"]["value"] == 420.45


def test_levels_and_terms_are_separate_items() -> None:
    shared: dict[str, Any] = {"kind": "deductible", "service_types": ("plan",), "amount": 1000}
    response = respond(
        answer(
            Benefit(**shared, period="calendar_year", level="individual"),
            Benefit(**shared, period="calendar_year", level="family"),
            Benefit(**shared, period="lifetime", level="individual"),
        )
    )
    assert [(code_of(item["unit"]), code_of(item["term"])) for item in items_of(response)] == [
        ("individual", "annual"),
        ("family", "annual"),
        ("individual", "lifetime"),
    ]


def test_visits_that_remain_of_a_lifetime_limit_are_in_its_item() -> None:
    shared: dict[str, Any] = {"kind": "limit", "service_types": ("physical_therapy",), "unit": "visits"}
    response = respond(
        answer(Benefit(**shared, period="lifetime", quantity=30), Benefit(**shared, period="remaining", quantity=12))
    )
    [item] = items_of(response)
    [benefit] = item["benefit"]
    assert (code_of(item["term"]), code_of(benefit["type"])) == ("lifetime", "visit")
    assert (benefit["allowedUnsignedInt"], benefit["usedUnsignedInt"]) == (30, 18)


def test_remaining_amount_without_a_total_is_not_stated_as_allowed_deductible() -> None:
    response = respond(answer(Benefit(kind="deductible", service_types=("plan",), period="remaining", amount=80)))
    [item] = items_of(response)
    assert item["benefit"] == [
        {"type": {"text": "Remaining deductible"}, "allowedMoney": {"value": 80, "currency": "USD"}}
    ]


def test_out_of_pocket_maximum_is_named_by_text() -> None:
    shared: dict[str, Any] = {"kind": "out_of_pocket_maximum", "service_types": ("plan",), "level": "family"}
    [item] = items_of(respond(answer(Benefit(**shared, period="calendar_year", amount=9000))))
    assert item["benefit"][0]["type"] == {"text": "Out-of-pocket maximum"}


def test_service_that_is_not_covered_is_excluded() -> None:
    [item] = items_of(respond(answer(Benefit(kind="not_covered", service_types=("vision",), text="Not in this plan."))))
    assert (item["excluded"], item["description"]) == (True, "Not in this plan.")


def test_every_item_of_a_service_states_whether_it_needs_an_authorization() -> None:
    benefits = (
        Benefit(kind="active", service_types=("mri_ct",), procedure_code="72148", authorization_required=True),
        Benefit(kind="copay", service_types=("mri_ct",), procedure_code="72148", amount=100, in_network=True),
        Benefit(kind="active", service_types=("office_visit",)),
    )
    items = items_of(respond(answer(*benefits)))
    assert [item.get("authorizationRequired") for item in items] == [True, True, None]
    assert [code_of(item["productOrService"]) for item in items if "productOrService" in item] == ["72148", "72148"]
    only_authorization = items_of(respond(answer(*benefits), purpose=["auth-requirements"]))
    assert [item["authorizationRequired"] for item in only_authorization] == [True, True]
    assert all("benefit" not in item for item in only_authorization)


def test_validation_asks_for_no_benefits() -> None:
    benefit = Benefit(kind="copay", service_types=("plan",), amount=25)
    response = respond(answer(benefit), purpose=["validation"])
    assert (response["insurance"][0]["inforce"], items_of(response)) == (True, [])


@pytest.mark.parametrize("reason", REJECTION_REASONS)
def test_rejection_is_an_error_with_a_code(reason: str) -> None:
    rejection = Rejection.model_validate({"reason": reason, "subject": "subscriber", "text": "No such member."})
    response = respond(EligibilityAnswer(rejection=rejection))
    [error] = response["error"]
    assert (response["outcome"], response["disposition"]) == ("error", "No such member.")
    assert (error["code"]["text"], error["code"]["coding"][0]["system"]) == (
        "No such member.",
        "https://codesystem.x12.org/005010/901",
    )
    assert "insurance" not in response


def test_other_coverage_is_named_in_the_disposition() -> None:
    other = OtherCoverage(payer_id="EV004", payer_name="Evergreen Senior Health Plan", member_id="EV1", order=1)
    response = respond(answer(other_coverages=(other,)))
    assert "Evergreen Senior Health Plan also covers the patient, and pays first." in response["disposition"]


def test_contained_patient_of_the_request_is_named_by_the_record_of_the_payer() -> None:
    assert respond(answer(), patient={"reference": "#p"})["patient"] == {"reference": "Patient/ana"}
    unknown = EligibilityAnswer(rejection=Rejection(reason="unknown_member", subject="subscriber", text="Unknown."))
    assert respond(unknown, patient={"reference": "#p"})["patient"] == {"display": "see the request"}
    named = {"reference": "#p", "display": "Ana Silva"}
    assert respond(unknown, patient=named)["patient"] == {"display": "Ana Silva"}


def test_response_refers_only_to_resources_in_the_chart() -> None:
    response = respond(answer(), missing=("Organization/cedar", "Coverage/ana-1"), insurance=[])
    assert response["insurer"] == {"display": "Organization/cedar"}
    assert response["insurance"][0]["coverage"] == {"display": "Cedar Select EPO"}


@pytest.mark.parametrize("service_type", SERVICE_TYPES)
def test_each_service_type_has_a_category_that_reads_back(service_type: Any) -> None:
    category = build_category(service_type)
    assert {find_service_type(coding["code"]) for coding in category["coding"]} == {service_type}
