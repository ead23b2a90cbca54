"""Conditions and allergies: the head of a chart."""

from collections.abc import Iterator

from clerkship.fhir.resource import Resource
from clerkship.synthetic.allergies import allergy_resources
from clerkship.synthetic.encounters import condition_id
from clerkship.synthetic.story import Problem, Story, encounter_ref
from clerkship.synthetic.table import coded
from clerkship.synthetic.terms import concept, made, reference
from clerkship.synthetic.times import at, instant


def problem_resources(story: Story) -> Iterator[Resource]:
    """What they have, had, and cannot have."""
    for problem in story.problems:
        yield _condition(story, problem)
    if story.visits:
        first = story.visits[0]
        recorder = (story.doctor.key, story.doctor.name)
        yield from allergy_resources(story.person, story.allergies, story.body, first.day, recorder)


def _condition(story: Story, problem: Problem) -> Resource:
    illness = problem.illness
    told = problem.abated or problem.recorded
    clinician = problem.visit.clinician if problem.visit is not None else story.doctor
    return made(
        "Condition",
        condition_id(story, illness.key, problem.onset.isoformat()),
        instant(min(at(told, 23, 59), story.end)),
        clinicalStatus=coded(f"condition.{problem.status}"),
        verificationStatus=coded("condition.confirmed"),
        category=[coded("condition.diagnosed" if illness.complaint else "condition.listed")],
        code=concept(illness.snomed, illness.icd, text=illness.name),
        subject=story.subject(),
        encounter=encounter_ref(story, problem.visit) if problem.visit is not None else None,
        onsetDateTime=problem.onset.isoformat(),
        abatementDateTime=problem.abated.isoformat() if problem.abated is not None else None,
        recordedDate=problem.recorded.isoformat(),
        recorder=reference(clinician.key, clinician.name),
        asserter=reference(clinician.key, clinician.name),
    )
