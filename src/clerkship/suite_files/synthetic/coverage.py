"""Insurance: current plans, expired plans, two plans at once, or none."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.organizations import ASSISTANCE, CEDAR, EVERGREEN, HARBORLIGHT, IDS, Organization
from clerkship.suite_files.synthetic.patient_history import Insurance, PatientHistory
from clerkship.suite_files.synthetic.terms import build_concept, build_resource
from clerkship.suite_files.synthetic.times import clinic_time, format_instant

PLANS: dict[str, tuple[str, ...]] = {
    HARBORLIGHT.id: ("Harborlight Silver PPO", "Harborlight Gold PPO", "Harborlight Bronze HDHP"),
    CEDAR.id: ("Cedar Choice HMO", "Cedar Select EPO"),
    ASSISTANCE.id: ("Valley Medical Assistance",),
    EVERGREEN.id: ("Evergreen Senior Advantage", "Evergreen Senior Basic"),
}


def assign_insurance(history: PatientHistory) -> None:
    """Draw the insurance policies of a patient."""
    rng, person = history.rng, history.person
    age = person.age(history.last_day)
    outcome = rng.weighted_choice(("one", "changed", "two", "lapsed", "none"), (66, 14, 10, 6, 4))
    if outcome == "none" and age < 65:
        return
    year = history.last_day.year
    start = max(person.born, date(year - rng.integer(3, 6), 1, 1))
    main = EVERGREEN if age >= 65 else _draw_payer(history)
    if outcome == "changed" and start < date(year - 1, 1, 1):
        other = CEDAR if main is not CEDAR else HARBORLIGHT
        history.insurance.append(_draw_policy(history, other, start, date(year - 2, 12, 31), 1, 1))
        start = date(year - 1, 1, 1)
    ends = person.died
    if outcome == "lapsed" and ends is None and (history.today - start).days > 60:
        ends = history.today - timedelta(days=rng.integer(5, min(50, (history.today - start).days - 5)))
    history.insurance.append(_draw_policy(history, main, start, ends, len(history.insurance) + 1, 1))
    if outcome == "two" and age >= 18:
        second = CEDAR if main is not CEDAR else HARBORLIGHT
        history.insurance.append(_draw_policy(history, second, start, person.died, len(history.insurance) + 1, 2))


def _draw_payer(history: PatientHistory) -> Organization:
    return history.rng.weighted_choice((HARBORLIGHT, CEDAR, ASSISTANCE), (4, 3, 3))


def _draw_policy(
    history: PatientHistory, payer: Organization, start: date, end: date | None, number: int, order: int
) -> Insurance:
    rng, person = history.rng, history.person
    age = person.age(history.last_day)
    public = payer in (ASSISTANCE, EVERGREEN)
    relationship = (
        "self" if public else "child" if age < 18 else "spouse" if person.marital == "M" and rng.chance(0.3) else "self"
    )
    return Insurance(
        id=f"cov-{history.tag}-{number}",
        payer=payer,
        member=f"{payer.number[:2]}{rng.integer(100_000_000, 999_999_999)}",
        group="" if public else f"G{rng.integer(1000, 9999)}",
        plan=rng.choice(PLANS[payer.id]),
        start=start,
        end=end,
        order=order,
        relationship=relationship,
    )


def build_coverages(history: PatientHistory) -> Iterator[Resource]:
    """Yield a Coverage for every policy, including expired ones."""
    for policy in history.insurance:
        updated = min(clinic_time(policy.end or policy.start, 8), history.now)
        period = {"start": policy.start.isoformat()} | ({"end": policy.end.isoformat()} if policy.end else {})
        yield build_resource(
            "Coverage",
            policy.id,
            format_instant(updated),
            identifier=[{"system": f"{IDS}member/{policy.payer.number}", "value": policy.member}],
            status="active" if policy.covers(history.today) else "cancelled",
            type=build_concept("coverage.private" if policy.group else "coverage.public"),
            subscriberId=policy.member,
            beneficiary=history.subject(),
            relationship=build_concept(f"subscriber.{policy.relationship}"),
            period=period,
            payor=[policy.payer.ref],
            **{"class": _build_classes(policy)},
            order=policy.order,
            network=policy.plan.rpartition(" ")[2] if policy.group else None,
        )


def _build_classes(policy: Insurance) -> list[dict[str, Any]]:
    plan = {"type": build_concept("coverage.plan"), "value": policy.plan.replace(" ", "-").lower()}
    classes: list[dict[str, Any]] = [plan | {"name": policy.plan}]
    if policy.group:
        classes.append({"type": build_concept("coverage.group"), "value": policy.group})
    return classes


def find_policy_on(history: PatientHistory, day: date) -> Insurance | None:
    """Return the primary policy on a day; None if there is none."""
    policies = [policy for policy in history.insurance if policy.covers(day)]
    return min(policies, key=lambda policy: (policy.order, policy.id)) if policies else None
