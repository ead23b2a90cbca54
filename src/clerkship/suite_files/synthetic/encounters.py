"""Encounters, conditions and allergies of a patient."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.conditions import Allergen
from clerkship.suite_files.synthetic.organizations import ADMISSION, URGENT
from clerkship.suite_files.synthetic.patient_history import (
    PatientHistory,
    PatientProblem,
    build_condition_id,
    build_condition_reference,
    build_encounter_reference,
)
from clerkship.suite_files.synthetic.terms import build_concept, build_reference, build_resource, codeable_concept
from clerkship.suite_files.synthetic.times import clinic_time, format_instant

_ANAPHYLAXIS, _NAUSEA, _ANGIOEDEMA, _COUGH = "39579001", "422587007", "41291007", "49727002"
"""SNOMED CT codes of reactions that decide severity, type (allergy or intolerance) and criticality."""


def build_encounters(history: PatientHistory, booked: dict[int, str]) -> Iterator[Resource]:
    """Yield an Encounter for each visit; `booked` has the ids of appointments by visit number."""
    for visit in history.visits:
        kind = visit.kind
        appointment = booked.get(visit.number)
        performer = {
            "type": [build_concept("encounter.performer")],
            "period": visit.period,
            "individual": visit.clinician.ref,
        }
        yield build_resource(
            "Encounter",
            f"enc-{history.tag}-{visit.number}",
            format_instant(visit.end),
            status="finished",
            **{"class": kind.encounter_class.coding()},
            type=[codeable_concept(kind.type, text=kind.name[0].upper() + kind.name[1:])],
            subject=history.subject(),
            participant=[performer],
            appointment=[build_reference(f"Appointment/{appointment}")] if appointment else None,
            period=visit.period,
            reasonCode=[problem.reason for problem in visit.problems[:3]],
            diagnosis=[
                {"condition": build_condition_reference(history, problem), "rank": rank}
                for rank, problem in enumerate(visit.problems, 1)
            ],
            hospitalization={"dischargeDisposition": build_concept("encounter.home")}
            if kind in (ADMISSION, URGENT)
            else None,
            location=[{"location": kind.location.ref}],
            serviceProvider=kind.location.organization.ref,
        )


def build_problems(history: PatientHistory) -> Iterator[Resource]:
    """Yield the conditions and allergies of a patient."""
    for problem in history.problems:
        yield _build_condition(history, problem)
    if history.visits:
        yield from _build_allergies(history, history.visits[0].day)


def _build_condition(history: PatientHistory, problem: PatientProblem) -> Resource:
    illness = problem.illness
    clinician = problem.visit.clinician if problem.visit is not None else history.doctor
    return build_resource(
        "Condition",
        build_condition_id(history, problem),
        format_instant(min(clinic_time(problem.abated or problem.recorded, 23, 59), history.end)),
        clinicalStatus=build_concept(f"condition.{problem.status}"),
        verificationStatus=build_concept("condition.confirmed"),
        category=[build_concept("condition.diagnosed" if illness.complaint else "condition.listed")],
        code=codeable_concept(illness.snomed, illness.icd, text=illness.name),
        subject=history.subject(),
        encounter=build_encounter_reference(history, problem.visit) if problem.visit is not None else None,
        onsetDateTime=problem.onset.isoformat(),
        abatementDateTime=problem.abated.isoformat() if problem.abated is not None else None,
        recordedDate=problem.recorded.isoformat(),
        recorder=clinician.ref,
        asserter=clinician.ref,
    )


def _build_allergies(history: PatientHistory, first_seen: date) -> Iterator[Resource]:
    """Yield each allergy; for some patients without any, that none is known."""
    for allergen in history.allergies:
        yield _build_allergy(history, first_seen, allergen.key, **_draw_reaction(history, first_seen, allergen))
    if not history.allergies and history.body_rng.chance(0.5):
        yield _build_allergy(history, first_seen, "none", code=build_concept("allergy.none", text="No known allergies"))


def _build_allergy(history: PatientHistory, first_seen: date, key: str, **fields: Any) -> Resource:
    return build_resource(
        "AllergyIntolerance",
        f"alg-{history.tag}-{key}",
        format_instant(clinic_time(first_seen, 17)),
        clinicalStatus=build_concept("allergy.active"),
        verificationStatus=build_concept("allergy.confirmed"),
        patient=history.subject(),
        recordedDate=first_seen.isoformat(),
        recorder=history.doctor.ref,
        **fields,
    )


def _draw_reaction(history: PatientHistory, first_seen: date, allergen: Allergen) -> dict[str, Any]:
    """Return the onset and the reaction of an allergy."""
    rng = history.body_rng
    days = (first_seen - history.person.born).days
    since = first_seen - timedelta(days=rng.integer(0, min(max(days - 120, 0), 3650)))
    reaction = rng.choice(allergen.reactions)
    severity = "severe" if reaction.code == _ANAPHYLAXIS else rng.choice(("mild", "moderate"))
    return {
        "type": "intolerance" if reaction.code in (_NAUSEA, _COUGH) else "allergy",
        "category": [allergen.category],
        "criticality": "high" if severity == "severe" or reaction.code == _ANGIOEDEMA else "low",
        "code": codeable_concept(allergen.term, text=allergen.name),
        "onsetDateTime": since.isoformat(),
        "reaction": [{"manifestation": [codeable_concept(reaction)], "severity": severity}],
    }
