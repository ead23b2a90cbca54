"""The examples of the reference page about payers do what the page says."""

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from clerkship.payer.answer import Appeal, Authorization, EligibilityAnswer, Member, PayerClaim
from clerkship.payer.inquiry import (
    AuthorizationQuery,
    ClaimQuery,
    EligibilityInquiry,
    PartyQuery,
    PersonQuery,
    RequestedService,
)
from clerkship.payer.policies.dataset import PoliciesDatasetFile, build_policy_dataset
from clerkship.suite_files.yaml import parse_yaml
from tests.payer.office import CLINIC_NPI, Office
from tests.workbench import Workbench

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "payer.md"
EXAMPLES: list[dict[str, Any]] = [
    parse_yaml(block, PAGE.name).data
    for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
]
PEOPLE, PLANS, DETERMINATIONS, CLAIMS, STEPS, POLICIES = EXAMPLES
RIVERA = PersonQuery(member_id="nw-55501", family="RIVERA", given="Ana", birth_date=date(1984, 2, 11))


def open_office(example: dict[str, Any]) -> Office:
    """Return a practice whose payers have the config of an example."""
    return Office(**example["domains"]["payer"]["config"])


def find_member(office: Office, plan: str) -> Member:
    """Return a member whose policy with a plan has no end."""
    return next(
        each
        for each in office.members.values()
        if each.coverages[0].plan == plan and each.coverages[0].end is None and each.relationship == "self"
    )


def describe_party(member: Member) -> dict[str, Any]:
    """Return who asks about a member, for any query."""
    person = PersonQuery(member_id=member.member_id, family=member.family, birth_date=member.birth_date)
    return {"payer_id": member.payer_id, "provider_id": CLINIC_NPI, "subscriber": person}


def check(office: Office, **fields: Any) -> EligibilityAnswer:
    state, action = office.payer
    return state.check_eligibility(action, EligibilityInquiry.model_validate({"provider_id": CLINIC_NPI, **fields}))


def test_people_of_the_config_are_members() -> None:
    office = open_office(PEOPLE)
    answer = check(office, payer_id="NW009", subscriber=RIVERA)
    assert (answer.status, answer.payer_name) == ("active", "Northwind Health")
    remaining = {
        (each.kind, each.level or each.service_types[0]): each.amount if each.quantity is None else each.quantity
        for each in answer.benefits
        if each.period == "remaining"
    }
    assert remaining["deductible", "individual"] == 0
    assert remaining["limit", "physical_therapy"] == 1
    leo = PersonQuery(given="Leo", birth_date=date(2015, 6, 30))
    answer = check(office, payer_id="NW009", subscriber=RIVERA, dependent=leo)
    assert answer.member is not None
    assert answer.member.relationship == "child"
    assert check(office, payer_id="VM003", subscriber=RIVERA).rejection is not None
    hospital = check(office, payer_id="NW009", subscriber=RIVERA, provider_id="9999900027")
    assert (answer.in_network, hospital.in_network) == (True, False)


def test_plan_of_the_config_replaces_the_keys_that_it_gives() -> None:
    office = open_office(PLANS)
    member = find_member(office, "cedar-select-epo")
    answer = check(office, **describe_party(member))
    copays = {each.service_types[0]: each.amount for each in answer.benefits if each.kind == "copay"}
    assert copays == {"office_visit": 15}
    deductible = next(each for each in answer.benefits if each.kind == "deductible" and each.level == "individual")
    assert deductible.amount == 1200
    excluded = next(each for each in answer.benefits if each.kind == "not_covered" and each.in_network is None)
    assert set(excluded.service_types) == {"dental", "vision", "chiropractic"}


def request(office: Office, member: Member, code: str, **fields: Any) -> Authorization:
    """Request one service, and return the record."""
    state, action = office.payer
    service = RequestedService(procedure_code=code, quantity=fields.pop("quantity", 1))
    query = AuthorizationQuery.model_validate({**describe_party(member), "services": [service], **fields})
    [authorization] = state.request_authorization(action, query).authorizations
    return authorization


