"""Referrals, and the procedures that people of an age or with an illness have had."""

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from clerkship.fhir.resource import Resource
from clerkship.synthetic.encounters import condition_id
from clerkship.synthetic.places import HOSPITAL, SPECIALTY
from clerkship.synthetic.story import Referral, Story, encounter_ref
from clerkship.synthetic.terms import Term, concept, made, reference, snomed
from clerkship.synthetic.times import at, instant, months_after, weekday_before, written

_REFERRED = snomed("3457005", "Patient referral")


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


SCREENINGS = (
    Screening("colonoscopy", snomed("73761001", "Colonoscopy"), "Colonoscopy", (46, 82), "", (), 0.4,
              ("Normal to the cecum; repeat in ten years.", "Two small polyps removed; repeat in five years.")),
    Screening("mammography", snomed("71651007", "Mammography"), "Mammography", (41, 76), "female", (), 0.5,
              ("No sign of malignancy; routine screening.",)),
    Screening("ecg", snomed("29303009", "Electrocardiographic procedure"), "Electrocardiogram", (40, 120), "",
              ("fibrillation", "coronary", "failure"), 0.8, ("See tracing; rate controlled, no acute change.",)),
    Screening("echo", snomed("40701008", "Echocardiography"), "Echocardiogram", (40, 120), "", ("failure",), 0.8,
              ("Ejection fraction 40%; mild mitral regurgitation.", "Ejection fraction 50%; left atrium enlarged.")),
    Screening("spirometry", snomed("127783003", "Spirometry"), "Spirometry", (7, 120), "", ("asthma", "copd"), 0.6,
              ("Obstructive pattern, partly reversible.", "Mild obstruction.")),
    Screening("retina", snomed("134395001", "Diabetic retinopathy screening"), "Diabetic retinal screening", (18, 120),
              "", ("diabetes",), 0.6, ("No retinopathy in either eye.", "Mild background retinopathy, left eye.")),
    Screening("bones", snomed("312681000", "Bone density scan"), "Bone density scan", (60, 120), "female",
              ("osteoporosis",), 0.8, ("T-score -2.7 at the hip.", "T-score -2.6 at the spine.")),
)  # fmt: skip


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
            performer=[{"actor": reference(HOSPITAL.key, HOSPITAL.name)}],
            location=reference(SPECIALTY.key, SPECIALTY.name),
            reasonReference=[
                reference(f"Condition/{condition_id(story, cause.illness.key, cause.onset.isoformat())}")
                for cause in causes[:1]
            ],
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
        category=[concept(_REFERRED)],
        priority="routine",
        code=concept(_REFERRED, text=f"Referral to {specialty.display.lower()}"),
        subject=story.subject(),
        encounter=encounter_ref(story, visit),
        authoredOn=written(visit.end),
        requester=reference(visit.clinician.key, visit.clinician.name),
        performerType=concept(specialty),
        performer=[reference(specialist.key, specialist.name)],
        reasonReference=[
            reference(
                f"Condition/{condition_id(story, problem.illness.key, problem.onset.isoformat())}", problem.illness.name
            )
        ],
    )
