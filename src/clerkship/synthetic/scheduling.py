"""Schedules, slots and appointments: what was kept and missed, what is booked, what is still free."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from clerkship.fhir.resource import Resource
from clerkship.synthetic.appointment_book import VISIT_LENGTH, WEEKS_AHEAD, AppointmentBook
from clerkship.synthetic.organizations import ROOMS
from clerkship.synthetic.patient_history import PatientHistory, Visit, build_condition_reference
from clerkship.synthetic.random_source import RandomSource
from clerkship.synthetic.staff import Clinician
from clerkship.synthetic.table import build_concept
from clerkship.synthetic.terms import build_reference, build_resource, codeable_concept
from clerkship.synthetic.times import (
    THURSDAY,
    age_in_months,
    clinic_time,
    format_datetime,
    format_instant,
    latest_open_day,
    to_local,
)

_APPOINTMENT_TYPES = {
    "checkup": "checkup",
    "child": "checkup",
    "followup": "followup",
    "symptom": "walkin",
    "video": "followup",
}
"""Of appointments, by the kind of visit."""
MAX_PAST_APPOINTMENTS = 3
"""How many of the last visits still have their appointment on record."""


def build_appointments(story: PatientHistory, diary: AppointmentBook) -> tuple[list[Resource], dict[int, str]]:
    """A patient's appointments, and by visit the one it came of."""
    made_ones: list[Resource] = []
    booked: dict[int, str] = {}
    for visit in story.visits[-MAX_PAST_APPOINTMENTS:]:
        if visit.kind.booked:
            booked[visit.number] = f"appt-{story.tag}-{visit.number}"
            made_ones.append(_build_fulfilled(story, visit, booked[visit.number]))
    made_ones += _build_missed(story)
    if story.person.died is None:
        made_ones += _build_upcoming(story, diary)
    return made_ones, booked


def _build_fulfilled(story: PatientHistory, visit: Visit, id: str) -> Resource:
    type = _APPOINTMENT_TYPES[visit.kind.key]
    agreed = visit.start - timedelta(days=story.dice.whole(3, 40) if type != "walkin" else 0, hours=1)
    agreed = max(agreed, clinic_time(story.person.born, 8))
    more = {
        "description": visit.kind.name[0].upper() + visit.kind.name[1:],
        "reasonCode": [problem.reason for problem in visit.problems[:1]],
    }
    return _build_appointment(story, id, "fulfilled", visit.start, type, (agreed, visit.end), **more)


def _build_missed(story: PatientHistory) -> Iterator[Resource]:
    """Some did not come, some called it off."""
    dice = story.dice
    for status, often in (("noshow", 0.16), ("cancelled", 0.14)):
        if not dice.chance(often):
            continue
        day = latest_open_day(story.last_day - timedelta(days=dice.whole(8, 300)))
        start = clinic_time(day, dice.pick((8, 16)), 30)
        agreed = start - timedelta(days=dice.whole(7, 30))
        if to_local(agreed).date() <= story.person.born or start >= story.end:
            continue
        told = start + timedelta(hours=1) if status == "noshow" else start - timedelta(days=2)
        more = {"cancelationReason": build_concept("appointment.cancelled")} if status == "cancelled" else {}
        id = f"appt-{story.tag}-{status}"
        yield _build_appointment(
            story, id, status, start, "routine", (agreed, told), description="Office visit", **more
        )


