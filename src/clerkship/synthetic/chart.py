"""The head of a chart: visits as encounters, conditions, and allergies."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from clerkship.fhir.resource import Resource
from clerkship.synthetic.allergies import Allergen
from clerkship.synthetic.story import Problem, Story, condition_id, condition_ref, encounter_ref
from clerkship.synthetic.table import coded
from clerkship.synthetic.terms import concept, made, reference
from clerkship.synthetic.times import at, instant
from clerkship.synthetic.visit_kinds import ADMISSION, URGENT

_ANAPHYLAXIS, _NAUSEA, _ANGIOEDEMA, _COUGH = "39579001", "422587007", "41291007", "49727002"
"""Codes of SNOMED CT for reactions that make it severe, an intolerance, or critical."""


def encounter_resources(story: Story, booked: dict[int, str]) -> Iterator[Resource]:
    """Yield every visit; `booked` has the appointments of those that were booked, by number."""
    for visit in story.visits:
        kind = visit.kind
        appointment = booked.get(visit.number)
        performer = {"type": [coded("encounter.performer")], "period": visit.period, "individual": visit.clinician.ref}
        yield made(
            "Encounter",
            f"enc-{story.tag}-{visit.number}",
            instant(visit.end),
            status="finished",
            **{"class": kind.act.coding()},
            type=[concept(kind.type, text=kind.name[0].upper() + kind.name[1:])],
            subject=story.subject(),
            participant=[performer],
            appointment=[reference(f"Appointment/{appointment}")] if appointment else None,
            period=visit.period,
            reasonCode=[problem.reason for problem in visit.problems[:3]],
            diagnosis=[
                {"condition": condition_ref(story, problem), "rank": rank}
                for rank, problem in enumerate(visit.problems, 1)
            ],
            hospitalization={"dischargeDisposition": coded("encounter.home")} if kind in (ADMISSION, URGENT) else None,
            location=[{"location": kind.place.ref}],
            serviceProvider=kind.place.house.ref,
        )


def problem_resources(story: Story) -> Iterator[Resource]:
    """Yield what they have, had, and cannot have."""
    for problem in story.problems:
        yield _condition(story, problem)
    if story.visits:
        yield from _allergies(story, story.visits[0].day)


def _condition(story: Story, problem: Problem) -> Resource:
    illness = problem.illness
    clinician = problem.visit.clinician if problem.visit is not None else story.doctor
    return made(
        "Condition",
        condition_id(story, problem),
        instant(min(at(problem.abated or problem.recorded, 23, 59), story.end)),
        clinicalStatus=coded(f"condition.{problem.status}"),
        verificationStatus=coded("condition.confirmed"),
        category=[coded("condition.diagnosed" if illness.complaint else "condition.listed")],
        code=concept(illness.snomed, illness.icd, text=illness.name),
        subject=story.subject(),
        encounter=encounter_ref(story, problem.visit) if problem.visit is not None else None,
        onsetDateTime=problem.onset.isoformat(),
        abatementDateTime=problem.abated.isoformat() if problem.abated is not None else None,
        recordedDate=problem.recorded.isoformat(),
        recorder=clinician.ref,
        asserter=clinician.ref,
    )


def _allergies(story: Story, first_seen: date) -> Iterator[Resource]:
    """Yield each allergy; for some patients who have none, that this was asked."""
    for allergen in story.allergies:
        yield _allergy(story, first_seen, allergen.key, **_reaction(story, first_seen, allergen))
    if not story.allergies and story.body.chance(0.5):
        yield _allergy(story, first_seen, "none", code=coded("allergy.none", text="No known allergies"))


def _allergy(story: Story, first_seen: date, key: str, **fields: Any) -> Resource:
    return made(
        "AllergyIntolerance",
        f"alg-{story.tag}-{key}",
        instant(at(first_seen, 17)),
        clinicalStatus=coded("allergy.active"),
        verificationStatus=coded("allergy.confirmed"),
        patient=story.subject(),
        recordedDate=first_seen.isoformat(),
        recorder=story.doctor.ref,
        **fields,
    )


def _reaction(story: Story, first_seen: date, allergen: Allergen) -> dict[str, Any]:
    """Return since when they have it, and what it does to them."""
    dice = story.body
    days = (first_seen - story.person.born).days
    since = first_seen - timedelta(days=dice.whole(0, min(max(days - 120, 0), 3650)))
    reaction = dice.pick(allergen.reactions)
    severity = "severe" if reaction.code == _ANAPHYLAXIS else dice.pick(("mild", "moderate"))
    return {
        "type": "intolerance" if reaction.code in (_NAUSEA, _COUGH) else "allergy",
        "category": [allergen.category],
        "criticality": "high" if severity == "severe" or reaction.code == _ANGIOEDEMA else "low",
        "code": concept(allergen.term, text=allergen.name),
        "onsetDateTime": since.isoformat(),
        "reaction": [{"manifestation": [concept(reaction)], "severity": severity}],
    }
