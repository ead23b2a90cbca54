"""All of it together: who is there, what happened to them, and the lines a dataset is made of."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from clerkship.fhir.resource import Resource, render_resource
from clerkship.model.errors import InputError
from clerkship.synthetic.chart import build_encounters, build_problems
from clerkship.synthetic.claims import build_claims
from clerkship.synthetic.course import simulate_history
from clerkship.synthetic.coverage import assign_insurance, build_coverages
from clerkship.synthetic.diary import AppointmentBook
from clerkship.synthetic.dice import RandomSource
from clerkship.synthetic.documents import build_documents
from clerkship.synthetic.immunizations import build_immunizations
from clerkship.synthetic.orders import build_procedures, build_referrals
from clerkship.synthetic.patients import build_patient
from clerkship.synthetic.people import PatientRegister, SyntheticPerson
from clerkship.synthetic.places import build_places
from clerkship.synthetic.prescriptions import build_prescriptions
from clerkship.synthetic.results import build_results
from clerkship.synthetic.scheduling import build_appointments, build_schedule
from clerkship.synthetic.staff import TEAM_SIZE, Clinician, build_staff, draw_specialists, draw_team
from clerkship.synthetic.story import PatientHistory
from clerkship.synthetic.times import clinic_time, to_local

GENERATOR_VERSION = "1"
"""Raised whenever the same arguments give other bytes."""
DEFAULT_NOW = datetime(2026, 3, 2, 14, tzinfo=UTC)
"""When it is where nobody says so: as in an environment."""
MAX_PATIENTS = 100_000
YEAR_RANGE = (2000, 2100)
ReportProgress = Callable[[int], None]


def generate(
    patients: int, seed: int, now: datetime = DEFAULT_NOW, told: ReportProgress | None = None
) -> Iterator[Resource]:
    """The resources of a valley with so many patients, as they stand at a time; `told` hears each patient's number.

    The same arguments give the same resources, everywhere. Patients do not change when more are asked for.
    """
    now = _check_arguments(patients, now)
    today = to_local(now).date()
    opened = now - timedelta(days=6 * 365)
    specialists = draw_specialists(seed)
    register = PatientRegister(seed, today)
    yield from build_places(opened)
    for clinician in specialists.values():
        yield from build_staff(clinician, opened)
        if clinician.tag not in ("hospital", "emergency"):
            yield from build_schedule(clinician, AppointmentBook(now), RandomSource(seed, "book", clinician.tag), now)
    for team in range(1, (patients - 1) // TEAM_SIZE + 2 if patients else 1):
        members = draw_team(seed, team)
        diary = AppointmentBook(now)
        for clinician in members:
            yield from build_staff(clinician, opened)
        for number in range((team - 1) * TEAM_SIZE + 1, min(team * TEAM_SIZE, patients) + 1):
            yield from _generate_patient(register.next(number), seed, now, members, specialists, diary)
            if told is not None:
                told(number)
        for clinician in members:
            yield from build_schedule(clinician, diary, RandomSource(seed, "book", clinician.tag), now)


def _check_arguments(patients: int, now: datetime) -> datetime:
    if not 0 <= patients <= MAX_PATIENTS:
        raise InputError.of(f"{patients} patients cannot be made", hint=f"from 0 to {MAX_PATIENTS:,} can")
    if now.tzinfo is None:
        raise InputError.of("the time has no zone", hint="write one with its zone, such as 2026-03-02T09:00:00-05:00")
    if not YEAR_RANGE[0] <= now.year < YEAR_RANGE[1]:
        raise InputError.of(
            f"{now.year} is too far away", hint=f"a time from {YEAR_RANGE[0]} to {YEAR_RANGE[1] - 1} will do"
        )
    return now.astimezone(UTC).replace(microsecond=0)


def _generate_patient(
    person: SyntheticPerson,
    seed: int,
    now: datetime,
    members: tuple[Clinician, ...],
    specialists: dict[str, Clinician],
    diary: AppointmentBook,
) -> Iterator[Resource]:
    """One patient's resources."""
    dice = RandomSource(seed, "story", person.number)
    today = to_local(now).date()
    end = min(clinic_time(person.died, 6), now) if person.died is not None else now
    doctor = members[2] if person.age(today) < 18 else dice.pick((members[0], members[1], members[3]))
    story = PatientHistory(person, dice, now, today, end, doctor, specialists, RandomSource(seed, "body", person.body))
    simulate_history(story, diary)
    assign_insurance(story)
    appointments, booked = build_appointments(story, diary)
    yield build_patient(story)
    yield from build_coverages(story)
    yield from appointments
    yield from build_encounters(story, booked)
    yield from build_problems(story)
    yield from build_prescriptions(story)
    yield from build_results(story)
    yield from build_immunizations(story)
    yield from build_procedures(story)
    yield from build_referrals(story)
    yield from build_claims(story)
    yield from build_documents(story)


def generate_lines(
    patients: int, seed: int, now: datetime = DEFAULT_NOW, told: ReportProgress | None = None
) -> tuple[bytes, ...]:
    """The same in byte form, by type and then by id: what a dataset is made of."""
    made = [
        ((resource["resourceType"], resource["id"]), render_resource(resource))
        for resource in generate(patients, seed, now, told)
    ]
    return tuple(line for _, line in sorted(made))