def _build_upcoming(story: PatientHistory, diary: AppointmentBook) -> Iterator[Resource]:
    """What is booked, on a slot that is busy because of it."""
    dice = story.dice
    if not dice.chance(0.5):
        return
    called = clinic_time(
        latest_open_day(story.today - timedelta(days=dice.whole(1, 25))), dice.whole(8, 16), dice.whole(0, 59)
    )
    agreed = min(max(called, clinic_time(story.person.born, 8)), story.now)
    start = diary.future(dice, story.doctor, agreed)
    if start is None:
        return
    id = f"appt-{story.tag}-next"
    small = age_in_months(story.person.born, story.today) < 36
    active = [problem for problem in story.active if not problem.illness.complaint and not small]
    well = "Well child visit" if story.person.age(story.today) < 18 else "Annual wellness visit"
    more: dict[str, Any] = {"description": "Follow-up visit" if active else well}
    if active:
        problem = active[0]
        more["reasonCode"] = [problem.reason]
        more["reasonReference"] = [build_condition_reference(story, problem, problem.illness.name)]
    slot = [build_reference(f"Slot/{build_slot_id(story.doctor, start)}")]
    type = "followup" if active else "checkup"
    yield _build_appointment(story, id, "booked", start, type, (agreed, agreed), slot=slot, **more)


def _build_appointment(
    story: PatientHistory,
    id: str,
    status: str,
    start: datetime,
    type: str,
    told: tuple[datetime, datetime],
    **more: Any,
) -> Resource:
    """`told` is when it was agreed, and when something about it was last written down."""
    doctor = story.doctor
    answer = {"noshow": "accepted", "cancelled": "declined"}.get(status, "accepted")
    return build_resource(
        "Appointment",
        id,
        format_instant(told[1]),
        status=status,
        serviceType=[build_concept("appointment.practice")],
        specialty=[codeable_concept(doctor.post.specialty)],
        appointmentType=build_concept(f"appointment.{type}"),
        start=format_datetime(start),
        end=format_datetime(start + VISIT_LENGTH),
        minutesDuration=VISIT_LENGTH.seconds // 60,
        created=format_datetime(told[0]),
        participant=[
            {"actor": story.subject(), "required": "required", "status": answer},
            {"actor": doctor.ref, "required": "required", "status": "accepted"},
            {"actor": doctor.place.ref, "required": "required", "status": "accepted"},
        ],
        **more,
    )


def build_slot_id(clinician: Clinician, start: datetime) -> str:
    """`slot-01-family-20260303-0900`."""
    return f"slot-{clinician.tag}-{to_local(start).strftime('%Y%m%d-%H%M')}"


def build_schedule(
    clinician: Clinician, diary: AppointmentBook, dice: RandomSource, now: datetime
) -> Iterator[Resource]:
    """One clinician's book for the next four weeks; specialists have an afternoon a week in it."""
    times, hours = diary.openings, "on weekdays, 9:00 to 12:00 and 13:00 to 16:00"
    service = [build_concept("appointment.practice")] if clinician.place is ROOMS else None
    if clinician.place is not ROOMS:
        times = [start for start in times if to_local(start).weekday() == THURSDAY and to_local(start).hour >= 13]
        hours = "on Thursdays, 13:00 to 16:00"
    opened = now - timedelta(days=14)
    first = to_local(now).date()
    yield build_resource(
        "Schedule",
        f"sched-{clinician.tag}",
        format_instant(opened),
        active=True,
        serviceType=service,
        specialty=[codeable_concept(clinician.post.specialty)],
        actor=[clinician.ref, clinician.place.ref],
        planningHorizon={"start": first.isoformat(), "end": (first + timedelta(days=WEEKS_AHEAD * 7 - 1)).isoformat()},
        comment=f"30-minute visits {hours}",
    )
    for start in times:
        blocked = dice.chance(0.12)
        agreed = diary.agreed(clinician, start)
        status = "busy" if agreed is not None else "busy-unavailable" if blocked else "free"
        yield build_resource(
            "Slot",
            build_slot_id(clinician, start),
            format_instant(agreed or opened),
            serviceType=service,
            specialty=[codeable_concept(clinician.post.specialty)],
            schedule=build_reference(f"Schedule/sched-{clinician.tag}"),
            status=status,
            start=format_datetime(start),
            end=format_datetime(start + VISIT_LENGTH),
            comment="Meeting" if status == "busy-unavailable" else None,
        )
