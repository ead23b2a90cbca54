"""The same question gets the same answer, whichever way it is asked."""

from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from typing import Any

import pytest

from clerkship.payer.answer import Member
from clerkship.payer.inquiry import EligibilityInquiry
from clerkship.payer.steps import PayerSetEligibility
from tests.choices import mark_slow_after
from tests.payer.comparison import Direct, Way
from tests.payer.office import Office, build_inquiry
from tests.payer.ways import WAYS

TODAY = date(2026, 3, 2)
SIMULATORS: dict[str, Any] = {
    "clearinghouse": {"kind": "x12", "config": {"batch": {"acknowledge_after": "1s", "answer_after": "2s"}}},
    "drop": {"kind": "files"},
}
REACTIONS = ("drop.file.written -> clearinghouse", "clearinghouse.batch.replied -> drop")
CONFIG: dict[str, Any] = {
    "payers": {"VM003": {"status": "inactive"}, "ZZ009": {"name": "Silent Mutual", "status": "unavailable"}},
    "members": [
        {
            "payer": "CM002",
            "member_id": "CM100200300",
            "family": "O'Neil-García",
            "given": ["María", "José"],
            "birth_date": "1980-05-06",
            "gender": "female",
            "coverages": [{"plan": "cedar-select-epo", "start": "2026-06-01"}],
            "dependents": [{"family": "García", "given": ["Luz"], "birth_date": "2015-07-08"}],
        }
    ],
    "accumulators": {"CM100200300": {"deductible_met": 120.35, "used": {"physical_therapy": 7}}},
}


@cache
def open_office() -> Office:
    """Return the practice that all tests ask from: eligibility changes nothing."""
    return Office(simulators=SIMULATORS, reactions=REACTIONS, **CONFIG)


@cache
def list_members() -> list[Member]:
    return list(open_office().members.values())


def list_days(member: Member) -> Iterator[date]:
    """Yield days before, in and after the policies of a member."""
    days = {TODAY, TODAY + timedelta(days=45), TODAY - timedelta(days=100)}
    for coverage in member.coverages:
        days |= {coverage.start - timedelta(days=1), coverage.start}
        if coverage.end is not None:
            days |= {coverage.end, coverage.end + timedelta(days=1)}
    return iter(sorted(days))


def list_questions() -> Iterator[EligibilityInquiry]:
    """Yield questions about every member on several days, and about some members in detail."""
    for number, member in enumerate(list_members()):
        yield build_inquiry(member)
        if number % 4 == 0 or len(member.coverages) > 1 or member.coverages[0].end is not None:
            for day in list_days(member):
                yield build_inquiry(member, service_date=day)
        if number % 8 == 0:
            for service_types in (("office_visit", "mri_ct"), ("physical_therapy", "dental", "vision"), ("emergency",)):
                yield build_inquiry(member, service_date=TODAY, service_types=service_types)
            yield build_inquiry(member, service_date=TODAY, procedure_codes=("72148", "99213", "J1745"))


def list_rejected_questions() -> Iterator[EligibilityInquiry]:
    """Yield questions that a payer rejects, in each way that a request can be wrong."""
    for member in list_members()[::10]:
        asked = build_inquiry(member, service_date=TODAY)
        person = asked.subscriber
        wrong: list[dict[str, Any]] = [
            {"member_id": "XX000000000"},
            {"birth_date": date(1901, 1, 1)},
            {"family": "Nobodyson"},
            {"family": "Nobodyson", "birth_date": date(1901, 1, 1)},
            {"member_id": None, "given": None},
            {"birth_date": None},
        ]
        for changes in wrong:
            yield asked.model_copy(update={"subscriber": person.model_copy(update=changes)})
        yield asked.model_copy(update={"payer_id": "XX999"})
        yield asked.model_copy(update={"payer_id": "ZZ009"})
        yield asked.model_copy(update={"payer_id": "VM003"})
        yield asked.model_copy(update={"provider_id": "1111111112"})


