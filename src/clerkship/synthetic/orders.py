"""Referrals, and the procedures that people of an age or with an illness have had."""

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from clerkship.fhir.resource import Resource
from clerkship.synthetic.places import HOSPITAL, SPECIALTY
from clerkship.synthetic.story import Referral, Story, condition_ref, encounter_ref
from clerkship.synthetic.table import coded, read_table
from clerkship.synthetic.terms import Term, concept, made
from clerkship.synthetic.times import at, instant, months_after, weekday_before, written


class Screening(NamedTuple):
    """A procedure, and who has it."""

    key: str
    term: Term
    name: str
    ages: tuple[int, int]
    sex: str
    illnesses: tuple[str, ...]
    """Only with one of these, if any are named."""
    often: float
    findings: tuple[str, ...]


SCREENINGS = read_table("screenings", Screening)


def procedure_resources(story: Story) -> Iterator[Resource]:
    """What was done, within the last four years and since they were old enough."""
    person, dice = story.person, story.dice
    ill = {problem.illness.key: problem for problem in story.problems}
    for screening in SCREENINGS:
        causes = [ill[key] for key in screening.illnesses if key in ill]
        if not screening.ages[0] <= person.age(story.last_day) <= screening.ages[1] or not dice.chance(screening.often):
            continue
        if screening.sex not in ("", person.sex) or (screening.illnesses and not causes):
            continue
        earliest = max([months_after(person.born, screening.ages[0] * 12 - 6), *(cause.recorded for cause in causes)])
        days = min(1400, (story.last_day - earliest).days - 4)
        if days < 20:
            continue
        day = weekday_before(story.last_day - timedelta(days=dice.whole(14, days)))
        start = at(day, dice.whole(8, 15), dice.pick((0, 20, 40)))
        yield made(
            "Procedure",
            f"proc-{story.tag}-{screening.key}",
            instant(start + timedelta(hours=1)),
            status="completed",
            code=concept(screening.term, text=screening.name),
            subject=story.subject(),
            performedPeriod={"start": written(start), "end": written(start + timedelta(minutes=30))},
            performer=[{"actor": HOSPITAL.ref}],
            location=SPECIALTY.ref,
            reasonReference=[condition_ref(story, cause) for cause in causes[:1]],
            outcome={"text": dice.pick(screening.findings)},
        )


def referral_resources(story: Story) -> Iterator[Resource]:
    """Whom they were sent to."""
    for referral in story.referrals:
        yield _referral(story, referral)


def referral_id(story: Story, referral: Referral) -> str:
    """`referral-0001-cardiology-failure`."""
    return f"referral-{story.tag}-{referral.specialist.tag}-{referral.problem.illness.key}"


def _referral(story: Story, referral: Referral) -> Resource:
    visit, problem, specialist = referral.visit, referral.problem, referral.specialist
    done = min(visit.end + timedelta(days=20), story.end) if referral.status == "completed" else visit.end
    specialty = specialist.post.specialty
    return made(
        "ServiceRequest",
        referral_id(story, referral),
        instant(done),
        status=referral.status,
        intent="order",
        category=[coded("referral")],
        priority="routine",
        code=coded("referral", text=f"Referral to {specialty.display.lower()}"),
        subject=story.subject(),
        encounter=encounter_ref(story, visit),
        authoredOn=written(visit.end),
        requester=visit.clinician.ref,
        performerType=concept(specialty),
        performer=[specialist.ref],
        reasonReference=[condition_ref(story, problem, problem.illness.name)],
    )
