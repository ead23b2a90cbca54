"""Referrals, and procedures by age and illness."""

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.organizations import HOSPITAL, SPECIALTY
from clerkship.suite_files.synthetic.patient_history import (
    PatientHistory,
    Referral,
    build_condition_reference,
    build_encounter_reference,
)
from clerkship.suite_files.synthetic.terms import Term, build_concept, build_resource, codeable_concept, read_table
from clerkship.suite_files.synthetic.times import (
    add_months,
    clinic_time,
    format_datetime,
    format_instant,
    latest_open_day,
)


class Screening(NamedTuple):
    """A procedure, and which patients have it."""

    key: str
    term: Term
    name: str
    ages: tuple[int, int]
    sex: str
    illnesses: tuple[str, ...]
    """Illnesses that are required; any patient if there are none."""
    often: float
    findings: tuple[str, ...]


SCREENINGS = read_table("screenings", Screening)


def build_procedures(history: PatientHistory) -> Iterator[Resource]:
    """Yield procedures within the last four years, from the age at which they begin."""
    person, rng = history.person, history.rng
    ill = {problem.illness.key: problem for problem in history.problems}
    for screening in SCREENINGS:
        causes = [ill[key] for key in screening.illnesses if key in ill]
        if not screening.ages[0] <= person.age(history.last_day) <= screening.ages[1] or not rng.chance(
            screening.often
        ):
            continue
        if screening.sex not in ("", person.sex) or (screening.illnesses and not causes):
            continue
        earliest = max([add_months(person.born, screening.ages[0] * 12 - 6), *(cause.recorded for cause in causes)])
        days = min(1400, (history.last_day - earliest).days - 4)
        if days < 20:
            continue
        day = latest_open_day(history.last_day - timedelta(days=rng.integer(14, days)))
        start = clinic_time(day, rng.integer(8, 15), rng.choice((0, 20, 40)))
        yield build_resource(
            "Procedure",
            f"proc-{history.tag}-{screening.key}",
            format_instant(start + timedelta(hours=1)),
            status="completed",
            code=codeable_concept(screening.term, text=screening.name),
            subject=history.subject(),
            performedPeriod={"start": format_datetime(start), "end": format_datetime(start + timedelta(minutes=30))},
            performer=[{"actor": HOSPITAL.ref}],
            location=SPECIALTY.ref,
            reasonReference=[build_condition_reference(history, cause) for cause in causes[:1]],
            outcome={"text": rng.choice(screening.findings)},
        )


def build_referrals(history: PatientHistory) -> Iterator[Resource]:
    """Build the referrals of a patient."""
    for referral in history.referrals:
        yield _build_referral(history, referral)


def build_referral_id(history: PatientHistory, referral: Referral) -> str:
    """Return an id such as `referral-0001-cardiology-failure`."""
    return f"referral-{history.tag}-{referral.specialist.tag}-{referral.problem.illness.key}"


def _build_referral(history: PatientHistory, referral: Referral) -> Resource:
    visit, problem, specialist = referral.visit, referral.problem, referral.specialist
    done = min(visit.end + timedelta(days=20), history.end) if referral.status == "completed" else visit.end
    specialty = specialist.position.specialty
    return build_resource(
        "ServiceRequest",
        build_referral_id(history, referral),
        format_instant(done),
        status=referral.status,
        intent="order",
        category=[build_concept("referral")],
        priority="routine",
        code=build_concept("referral", text=f"Referral to {specialty.display.lower()}"),
        subject=history.subject(),
        encounter=build_encounter_reference(history, visit),
        authoredOn=format_datetime(visit.end),
        requester=visit.clinician.ref,
        performerType=codeable_concept(specialty),
        performer=[specialist.ref],
        reasonReference=[build_condition_reference(history, problem, problem.illness.name)],
    )
