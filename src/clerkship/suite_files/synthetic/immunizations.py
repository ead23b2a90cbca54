"""Immunizations by age and season."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.organizations import CLINIC, ROOMS, VIDEO
from clerkship.suite_files.synthetic.patient_history import PatientHistory
from clerkship.suite_files.synthetic.terms import (
    TERMS,
    UCUM,
    Term,
    build_concept,
    build_resource,
    codeable_concept,
    read_table,
)
from clerkship.suite_files.synthetic.times import add_months, clinic_time, format_instant, latest_open_day


class Dose(NamedTuple):
    """One dose of a series."""

    key: str
    term: Term
    name: str
    months: int
    """The age in months at which it is due."""
    number: int
    since: int = 1990
    """The first year in which it was given."""
    share: float = 0.93


ADULT_FROM = 18 * 12
"""Age in months."""


_VACCINES = read_table("vaccines", Dose)
CHILDHOOD_DOSES = [dose for dose in _VACCINES if dose.months < ADULT_FROM]
ADULT_DOSES = [dose for dose in _VACCINES if dose.months >= ADULT_FROM]
REPLACEMENTS = {"133": (date(2023, 7, 1), "vaccine.pcv20"), "136": (date(2021, 1, 1), "vaccine.menacwy_tt")}
"""By CVX code: since when a vaccine is replaced, and by which one."""
MAX_START_MONTHS = {"rota": 3}
"""The maximum age in months at which a series is started."""
ROUTES = {"rota": "route.mouth", "mmr": "route.skin", "varicella": "route.skin"}
"""Routes other than intramuscular."""
VOLUMES = {"rota": 1, "covid": 0.3}
"""Volumes in mL other than 0.5."""
MAX_DAYS_FROM_VISIT = 30
"""A dose that is due within this many days of a visit is given at the visit."""


def build_immunizations(history: PatientHistory) -> Iterator[Resource]:
    """Yield the immunizations of a patient: by the schedule for children, by age for adults, and by season for both."""
    if history.person.age(history.last_day) < 18:
        yield from _build_childhood_doses(history)
    else:
        yield from _build_adult_doses(history)
    yield from _build_seasonal_doses(history)


def _build_childhood_doses(history: PatientHistory) -> Iterator[Resource]:
    """Yield the doses of the schedule. Doses that are due together are given together; a missed dose is given when the
    next one is due.
    """
    days = {months: _choose_day(history, months) for months in sorted({dose.months for dose in CHILDHOOD_DOSES})}
    given_counts: dict[str, int] = {}
    for dose in CHILDHOOD_DOSES:
        day = days[dose.months]
        if day >= history.last_day or day.year < dose.since or not history.rng.chance(dose.share):
            continue
        if dose.key not in given_counts and dose.months >= MAX_START_MONTHS.get(dose.key, 10_000):
            continue
        given_counts[dose.key] = given_counts.get(dose.key, 0) + 1
        numbered = dose._replace(number=given_counts[dose.key], term=_get_current_vaccine(dose.term, day))
        yield _build_immunization(history, numbered, day, f"{dose.key}-{numbered.number}")


def _get_current_vaccine(term: Term, day: date) -> Term:
    since, newer = REPLACEMENTS.get(term.code, (date.max, ""))
    return TERMS[newer] if day >= since else term


def _choose_day(history: PatientHistory, months: int) -> date:
    """Return the day of a visit near the due date; else a day soon after it."""
    due = add_months(history.person.born, months)
    if months == 0:
        return due
    near = [day for day in _list_clinic_days(history) if -4 <= (day - due).days <= MAX_DAYS_FROM_VISIT]
    return near[0] if near else latest_open_day(due + timedelta(days=history.rng.integer(5, 12)))


def _list_clinic_days(history: PatientHistory) -> list[date]:
    """Return the days on which the patient was at the clinic."""
    return [visit.day for visit in history.visits if visit.kind.location is ROOMS and visit.kind is not VIDEO]


def _move_to_visit(history: PatientHistory, day: date, first: date, last: date) -> date:
    """Return the day of the nearest visit within the limits; else the day itself."""
    near = [
        seen
        for seen in _list_clinic_days(history)
        if abs((seen - day).days) <= MAX_DAYS_FROM_VISIT and first <= seen <= last
    ]
    return min(near, key=lambda seen: abs((seen - day).days)) if near else day


def _build_adult_doses(history: PatientHistory) -> Iterator[Resource]:
    """Yield doses by age, some time after they were due, and tetanus within ten years."""
    rng, given_keys = history.rng, set()
    for dose in ADULT_DOSES:
        due = add_months(history.person.born, dose.months)
        first = max(due, date(dose.since, 3, 1))
        days = (history.last_day - first).days
        if days < 200 or not rng.chance(dose.share) or (dose.number > 1 and dose.key not in given_keys):
            continue
        given_keys.add(dose.key)
        span = (min(days, 1500) - 190) // 2
        back = rng.integer(0, span) + (190 + span if dose.number == 1 else 5)
        day = latest_open_day(history.last_day - timedelta(days=back))
        yield _build_immunization(
            history,
            dose,
            _move_to_visit(history, day, first, _get_day_before_end(history)),
            f"{dose.key}-{dose.number}",
        )
    if rng.chance(0.6):
        back = rng.integer(30, min(3400, max(40, (history.last_day - history.person.born).days - 6700)))
        day = latest_open_day(history.last_day - timedelta(days=back))
        day = _move_to_visit(history, day, add_months(history.person.born, 216), _get_day_before_end(history))
        yield _build_immunization(
            history, Dose("td", TERMS["vaccine.tetanus"], "Tetanus and diphtheria", 0, 1), day, "td-1"
        )


def _get_day_before_end(history: PatientHistory) -> date:
    return history.last_day - timedelta(days=1)


def _build_seasonal_doses(history: PatientHistory) -> Iterator[Resource]:
    """Yield influenza vaccines of the last two autumns, from 2023 on with COVID-19."""
    for back in (1, 0):
        year = history.last_day.year - back
        if not history.rng.chance(0.55):
            continue
        day = latest_open_day(date(year, 10, 1) + timedelta(days=history.rng.integer(3, 50)))
        old_enough = add_months(history.person.born, 7)
        day = _move_to_visit(
            history, day, max(date(year, 10, 1), old_enough), min(date(year, 11, 30), _get_day_before_end(history))
        )
        if old_enough > day or day >= history.last_day:
            continue
        term = TERMS["vaccine.flu_high_dose" if history.person.age(day) >= 65 else "vaccine.flu"]
        yield _build_immunization(history, Dose("flu", term, "Influenza", 0, 1), day, f"flu-{year}")
        if year >= 2023 and history.person.age(day) >= 12 and history.rng.chance(0.4):
            yield _build_immunization(
                history, Dose("covid", TERMS["vaccine.covid"], "COVID-19", 0, 1), day, f"covid-{year}"
            )


def _build_immunization(history: PatientHistory, dose: Dose, day: date, name: str) -> Resource:
    small = history.person.age(day) < 3
    volume = {"value": VOLUMES.get(dose.key, 0.5), "unit": "mL", "system": UCUM, "code": "mL"}
    return build_resource(
        "Immunization",
        f"imm-{history.tag}-{name}",
        format_instant(min(clinic_time(day, 16, 45), history.end)),
        status="completed",
        vaccineCode=codeable_concept(dose.term, text=dose.name),
        patient=history.subject(),
        occurrenceDateTime=day.isoformat(),
        primarySource=True,
        location=ROOMS.ref,
        lotNumber=f"{dose.key[:3].upper()}{history.rng.integer(1000, 9999)}",
        site=build_concept("site.thigh" if small else "site.arm") if dose.key != "rota" else None,
        route=build_concept(ROUTES.get(dose.key, "route.muscle")),
        doseQuantity=volume,
        performer=[{"actor": CLINIC.ref}],
        protocolApplied=[{"doseNumberPositiveInt": dose.number}],
    )