@pytest.mark.parametrize(("weeks", "status"), [(8, "approved"), (2, "denied")])
def test_answers_decide_a_request(weeks: int, status: str) -> None:
    office = open_office(DETERMINATIONS)
    member = find_member(office, "cedar-select-epo")
    asked = request(office, member, "72148", place="11")
    assert (asked.status, [each.id for each in asked.questions]) == ("need_more_info", ["weeks"])
    state, action = office.payer
    update = AuthorizationQuery.model_validate({**describe_party(member), "answers": {"weeks": weeks}})
    [decided] = state.update_authorization(action, asked.id, update).authorizations
    assert decided.status == status
    assert (decided.number is not None) == (status == "approved")
    if decided.valid_from is not None and decided.valid_to is not None:
        assert decided.valid_to - decided.valid_from == timedelta(days=60)


def test_first_rule_that_matches_decides() -> None:
    office = open_office(DETERMINATIONS)
    denied = request(office, find_member(office, "cedar-select-epo"), "72148", place="22")
    assert (denied.status, denied.reason) == ("denied", "site_of_service")


def test_decision_with_a_delay_is_pending_until_then() -> None:
    office = open_office(DETERMINATIONS)
    pending = request(office, find_member(office, "cedar-select-epo"), "97110", quantity=20)
    assert (pending.status, pending.number) == ("pending", None)
    office.playground.advance(timedelta(days=1))
    decided = office.payer[0].current.authorizations[pending.id]
    assert (decided.status, decided.services[0].quantity) == ("modified", 12)


def find_claim(office: Office) -> tuple[Member, PayerClaim]:
    """Return a claim that the example denies."""
    state, action = office.payer
    for member in office.members.values():
        answer = state.find_claims(action, ClaimQuery.model_validate(describe_party(member)))
        for claim in answer.claims:
            if claim.status == "denied":
                return member, claim
    raise AssertionError("no claim is denied")


@pytest.mark.parametrize(
    ("reason", "outcome", "status"),
    [("It was an emergency.", "overturned", "paid"), ("Please pay.", "upheld", "denied")],
)
def test_appeal_against_a_denied_claim_is_decided_by_its_reason(reason: str, outcome: str, status: str) -> None:
    office = open_office(CLAIMS)
    member, claim = find_claim(office)
    assert claim.reason == "missing_authorization"
    state, action = office.payer
    appeal = state.appeal(action, PartyQuery.model_validate(describe_party(member)), claim.number, reason, ())
    assert isinstance(appeal, Appeal)
    assert appeal.status == "received"
    office.playground.advance(timedelta(days=2))
    after = state.current.find_claim(claim.number)
    assert after is not None
    assert (state.current.appeals[appeal.id].status, after.status) == (outcome, status)


def test_steps_change_the_payers(bench: Workbench) -> None:
    environment = {
        "name": "practice",
        "now": "2026-03-02T09:00:00-05:00",
        "datasets": ["clinic-100"],
        "simulators": {"ehr": {"kind": "fhir"}},
        "domains": {"payer": {"kind": "payer"}},
    }
    no_request = {"never": {"event": "payer.authorization.requested"}}
    task = {
        "name": "Change the payers",
        "environment": "practice",
        "task_item": {"instruction": "Do nothing."},
        "allow_inaction": True,
        **STEPS,
        "criteria": [{"label": "nothing is requested", "assertion": no_request}],
    }
    bench.write("place.yml", yaml.safe_dump({"environment": environment}))
    bench.write("task.yml", yaml.safe_dump({"task": task}, sort_keys=False))
    task_run = bench.run_one("nop")
    kinds = [kind for kind in bench.kinds(task_run) if kind.startswith("payer.")]
    assert kinds == ["payer.eligibility.changed", "payer.determination.set"]


def test_the_example_of_policies_gives_two_versions_as_files() -> None:
    library = build_policy_dataset(PoliciesDatasetFile.model_validate(POLICIES["dataset"]))
    assert sorted(path for path in library.files if path.endswith(".pdf")) == [
        "policies/CM-RAD-014_2025.2.pdf",
        "policies/CM-RAD-014_2026.1.pdf",
    ]
