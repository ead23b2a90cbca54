"""Who pays: plans that hold, plans that ran out, two at once, none."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from clerkship.fhir.resource import Resource
from clerkship.synthetic.places import ASSISTANCE, CEDAR, EVERGREEN, HARBORLIGHT, IDS, Organization
from clerkship.synthetic.story import Insurance, PatientHistory
from clerkship.synthetic.table import build_concept
from clerkship.synthetic.terms import build_resource
from clerkship.synthetic.times import clinic_time, format_instant

PLANS: dict[str, tuple[str, ...]] = {
    HARBORLIGHT.id: ("Harborlight Silver PPO", "Harborlight Gold PPO", "Harborlight Bronze HDHP"),
    CEDAR.id: ("Cedar Choice HMO", "Cedar Select EPO"),
    ASSISTANCE.id: ("Valley Medical Assistance",),
    EVERGREEN.id: ("Evergreen Senior Advantage", "Evergreen Senior Basic"),
}


def assign_insurance(story: PatientHistory) -> None:
    """Find out who pays for them, and since when."""
    dice, person = story.dice, story.person
    age = person.age(story.last_day)
    fate = dice.weighted(("one", "changed", "two", "lapsed", "none"), (66, 14, 10, 6, 4))
    if fate == "none" and age < 65:
        return
    year = story.last_day.year
    start = max(person.born, date(year - dice.whole(3, 6), 1, 1))
    main = EVERGREEN if age >= 65 else _draw_payer(story)
    if fate == "changed" and start < date(year - 1, 1, 1):
        other = CEDAR if main is not CEDAR else HARBORLIGHT
        story.insurance.append(_draw_policy(story, other, start, date(year - 2, 12, 31), 1, 1))
        start = date(year - 1, 1, 1)
    ends = person.died
    if fate == "lapsed" and ends is None and (story.today - start).days > 60:
        ends = story.today - timedelta(days=dice.whole(5, min(50, (story.today - start).days - 5)))
    story.insurance.append(_draw_policy(story, main, start, ends, len(story.insurance) + 1, 1))
    if fate == "two" and age >= 18:
        second = CEDAR if main is not CEDAR else HARBORLIGHT
        story.insurance.append(_draw_policy(story, second, start, person.died, len(story.insurance) + 1, 2))


def _draw_payer(story: PatientHistory) -> Organization:
    return story.dice.weighted((HARBORLIGHT, CEDAR, ASSISTANCE), (4, 3, 3))


def _draw_policy(
    story: PatientHistory, payer: Organization, start: date, end: date | None, number: int, order: int
) -> Insurance:
    dice, person = story.dice, story.person
    age = person.age(story.last_day)
    public = payer in (ASSISTANCE, EVERGREEN)
    relationship = (
        "self"
        if public
        else "child"
        if age < 18
        else "spouse"
        if person.marital == "M" and dice.chance(0.3)
        else "self"
    )
    return Insurance(
        id=f"cov-{story.tag}-{number}",
        payer=payer,
        member=f"{payer.number[:2]}{dice.whole(100_000_000, 999_999_999)}",
        group="" if public else f"G{dice.whole(1000, 9999)}",
        plan=dice.pick(PLANS[payer.id]),
        start=start,
        end=end,
        order=order,
        relationship=relationship,
    )


def build_coverages(story: PatientHistory) -> Iterator[Resource]:
    """Every plan, those that ran out too."""
    for policy in story.insurance:
        told = min(clinic_time(policy.end or policy.start, 8), story.now)
        period = {"start": policy.start.isoformat()} | ({"end": policy.end.isoformat()} if policy.end else {})
        yield build_resource(
            "Coverage",
            policy.id,
            format_instant(told),
            identifier=[{"system": f"{IDS}member/{policy.payer.number}", "value": policy.member}],
            status="active" if policy.covers(story.today) else "cancelled",
            type=build_concept("coverage.private" if policy.group else "coverage.public"),
            subscriberId=policy.member,
            beneficiary=story.subject(),
            relationship=build_concept(f"subscriber.{policy.relationship}"),
            period=period,
            payor=[policy.payer.ref],
            **{"class": _build_classes(policy)},
            order=policy.order,
            network=policy.plan.rpartition(" ")[2] if policy.group else None,
        )


def _build_classes(policy: Insurance) -> list[dict[str, Any]]:
    plan = {"type": build_concept("coverage.plan"), "value": policy.plan.replace(" ", "-").lower()}
    found: list[dict[str, Any]] = [plan | {"name": policy.plan}]
    if policy.group:
        found.append({"type": build_concept("coverage.group"), "value": policy.group})
    return found


def find_policy_on(story: PatientHistory, day: date) -> Insurance | None:
    """Who paid first on a day."""
    holding = [policy for policy in story.insurance if policy.covers(day)]
    return min(holding, key=lambda policy: (policy.order, policy.id)) if holding else None
