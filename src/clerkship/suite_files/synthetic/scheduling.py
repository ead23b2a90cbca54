"""Schedules, slots and appointments: fulfilled, missed, booked, and free."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.organizations import ROOMS
from clerkship.suite_files.synthetic.patient_history import PatientHistory, Visit, build_condition_reference
from clerkship.suite_files.synthetic.random_source import RandomSource
from clerkship.suite_files.synthetic.staff import Clinician
from clerkship.suite_files.synthetic.terms import build_concept, build_reference, build_resource, codeable_concept
from clerkship.suite_files.synthetic.times import (
    FRIDAY,
    THURSDAY,
    age_in_months,
    clinic_time,
    format_datetime,
    format_instant,
    is_open,
    latest_open_day,
    to_local,
)

VISIT_TIMES = tuple((hour, minute) for hour in (9, 10, 11, 13, 14, 15) for minute in (0, 30))
"""Start times of visits: hour and minute."""
VISIT_LENGTH = timedelta(minutes=30)
WEEKS_AHEAD = 4
_APPOINTMENT_TYPES = {
    "checkup": "checkup",
    "child": "checkup",
    "followup": "followup",
    "symptom": "walkin",
    "video": "followup",
}
"""Appointment types by kind of visit."""
MAX_PAST_APPOINTMENTS = 3
"""The number of last visits with an Appointment."""


class AppointmentBook:
    """The times that are taken, by clinician."""

    def __init__(self, now: datetime) -> None:
        self.openings = list(_iter_openings(now))
        """Every start time of the next four weeks on days when the clinic is open."""
        self._taken: dict[tuple[str, datetime], datetime] = {}

    def book_past(self, rng: RandomSource, clinician: Clinician, day: date, earliest: date) -> datetime | None:
        """Take a free time on this day or an earlier one; None if there is none."""
        first = rng.integer(0, len(VISIT_TIMES) - 1)
        if day.weekday() > FRIDAY:  # any day of that week, because Fridays would fill up otherwise
            day -= timedelta(days=day.weekday() - rng.integer(0, FRIDAY))
        day = latest_open_day(day)
        while day >= earliest:
            for step in range(len(VISIT_TIMES)):
                start = clinic_time(day, *VISIT_TIMES[(first + step) % len(VISIT_TIMES)])
                if self._take(clinician, start, start):
                    return start
            day = latest_open_day(day - timedelta(days=1))
        return None

    def book_future(self, rng: RandomSource, clinician: Clinician, agreed: datetime) -> datetime | None:
        """Take a free time in the next four weeks and record when it was booked; None if there is none."""
        times = self.openings
        first = rng.integer(0, max(0, len(times) - 1))
        for step in range(len(times)):
            start = times[(first + step) % len(times)]
            if self._take(clinician, start, agreed):
                return start
        return None

    def _take(self, clinician: Clinician, start: datetime, agreed: datetime) -> bool:
        at = (clinician.tag, start)
        if at in self._taken:
            return False
        self._taken[at] = agreed
        return True

    def get_booking_time(self, clinician: Clinician, start: datetime) -> datetime | None:
        """Return when a time was booked; None if it is free."""
        return self._taken.get((clinician.tag, start))


def _iter_openings(now: datetime) -> Iterator[datetime]:
    today = to_local(now).date()
    for days in range(WEEKS_AHEAD * 7):
        day = today + timedelta(days=days)
        if is_open(day):
            for time in VISIT_TIMES:
                if (start := clinic_time(day, *time)) > now:
                    yield start


def build_appointments(
    history: PatientHistory, appointment_book: AppointmentBook
) -> tuple[list[Resource], dict[int, str]]:
    """Return the appointments of a patient, and the ids of appointments by visit number."""
    appointments: list[Resource] = []
    booked: dict[int, str] = {}
    for visit in history.visits[-MAX_PAST_APPOINTMENTS:]:
        if visit.kind.booked:
            booked[visit.number] = f"appt-{history.tag}-{visit.number}"
            appointments.append(_build_fulfilled(history, visit, booked[visit.number]))
    appointments += _build_missed(history)
    if history.person.died is None:
        appointments += _build_upcoming(history, appointment_book)
    return appointments, booked


def _build_fulfilled(history: PatientHistory, visit: Visit, id: str) -> Resource:
    type = _APPOINTMENT_TYPES[visit.kind.key]
    agreed = visit.start - timedelta(days=history.rng.integer(3, 40) if type != "walkin" else 0, hours=1)
    agreed = max(agreed, clinic_time(history.person.born, 8))
    fields = {
        "description": visit.kind.name[0].upper() + visit.kind.name[1:],
        "reasonCode": [problem.reason for problem in visit.problems[:1]],
    }
    return _build_appointment(history, id, "fulfilled", visit.start, type, (agreed, visit.end), **fields)


def _build_missed(history: PatientHistory) -> Iterator[Resource]:
    """Yield appointments that the patient missed or cancelled."""
    rng = history.rng
    for status, often in (("noshow", 0.16), ("cancelled", 0.14)):
        if not rng.chance(often):
            continue
        day = latest_open_day(history.last_day - timedelta(days=rng.integer(8, 300)))
        start = clinic_time(day, rng.choice((8, 16)), 30)
        agreed = start - timedelta(days=rng.integer(7, 30))
        if to_local(agreed).date() <= history.person.born or start >= history.end:
            continue
        updated = start + timedelta(hours=1) if status == "noshow" else start - timedelta(days=2)
        fields = {"cancelationReason": build_concept("appointment.cancelled")} if status == "cancelled" else {}
        id = f"appt-{history.tag}-{status}"
        yield _build_appointment(
            history, id, status, start, "routine", (agreed, updated), description="Office visit", **fields
        )


def _build_upcoming(history: PatientHistory, appointment_book: AppointmentBook) -> Iterator[Resource]:
    """Yield the next appointment, in a busy slot."""
    rng = history.rng
    if not rng.chance(0.5):
        return
    called = clinic_time(
        latest_open_day(history.today - timedelta(days=rng.integer(1, 25))), rng.integer(8, 16), rng.integer(0, 59)
    )
    agreed = min(max(called, clinic_time(history.person.born, 8)), history.now)
    start = appointment_book.book_future(rng, history.doctor, agreed)
    if start is None:
        return
    id = f"appt-{history.tag}-next"
    small = age_in_months(history.person.born, history.today) < 36
    active = [problem for problem in history.active if not problem.illness.complaint and not small]
    well = "Well child visit" if history.person.age(history.today) < 18 else "Annual wellness visit"
    fields: dict[str, Any] = {"description": "Follow-up visit" if active else well}
    if active:
        problem = active[0]
        fields["reasonCode"] = [problem.reason]
        fields["reasonReference"] = [build_condition_reference(history, problem, problem.illness.name)]
    slot = [build_reference(f"Slot/{build_slot_id(history.doctor, start)}")]
    type = "followup" if active else "checkup"
    yield _build_appointment(history, id, "booked", start, type, (agreed, agreed), slot=slot, **fields)


def _build_appointment(
    history: PatientHistory,
    id: str,
    status: str,
    start: datetime,
    type: str,
    written: tuple[datetime, datetime],
    **fields: Any,
) -> Resource:
    """Return an Appointment; `written` has when it was booked, and when it was last updated."""
    doctor = history.doctor
    answer = {"noshow": "accepted", "cancelled": "declined"}.get(status, "accepted")
    return build_resource(
        "Appointment",
        id,
        format_instant(written[1]),
        status=status,
        serviceType=[build_concept("appointment.practice")],
        specialty=[codeable_concept(doctor.position.specialty)],
        appointmentType=build_concept(f"appointment.{type}"),
        start=format_datetime(start),
        end=format_datetime(start + VISIT_LENGTH),
        minutesDuration=VISIT_LENGTH.seconds // 60,
        created=format_datetime(written[0]),
        participant=[
            {"actor": history.subject(), "required": "required", "status": answer},
            {"actor": doctor.ref, "required": "required", "status": "accepted"},
            {"actor": doctor.location.ref, "required": "required", "status": "accepted"},
        ],
        **fields,
    )


def build_slot_id(clinician: Clinician, start: datetime) -> str:
    """Return an id such as `slot-01-family-20260303-0900`."""
    return f"slot-{clinician.tag}-{to_local(start).strftime('%Y%m%d-%H%M')}"


def build_schedule(
    clinician: Clinician, appointment_book: AppointmentBook, rng: RandomSource, now: datetime
) -> Iterator[Resource]:
    """Yield the Schedule of a clinician and its slots of the next four weeks; specialists have one afternoon a week."""
    times, hours = appointment_book.openings, "on weekdays, 9:00 to 12:00 and 13:00 to 16:00"
    service = [build_concept("appointment.practice")] if clinician.location is ROOMS else None
    if clinician.location is not ROOMS:
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
        specialty=[codeable_concept(clinician.position.specialty)],
        actor=[clinician.ref, clinician.location.ref],
        planningHorizon={"start": first.isoformat(), "end": (first + timedelta(days=WEEKS_AHEAD * 7 - 1)).isoformat()},
        comment=f"30-minute visits {hours}",
    )
    for start in times:
        blocked = rng.chance(0.12)
        agreed = appointment_book.get_booking_time(clinician, start)
        status = "busy" if agreed is not None else "busy-unavailable" if blocked else "free"
        yield build_resource(
            "Slot",
            build_slot_id(clinician, start),
            format_instant(agreed or opened),
            serviceType=service,
            specialty=[codeable_concept(clinician.position.specialty)],
            schedule=build_reference(f"Schedule/sched-{clinician.tag}"),
            status=status,
            start=format_datetime(start),
            end=format_datetime(start + VISIT_LENGTH),
            comment="Meeting" if status == "busy-unavailable" else None,
        )
