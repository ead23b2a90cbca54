"""The head of a chart: visits as encounters, conditions, and allergies."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from clerkship.fhir.resource import Resource
from clerkship.synthetic.allergies import Allergen
from clerkship.synthetic.patient_history import (
    PatientHistory,
    PatientProblem,
    build_condition_id,
    build_condition_reference,
    build_encounter_reference,
)
from clerkship.synthetic.table import build_concept
from clerkship.synthetic.terms import build_reference, build_resource, codeable_concept
from clerkship.synthetic.times import clinic_time, format_instant
from clerkship.synthetic.visit_kinds import ADMISSION, URGENT

_ANAPHYLAXIS, _NAUSEA, _ANGIOEDEMA, _COUGH = "39579001", "422587007", "41291007", "49727002"
"""Codes of SNOMED CT for reactions that make it severe, an intolerance, or critical."""


def build_encounters(story: PatientHistory, booked: dict[int, str]) -> Iterator[Resource]:
    """Yield every visit; `booked` has the appointments of those that were booked, by number."""
    for visit in story.visits:
        kind = visit.kind
        appointment = booked.get(visit.number)
        performer = {
            "type": [build_concept("encounter.performer")],
            "period": visit.period,
            "individual": visit.clinician.ref,
        }
        yield build_resource(
            "Encounter",
            f"enc-{story.tag}-{visit.number}",
            format_instant(visit.end),
            status="finished",
            **{"class": kind.act.coding()},
            type=[codeable_concept(kind.type, text=kind.name[0].upper() + kind.name[1:])],
            subject=story.subject(),
            participant=[performer],
            appointment=[build_reference(f"Appointment/{appointment}")] if appointment else None,
            period=visit.period,
            reasonCode=[problem.reason for problem in visit.problems[:3]],
            diagnosis=[
                {"condition": build_condition_reference(story, problem), "rank": rank}
                for rank, problem in enumerate(visit.problems, 1)
            ],
            hospitalization={"dischargeDisposition": build_concept("encounter.home")}
            if kind in (ADMISSION, URGENT)
            else None,
            location=[{"location": kind.place.ref}],
            serviceProvider=kind.place.house.ref,
        )


def build_problems(story: PatientHistory) -> Iterator[Resource]:
    """Yield what they have, had, and cannot have."""
    for problem in story.problems:
        yield _build_condition(story, problem)
    if story.visits:
        yield from _build_allergies(story, story.visits[0].day)


def _build_condition(story: PatientHistory, problem: PatientProblem) -> Resource:
    illness = problem.illness
    clinician = problem.visit.clinician if problem.visit is not None else story.doctor
    return build_resource(
        "Condition",
        build_condition_id(story, problem),
        format_instant(min(clinic_time(problem.abated or problem.recorded, 23, 59), story.end)),
        clinicalStatus=build_concept(f"condition.{problem.status}"),
        verificationStatus=build_concept("condition.confirmed"),
        category=[build_concept("condition.diagnosed" if illness.complaint else "condition.listed")],
        code=codeable_concept(illness.snomed, illness.icd, text=illness.name),
        subject=story.subject(),
        encounter=build_encounter_reference(story, problem.visit) if problem.visit is not None else None,
        onsetDateTime=problem.onset.isoformat(),
        abatementDateTime=problem.abated.isoformat() if problem.abated is not None else None,
        recordedDate=problem.recorded.isoformat(),
        recorder=clinician.ref,
        asserter=clinician.ref,
    )


def _build_allergies(story: PatientHistory, first_seen: date) -> Iterator[Resource]:
    """Yield each allergy; for some patients who have none, that this was asked."""
    for allergen in story.allergies:
        yield _build_allergy(story, first_seen, allergen.key, **_draw_reaction(story, first_seen, allergen))
    if not story.allergies and story.body.chance(0.5):
        yield _build_allergy(story, first_seen, "none", code=build_concept("allergy.none", text="No known allergies"))


def _build_allergy(story: PatientHistory, first_seen: date, key: str, **fields: Any) -> Resource:
    return build_resource(
        "AllergyIntolerance",
        f"alg-{story.tag}-{key}",
        format_instant(clinic_time(first_seen, 17)),
        clinicalStatus=build_concept("allergy.active"),
        verificationStatus=build_concept("allergy.confirmed"),
        patient=story.subject(),
        recordedDate=first_seen.isoformat(),
        recorder=story.doctor.ref,
        **fields,
    )


def _draw_reaction(story: PatientHistory, first_seen: date, allergen: Allergen) -> dict[str, Any]:
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
        "code": codeable_concept(allergen.term, text=allergen.name),
        "onsetDateTime": since.isoformat(),
        "reaction": [{"manifestation": [codeable_concept(reaction)], "severity": severity}],
    }
