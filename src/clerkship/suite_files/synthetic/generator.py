"""Generate patients with all their resources, and the lines of a dataset."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from clerkship.formats.fhir.resource import Resource, render_resource
from clerkship.model.errors import InputError
from clerkship.suite_files.synthetic.claims import build_claims
from clerkship.suite_files.synthetic.clinical_course import simulate_history
from clerkship.suite_files.synthetic.coverage import assign_insurance, build_coverages
from clerkship.suite_files.synthetic.documents import build_documents
from clerkship.suite_files.synthetic.encounters import build_encounters, build_problems
from clerkship.suite_files.synthetic.immunizations import build_immunizations
from clerkship.suite_files.synthetic.orders import build_procedures, build_referrals
from clerkship.suite_files.synthetic.organizations import build_places
from clerkship.suite_files.synthetic.patient_history import PatientHistory
from clerkship.suite_files.synthetic.patients import build_patient
from clerkship.suite_files.synthetic.people import PatientRegister, SyntheticPerson
from clerkship.suite_files.synthetic.prescriptions import build_prescriptions
from clerkship.suite_files.synthetic.random_source import RandomSource
from clerkship.suite_files.synthetic.results import build_results
from clerkship.suite_files.synthetic.scheduling import AppointmentBook, build_appointments, build_schedule
from clerkship.suite_files.synthetic.staff import TEAM_SIZE, Clinician, build_staff, draw_specialists, draw_team
from clerkship.suite_files.synthetic.times import clinic_time, to_local
from clerkship.suite_files.synthetic.version import DEFAULT_NOW, MAX_PATIENTS

YEAR_RANGE = (2000, 2100)
ReportProgress = Callable[[int], None]


def generate(
    patients: int, seed: int, now: datetime = DEFAULT_NOW, report: ReportProgress | None = None
) -> Iterator[Resource]:
    """Yield the resources of a clinic with this many patients at a point in time.

    The same arguments give the same resources on every machine. More patients do not change the first ones. `report`
    is called with the number of each finished patient. Raises InputError if an argument is out of range.
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
        appointment_book = AppointmentBook(now)
        for clinician in members:
            yield from build_staff(clinician, opened)
        for number in range((team - 1) * TEAM_SIZE + 1, min(team * TEAM_SIZE, patients) + 1):
            yield from _generate_patient(register.draw(number), seed, now, members, specialists, appointment_book)
            if report is not None:
                report(number)
        for clinician in members:
            yield from build_schedule(clinician, appointment_book, RandomSource(seed, "book", clinician.tag), now)


def _check_arguments(patients: int, now: datetime) -> datetime:
    if not 0 <= patients <= MAX_PATIENTS:
        raise InputError.of(f"cannot generate {patients} patients", hint=f"expected 0 to {MAX_PATIENTS:,}")
    if now.tzinfo is None:
        raise InputError.of("the time has no zone", hint="write one with its zone, such as 2026-03-02T09:00:00-05:00")
    if not YEAR_RANGE[0] <= now.year < YEAR_RANGE[1]:
        raise InputError.of(
            f"the year {now.year} is not supported", hint=f"expected a year from {YEAR_RANGE[0]} to {YEAR_RANGE[1] - 1}"
        )
    return now.astimezone(UTC).replace(microsecond=0)


def _generate_patient(
    person: SyntheticPerson,
    seed: int,
    now: datetime,
    members: tuple[Clinician, ...],
    specialists: dict[str, Clinician],
    appointment_book: AppointmentBook,
) -> Iterator[Resource]:
    """Yield the resources of one patient."""
    rng = RandomSource(seed, "story", person.number)
    today = to_local(now).date()
    end = min(clinic_time(person.died, 6), now) if person.died is not None else now
    doctor = members[2] if person.age(today) < 18 else rng.choice((members[0], members[1], members[3]))
    history = PatientHistory(
        person, rng, now, today, end, doctor, specialists, RandomSource(seed, "body", person.body_number)
    )
    simulate_history(history, appointment_book)
    assign_insurance(history)
    appointments, booked = build_appointments(history, appointment_book)
    yield build_patient(history)
    yield from build_coverages(history)
    yield from appointments
    yield from build_encounters(history, booked)
    yield from build_problems(history)
    yield from build_prescriptions(history)
    yield from build_results(history)
    yield from build_immunizations(history)
    yield from build_procedures(history)
    yield from build_referrals(history)
    yield from build_claims(history)
    yield from build_documents(history)


def generate_lines(
    patients: int, seed: int, now: datetime = DEFAULT_NOW, report: ReportProgress | None = None
) -> tuple[bytes, ...]:
    """Return the same resources as bytes, sorted by type and id: the lines of a dataset."""
    keyed = [
        ((resource["resourceType"], resource["id"]), render_resource(resource))
        for resource in generate(patients, seed, now, report)
    ]
    return tuple(line for _, line in sorted(keyed))