def list_family_questions() -> Iterator[EligibilityInquiry]:
    """Yield questions about the member and the dependent of the config."""
    subscriber = {
        "member_id": "CM100200300",
        "family": "O'Neil-García",
        "given": "María",
        "birth_date": date(1980, 5, 6),
        "gender": "female",
    }
    shared: dict[str, Any] = {"payer_id": "CM002", "provider_id": "9999900019", "subscriber": subscriber}
    for day in (TODAY, date(2026, 6, 1)):
        yield EligibilityInquiry(**shared, service_date=day)
        for birth_date in (date(2015, 7, 8), date(2015, 7, 9)):
            dependent = {"family": "García", "given": "Luz", "birth_date": birth_date}
            yield EligibilityInquiry.model_validate({**shared, "service_date": day, "dependent": dependent})
        stranger = {"family": "García", "given": "Pablo", "birth_date": date(2015, 7, 8)}
        yield EligibilityInquiry.model_validate({**shared, "service_date": day, "dependent": stranger})


def check_agreement(way: Way, inquiries: Iterator[EligibilityInquiry]) -> list[str]:
    """Ask each question directly and in another way, and return the statuses and rejections that were answered."""
    direct, outcomes = Direct(way.office), []
    for inquiry in inquiries:
        if way.can_ask(inquiry):
            expected, answer = direct.ask(inquiry), way.ask(inquiry)
            stated = {name: value for name, value in vars(answer).items() if value is not None}
            assert stated == {name: getattr(expected, name) for name in stated}, inquiry
            outcomes.append(expected.rejection or expected.status)
    return outcomes


@pytest.mark.parametrize("kind", mark_slow_after(2, WAYS), ids=lambda kind: kind.name)
def test_members_are_answered_alike(kind: type[Way]) -> None:
    outcomes = check_agreement(kind(open_office()), list_questions())
    assert len(outcomes) > 200
    assert {"active", "terminated", "future", "79"} <= set(outcomes)


@pytest.mark.parametrize("kind", [kind for kind in WAYS if not kind.asks_about_chart_only], ids=lambda kind: kind.name)
def test_rejections_are_alike(kind: type[Way]) -> None:
    outcomes = check_agreement(kind(open_office()), list_rejected_questions())
    assert {"75", "71", "73", "72", "15", "T4", "42", "51", "79"} <= set(outcomes)


@pytest.mark.parametrize("kind", [kind for kind in WAYS if not kind.asks_about_chart_only], ids=lambda kind: kind.name)
def test_dependents_are_answered_alike(kind: type[Way]) -> None:
    outcomes = check_agreement(kind(open_office()), list_family_questions())
    assert outcomes == ["future", "future", "71", "77", "active", "active", "71", "77"]


def test_direct_answers_hold_what_is_compared() -> None:
    """The comparison would prove nothing if the answers were empty."""
    direct = Direct(open_office())
    answers = [direct.ask(inquiry) for inquiry in list_questions()]
    kinds = {kind for answer in answers for kind, *_ in answer.amounts}
    assert kinds == {"copay", "coinsurance", "deductible", "out_of_pocket_maximum", "limit"}
    assert any(remaining not in (None, total) for answer in answers for total, remaining in answer.amounts.values())
    assert {True, False} <= {needed for answer in answers for needed in answer.authorizations.values()}
    assert any(answer.excluded for answer in answers)
    assert any(answer.others for answer in answers)


@pytest.mark.parametrize("kind", WAYS, ids=lambda kind: kind.name)
def test_every_way_sees_what_the_scenario_changes(kind: type[Way]) -> None:
    office = Office(simulators=SIMULATORS, reactions=REACTIONS)
    member = next(each for each in office.members.values() if each.coverages[0].plan == "cedar-select-epo")
    way, inquiry = kind(office), build_inquiry(member, service_date=TODAY)
    before = way.ask(inquiry)
    assert (before.status, before.amounts["deductible", "plan", "individual", None]) == ("active", (1200, 235.54))
    PayerSetEligibility(member_id=member.member_id, deductible_met=1200).run(office.playground)
    assert way.ask(inquiry).amounts["deductible", "plan", "individual", None] == (1200, 0)
    PayerSetEligibility(member_id=member.member_id, end=TODAY - timedelta(days=1)).run(office.playground)
    after = way.ask(inquiry)
    assert (after.status, after.amounts) == ("terminated", {})
    check_agreement(way, iter([inquiry]))
