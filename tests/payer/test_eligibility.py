"""Eligibility: which policy is in force, what it pays, and what is rejected."""

import re
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from clerkship.payer.answer import Benefit, EligibilityAnswer, Member
from clerkship.payer.events import EligibilityChecked
from clerkship.payer.inquiry import PersonQuery
from clerkship.payer.plan import load_shipped_plans
from tests.payer.clinic import CLINIC, JANE, JANE_ASKED, TODAY, PayerClinic, inquiry, load_dataset

REVENUE = Path(__file__).parents[2] / "suites" / "revenue"
AMOUNT_LEFT = re.compile(r"path: \w*(?:deductible|out_of_pocket)_remaining, expected: ([\d.]+)")
MAXIMA = ("deductible", "out_of_pocket_maximum")
LEFT_OF_JANE = [232.97, 1091.55, 3596.19, 7873.23]
VISITS_OF_JANE = 11


def ask(clinic: PayerClinic, subscriber: PersonQuery = JANE_ASKED, **fields: Any) -> EligibilityAnswer:
    return clinic.payer.check_eligibility(clinic.action, inquiry(subscriber, **fields))


def reason_of(answer: EligibilityAnswer) -> tuple[str, str] | None:
    return (answer.rejection.reason, answer.rejection.subject) if answer.rejection else None


def find(answer: EligibilityAnswer, **fields: Any) -> list[Benefit]:
    return [each for each in answer.benefits if all(getattr(each, name) == value for name, value in fields.items())]


def with_coverages(*coverages: dict[str, Any], **fields: Any) -> list[Any]:
    return [{**JANE, "coverages": list(coverages), **fields}]


def to_person(member: Member) -> PersonQuery:
    return PersonQuery(
        member_id=member.member_id, family=member.family, given=member.given[0], birth_date=member.birth_date
    )


def test_every_member_of_the_dataset_is_found_with_id_name_and_birth_date() -> None:
    clinic = PayerClinic()
    for member in load_dataset().members.values():
        answer = ask(clinic, to_person(member), payer_id=member.payer_id)
        assert answer.rejection is None
        assert answer.member == member
        assert answer.coverage is not None
        expected = "active" if answer.coverage.end is None or answer.coverage.end >= TODAY else "terminated"
        assert answer.status == expected


def test_every_plan_of_the_dataset_ships() -> None:
    plans = {coverage.plan for member in load_dataset().members.values() for coverage in member.coverages}
    assert len(plans) == 8
    assert plans <= load_shipped_plans().keys()


def test_a_person_with_an_id_of_its_own_is_asked_for_as_a_subscriber_also_if_another_pays() -> None:
    assert {member.relationship for member in load_dataset().members.values()} == {"self"}


def test_a_plan_without_rules_has_the_benefits_of_the_default_plan() -> None:
    members = with_coverages({"plan": "acme-gold", "start": "2024-01-01"})
    answer = ask(PayerClinic(members=members, plans={"acme-gold": {}}))
    assert answer.coverage is not None
    assert answer.coverage.plan_name == "acme-gold"
    [deductible] = find(answer, kind="deductible", level="individual", period="calendar_year")
    assert deductible.amount == load_shipped_plans()["default"].deductible.individual


def test_keys_of_a_plan_in_the_config_replace_those_of_the_shipped_plan() -> None:
    clinic = PayerClinic(plans={"cedar-select-epo": {"not_covered": ["pharmacy"]}})
    answer = ask(clinic)
    assert find(answer, kind="not_covered", in_network=None)[0].service_types == ("pharmacy",)
    [copay] = find(answer, kind="copay", service_types=("office_visit",))
    assert copay.amount == 25


@pytest.mark.parametrize(
    ("day", "status", "plan"),
    [
        (None, "active", "cedar-select-epo"),
        (date(2024, 12, 31), "active", "cedar-choice-hmo"),
        (date(2025, 1, 1), "active", "cedar-select-epo"),
        (date(2026, 6, 30), "active", "cedar-select-epo"),
        (date(2026, 7, 1), "terminated", "cedar-select-epo"),
    ],
)
def test_the_answer_is_about_the_policy_in_force_on_the_day(day: date | None, status: str, plan: str) -> None:
    clinic = PayerClinic(
        members=with_coverages(
            {"plan": "cedar-choice-hmo", "start": "2020-01-01", "end": "2024-12-31"},
            {"plan": "cedar-select-epo", "start": "2025-01-01", "end": "2026-06-30"},
        )
    )
    answer = ask(clinic, service_date=day)
    assert answer.status == status
    assert answer.coverage is not None
    assert answer.coverage.plan == plan
    kinds = {benefit.kind for benefit in answer.benefits}
    assert kinds == {"inactive"} if status == "terminated" else "active" in kinds


def test_a_policy_that_starts_later_is_future() -> None:
    answer = ask(PayerClinic(members=with_coverages({"plan": "cedar-choice-hmo", "start": "2026-04-01"})))
    assert answer.status == "future"
    assert [benefit.kind for benefit in answer.benefits] == ["inactive"]


