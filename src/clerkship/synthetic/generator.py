"""All of it together: who is there, what happened to them, and the lines a dataset is made of."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from clerkship.fhir.resource import Resource, render_resource
from clerkship.model.errors import InputError
from clerkship.synthetic.chart import encounter_resources, problem_resources
from clerkship.synthetic.claims import claim_resources
from clerkship.synthetic.course import live
from clerkship.synthetic.coverage import coverage_resources, insure
from clerkship.synthetic.diary import Diary
from clerkship.synthetic.dice import Dice
from clerkship.synthetic.documents import document_resources
from clerkship.synthetic.immunizations import immunization_resources
from clerkship.synthetic.orders import procedure_resources, referral_resources
from clerkship.synthetic.patients import patient_resource
from clerkship.synthetic.people import Person, Register
from clerkship.synthetic.places import place_resources
from clerkship.synthetic.prescriptions import prescription_resources
from clerkship.synthetic.results import result_resources
from clerkship.synthetic.scheduling import book, schedule_resources
from clerkship.synthetic.staff import TEAM_SIZE, Clinician, draw_specialists, draw_team, staff_resources
from clerkship.synthetic.story import Story
from clerkship.synthetic.times import at, local

GENERATOR = "1"
"""Raised whenever the same arguments give other bytes."""
NOW = datetime(2026, 3, 2, 14, tzinfo=UTC)
"""When it is where nobody says so: as in an environment."""
MOST = 100_000
YEARS = (2000, 2100)
Told = Callable[[int], None]


def generate(patients: int, seed: int, now: datetime = NOW, told: Told | None = None) -> Iterator[Resource]:
    """The resources of a valley with so many patients, as they stand at a time; `told` hears each patient's number.

    The same arguments give the same resources, everywhere. Patients do not change when more are asked for.
    """
    now = _checked(patients, now)
    today = local(now).date()
    opened = now - timedelta(days=6 * 365)
    specialists = draw_specialists(seed)
    register = Register(seed, today)
    yield from place_resources(opened)
    for clinician in specialists.values():
        yield from staff_resources(clinician, opened)
        if clinician.tag not in ("hospital", "emergency"):
            yield from schedule_resources(clinician, Diary(now), Dice(seed, "book", clinician.tag), now)
    for team in range(1, (patients - 1) // TEAM_SIZE + 2 if patients else 1):
        members = draw_team(seed, team)
        diary = Diary(now)
        for clinician in members:
            yield from staff_resources(clinician, opened)
        for number in range((team - 1) * TEAM_SIZE + 1, min(team * TEAM_SIZE, patients) + 1):
            yield from _chart(register.next(number), seed, now, members, specialists, diary)
            if told is not None:
                told(number)
        for clinician in members:
            yield from schedule_resources(clinician, diary, Dice(seed, "book", clinician.tag), now)


def _checked(patients: int, now: datetime) -> datetime:
    if not 0 <= patients <= MOST:
        raise InputError.of(f"{patients} patients cannot be made", hint=f"from 0 to {MOST:,} can")
    if now.tzinfo is None:
        raise InputError.of("the time has no zone", hint="write one with its zone, such as 2026-03-02T09:00:00-05:00")
    if not YEARS[0] <= now.year < YEARS[1]:
        raise InputError.of(f"{now.year} is too far away", hint=f"a time from {YEARS[0]} to {YEARS[1] - 1} will do")
    return now.astimezone(UTC).replace(microsecond=0)


def _chart(
    person: Person,
    seed: int,
    now: datetime,
    members: tuple[Clinician, ...],
    specialists: dict[str, Clinician],
    diary: Diary,
) -> Iterator[Resource]:
    """One patient's resources."""
    dice = Dice(seed, "story", person.number)
    today = local(now).date()
    end = min(at(person.died, 6), now) if person.died is not None else now
    doctor = members[2] if person.age(today) < 18 else dice.pick((members[0], members[1], members[3]))
    story = Story(person, dice, now, today, end, doctor, specialists, Dice(seed, "body", person.body))
    live(story, diary)
    insure(story)
    appointments, booked = book(story, diary)
    yield patient_resource(story)
    yield from coverage_resources(story)
    yield from appointments
    yield from encounter_resources(story, booked)
    yield from problem_resources(story)
    yield from prescription_resources(story)
    yield from result_resources(story)
    yield from immunization_resources(story)
    yield from procedure_resources(story)
    yield from referral_resources(story)
    yield from claim_resources(story)
    yield from document_resources(story)


def lines(patients: int, seed: int, now: datetime = NOW, told: Told | None = None) -> tuple[bytes, ...]:
    """The same in byte form, by type and then by id: what a dataset is made of."""
    made = [
        ((resource["resourceType"], resource["id"]), render_resource(resource))
        for resource in generate(patients, seed, now, told)
    ]
    return tuple(line for _, line in sorted(made))