def test_other_coverages_of_the_same_patient_are_listed_with_their_order() -> None:
    second = {
        **JANE,
        "payer": "HL001",
        "member_id": "HL77",
        "patient": "Patient/jane",
        "coverages": [{"plan": "harborlight-gold-ppo", "start": "2024-01-01", "order": 2}],
        "dependents": [],
    }
    expired = {
        **second,
        "payer": "EV004",
        "member_id": "EV1",
        "coverages": [{"start": "2020-01-01", "end": "2021-01-01"}],
    }
    clinic = PayerClinic(members=[{**JANE, "patient": "Patient/jane"}, second, expired])
    [other] = ask(clinic).other_coverages
    assert (other.payer_id, other.payer_name, other.member_id, other.order) == (
        "HL001", "Harborlight Health Plan", "HL77", 2,
    )  # fmt: skip


def test_two_payers_of_a_patient_of_the_dataset_name_each_other() -> None:
    clinic = PayerClinic()
    book = clinic.payer.book
    pairs = [keys for keys in book.keys_by_patient.values() if len(keys) == 2]
    both = [
        (book.members[first], book.members[second])
        for first, second in pairs
        if all(book.members[key].coverages[0].end is None for key in (first, second))
    ]
    assert both
    for first, second in both:
        answer = ask(clinic, to_person(first), payer_id=first.payer_id)
        assert [each.member_id for each in answer.other_coverages] == [second.member_id]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"payer_id": "XX999"}, ("unknown_payer", "payer")),
        ({"payer_id": "HL001"}, ("inactive_payer", "payer")),
        ({"payer_id": "EV004"}, ("payer_unavailable", "payer")),
        ({"provider_id": "1234567893"}, ("unknown_provider", "provider")),
        ({"service_date": date(2024, 2, 1)}, ("service_date_too_early", "request")),
        ({"service_date": date(2027, 3, 5)}, ("service_date_too_late", "request")),
    ],
)
def test_a_request_that_the_payer_cannot_process_is_rejected(fields: dict[str, Any], reason: tuple[str, str]) -> None:
    clinic = PayerClinic(payers={"HL001": {"status": "inactive"}, "EV004": {"status": "unavailable"}})
    answer = ask(clinic, **fields)
    assert reason_of(answer) == reason
    assert answer.benefits == ()


def test_days_of_service_within_two_years_and_one_year_are_answered() -> None:
    clinic = PayerClinic()
    assert ask(clinic, service_date=date(2024, 3, 2)).rejection is None
    assert ask(clinic, service_date=date(2027, 3, 2)).rejection is None


def find_left(answer: EligibilityAnswer, kind: str, level: str = "individual") -> float | None:
    return find(answer, kind=kind, level=level, period="remaining")[0].amount


def test_no_two_members_of_a_plan_have_the_same_amounts_left() -> None:
    clinic, plans = PayerClinic(), load_shipped_plans()
    deductibles, maxima = defaultdict[str, list[float | None]](list), defaultdict[str, list[float | None]](list)
    for member in load_dataset().members.values():
        answer = ask(clinic, to_person(member), payer_id=member.payer_id)
        if answer.status == "active" and answer.coverage:
            deductibles[answer.coverage.plan].append(find_left(answer, "deductible"))
            maxima[answer.coverage.plan].append(find_left(answer, "out_of_pocket_maximum"))
    assert sum(map(len, deductibles.values())) == 95
    for plan, amounts in deductibles.items():
        assert len(set(amounts)) == (len(amounts) if plans[plan].deductible.individual else 1), plan
    assert {plan for plan, amounts in maxima.items() if len(set(amounts)) < len(amounts)} == set()


def test_amount_that_a_task_of_the_revenue_suite_asks_for_is_that_of_one_member_alone() -> None:
    clinic, amounts = PayerClinic(), Counter[float | None]()
    for member in load_dataset().members.values():
        answer = ask(clinic, to_person(member), payer_id=member.payer_id)
        amounts.update(benefit.amount for benefit in answer.benefits if benefit.period == "remaining")
    texts = [path.read_text(encoding="utf-8") for path in (REVENUE / "tasks").glob("*.yml")]
    asked = [float(amount) for text in texts for amount in AMOUNT_LEFT.findall(text)]
    assert len(asked) == 9
    assert [amount for amount in asked if amounts[amount] > 1] == []


def test_what_a_member_has_used_follows_from_its_key_alone() -> None:
    """A changed derivation changes the answers of every suite: then this test and the suites change with it."""
    answer = ask(PayerClinic(), service_types=("physical_therapy",))
    left = [find_left(answer, kind, level) for kind in MAXIMA for level in ("individual", "family")]
    assert left == LEFT_OF_JANE
    assert find(answer, kind="limit", period="remaining")[0].quantity == VISITS_OF_JANE


def test_what_was_paid_toward_the_deductible_counts_toward_the_maximum_and_for_the_family() -> None:
    clinic = PayerClinic()
    subscriber, *dependents = [
        ask(clinic),
        *(ask(clinic, dependent=PersonQuery(given=name, birth_date=date(2015, 3, 1))) for name in ("Tim", "Tom")),
    ]
    met = [1200 - (find_left(each, "deductible") or 0) for each in (subscriber, *dependents)]
    maxima = [6000 - (find_left(each, "out_of_pocket_maximum") or 0) for each in (subscriber, *dependents)]
    assert all(0 < paid < maximum for paid, maximum in zip(met, maxima, strict=True))
    assert len(set(met)) == 3
    for answer in (subscriber, *dependents):
        assert find_left(answer, "deductible", "family") == pytest.approx(2400 - sum(met))


def test_a_plan_that_states_what_is_met_states_it_for_all_its_members() -> None:
    deductible = {"individual": 1000, "family": 3000, "individual_met": 400, "family_met": 700}
    limits = [{"service_type": "physical_therapy", "quantity": 10, "used": 3}]
    plan = {"deductible": deductible, "limits": limits}
    used = {"CM-555 000 111": {"deductible_met": 500}}
    for accumulators, left, of_family in (({}, 600, 2300), (used, 500, 2200)):
        clinic = PayerClinic(plans={"cedar-select-epo": plan}, accumulators=accumulators)
        answer = ask(clinic, service_types=("physical_therapy",))
        assert (find_left(answer, "deductible"), find_left(answer, "deductible", "family")) == (left, of_family)
        assert find(answer, kind="limit", period="remaining")[0].quantity == 7


def test_limits_and_deductible_have_what_remains_of_the_accumulators() -> None:
    used = {"CM-555 000 111": {"deductible_met": 1000, "used": {"physical_therapy": 18}}}
    answer = ask(PayerClinic(accumulators=used), service_types=("physical_therapy",))
    [remaining] = find(answer, kind="deductible", level="individual", period="remaining")
    assert remaining.amount == 200
    [visits] = find(answer, kind="limit", period="remaining")
    assert (visits.quantity, visits.unit) == (2, "visits")
    [total] = find(answer, kind="limit", period="calendar_year")
    assert total.quantity == 20


def test_what_was_used_beyond_a_limit_leaves_nothing() -> None:
    used = {"CM-555 000 111": {"deductible_met": 5000, "used": {"physical_therapy": 25}}}
    answer = ask(PayerClinic(accumulators=used), service_types=("physical_therapy",))
    assert find(answer, kind="limit", period="remaining")[0].quantity == 0
    assert find(answer, kind="deductible", level="individual", period="remaining")[0].amount == 0


def test_copay_and_coinsurance_differ_in_and_out_of_network() -> None:
    members = with_coverages({"plan": "harborlight-gold-ppo", "start": "2024-01-01"})
    answer = ask(PayerClinic(members=members), service_types=("office_visit",))
    assert [(each.amount, each.in_network) for each in find(answer, kind="copay")] == [(20, True)]
    assert [(each.share, each.in_network) for each in find(answer, kind="coinsurance")] == [(0.4, False)]


def test_a_plan_without_benefits_out_of_network_says_so() -> None:
    answer = ask(PayerClinic(), service_types=("office_visit",))
    [refused] = find(answer, kind="not_covered", in_network=False)
    assert refused.service_types == ("office_visit",)


def test_a_service_type_that_is_not_covered_is_named() -> None:
    answer = ask(PayerClinic(), service_types=("dental", "office_visit"))
    assert find(answer, kind="not_covered", in_network=None)[0].service_types == ("dental",)
    assert find(answer, kind="active")[0].service_types == ("office_visit",)


def test_a_procedure_is_answered_with_its_service_type_and_whether_it_needs_an_authorization() -> None:
    answer = ask(PayerClinic(), procedure_codes=("72148", "99213", "98940"))
    by_code = {each.procedure_code: each for each in answer.benefits if each.procedure_code}
    assert (by_code["72148"].service_types, by_code["72148"].authorization_required) == (("mri_ct",), True)
    assert (by_code["99213"].service_types, by_code["99213"].authorization_required) == (("office_visit",), False)


def test_the_network_of_a_provider_decides_in_network() -> None:
    providers = {"1234567893": {"name": "Far Clinic", "networks": ["harborlight-*"]}, CLINIC: {"networks": "cedar-*"}}
    clinic = PayerClinic(providers=providers)
    assert ask(clinic).in_network is True
    answer = ask(clinic, provider_id="1234567893")
    assert answer.in_network is False
    assert answer.provider_name == "Far Clinic"
    assert ask(clinic).provider_name == "Riverbend Family Health Center"


def test_a_provider_can_be_taken_off_file() -> None:
    assert reason_of(ask(PayerClinic(providers={CLINIC: {"on_file": False}}))) == ("unknown_provider", "provider")


def test_the_event_has_the_inquiry_the_answer_and_the_request_that_caused_it() -> None:
    clinic = PayerClinic()
    asked = inquiry()
    answer = clinic.payer.check_eligibility(clinic.action, asked, "CoverageEligibilityRequest/12")
    payload = clinic.events[-1].payload
    assert isinstance(payload, EligibilityChecked)
    assert (payload.inquiry, payload.read_answer()) == (asked, answer)
    assert (payload.reference, payload.status) == ("CoverageEligibilityRequest/12", "active")
