"""Simulate the clinical course of a patient: visits, problems, prescriptions, measurements and referrals."""

from datetime import date, timedelta

from clerkship.suite_files.synthetic.conditions import (
    ACUTE,
    CHRONIC,
    ILLNESSES,
    INFECTIONS,
    SEVERE,
    Illness,
    draw_allergies,
)
from clerkship.suite_files.synthetic.labs import PatientChemistry
from clerkship.suite_files.synthetic.lookalikes import DUPLICATE_PLACES, get_place
from clerkship.suite_files.synthetic.organizations import ADMISSION, CHECKUP, CHILD, FOLLOWUP, SYMPTOM, URGENT, VIDEO
from clerkship.suite_files.synthetic.patient_history import (
    PatientHistory,
    PatientProblem,
    Referral,
    Visit,
    get_result_time,
)
from clerkship.suite_files.synthetic.people import MONTH, PLANTED_ILLNESSES, VISIBLE_ILLNESSES, YEAR, Health
from clerkship.suite_files.synthetic.prescribing import prescribe, prescribe_course
from clerkship.suite_files.synthetic.scheduling import VISIT_LENGTH, AppointmentBook
from clerkship.suite_files.synthetic.times import add_months, age_in_months, clinic_time, to_local
from clerkship.suite_files.synthetic.vitals import draw_build, measure_vitals

VISIT_PACE: dict[Health, tuple[tuple[int, int], tuple[int, int]]] = {
    "healthy": ((1, 2), (200, 420)),
    "one": ((2, 4), (110, 230)),
    "several": ((3, 5), (75, 150)),
    "frail": ((4, 6), (50, 110)),
}
"""The number of visits, and the days between them, each as a range."""
WELL_CHILD_MONTHS = (0.1, 1, 2, 4, 6, 9, 12, 15, 18, 24, 30)
"""Ages in months of well child visits."""
PROBLEM_COUNTS: dict[Health, tuple[int, int]] = {"healthy": (0, 0), "one": (1, 1), "several": (2, 4), "frail": (4, 6)}
TRANSIENT_ILLNESSES = frozenset(
    {"asthma", "depression", "migraine", "reflux", "anemia", "rhinitis", "eczema", "anxiety"}
)
"""Chronic illnesses that some patients no longer have."""


def simulate_history(history: PatientHistory, appointment_book: AppointmentBook) -> None:
    """Fill in the history of a patient."""
    history.allergies = draw_allergies(history.body_rng, history.person, history.last_day)
    _schedule_visits(history, appointment_book)
    _add_chronic_problems(history)
    lasting = {problem.illness.key for problem in history.problems}
    history.build = draw_build(history.body_rng, history.person.sex, lasting)
    _assign_reasons(history)
    prescribe(history)
    _measure_visits(history)
    _add_referrals(history)


def _schedule_visits(history: PatientHistory, appointment_book: AppointmentBook) -> None:
    """Add the visits, each with a time in the appointment book."""
    rng, person = history.rng, history.person
    days = (
        _draw_well_child_days(history)
        if age_in_months(person.born, history.last_day) < 36
        else _draw_visit_days(history)
    )
    earliest = person.born + timedelta(days=1)
    for day in days:
        start = appointment_book.book_past(rng, history.doctor, min(day, history.today - timedelta(days=1)), earliest)
        if (
            start is not None
            and start + VISIT_LENGTH < history.end
            and all(visit.start != start for visit in history.visits)
        ):
            history.visits.append(
                Visit(0, CHECKUP, to_local(start).date(), start, start + VISIT_LENGTH, history.doctor)
            )
    history.visits.sort(key=lambda visit: visit.start)
    for number, visit in enumerate(history.visits, 1):
        visit.number = number


def _draw_visit_days(history: PatientHistory) -> list[date]:
    rng = history.rng
    (least, most), (near, far) = VISIT_PACE[history.person.health]
    day = history.last_day - timedelta(days=rng.integer(2, 4) if rng.chance(0.08) else rng.integer(5, 110))
    if rng.chance(0.07):
        day = history.last_day - timedelta(days=1)
    days = []
    for _ in range(rng.integer(least, most)):
        days.append(day)
        day -= timedelta(days=rng.integer(near, far))
    return days


def _draw_well_child_days(history: PatientHistory) -> list[date]:
    """Return the days of the last six well child visits."""
    born = history.person.born
    due_days = [born + timedelta(days=4) if age < 1 else add_months(born, int(age)) for age in WELL_CHILD_MONTHS]
    days = [day + timedelta(days=history.rng.integer(0, 3)) for day in due_days]
    return [day for day in days if day < history.last_day][-6:]


def _add_chronic_problems(history: PatientHistory) -> None:
    if not history.visits:
        return
    low, high = PROBLEM_COUNTS[history.person.health]
    chosen = {key: ILLNESSES[key] for key in PLANTED_ILLNESSES.get(get_place(history.person.number), ())}
    for _ in range(history.rng.integer(low, high) - len(chosen)):
        candidates = [illness for illness in CHRONIC if _is_possible_illness(illness, history, chosen)]
        if not candidates:
            break
        illness = history.rng.weighted_choice(candidates, [illness.weight for illness in candidates])
        chosen[illness.key] = illness
    if "failure" in chosen and history.rng.chance(0.3):
        chosen["hypokalemia"] = ILLNESSES["hypokalemia"]
    for illness in chosen.values():
        history.problems.append(_draw_problem(illness, history))
    history.problems.sort(key=lambda problem: (problem.onset, problem.illness.key))


def _is_possible_illness(illness: Illness, history: PatientHistory, chosen: dict[str, Illness]) -> bool:
    person = history.person
    first_seen = history.visits[-1].day
    return (
        illness.weight > 0
        and illness.key not in chosen
        and illness.ages[0] <= person.age(first_seen)
        and person.age(history.last_day) <= illness.ages[1]
        and illness.sex in ("", person.sex)
        and (not illness.after or any(key in chosen for key in illness.after))
        and not any(key in illness.without or illness.key in other.without for key, other in chosen.items())
        and not (get_place(person.number) in DUPLICATE_PLACES and illness.key in VISIBLE_ILLNESSES)
    )


def _draw_problem(illness: Illness, history: PatientHistory) -> PatientProblem:
    """Draw when an illness began and when it was recorded."""
    rng, born = history.rng, history.person.born
    last = history.visits[-1].day
    first = min(last, add_months(born, illness.ages[0] * 12) + timedelta(days=30))
    most = min((last - first).days, 400 if illness.key == "hypokalemia" else int(18 * YEAR))
    onset = last - timedelta(days=rng.integer(0, max(0, most)))
    seen = next(visit for visit in history.visits if visit.day >= onset)
    if seen.number > 1 or onset == seen.day:
        problem = PatientProblem(illness, onset, seen.day, visit=seen)
    else:
        problem = PatientProblem(illness, onset, min(onset + timedelta(days=rng.integer(0, 20)), seen.day))
    if illness.key in TRANSIENT_ILLNESSES and rng.chance(0.15) and (history.last_day - problem.recorded).days > 90:
        problem.status = "resolved"
        problem.abated = problem.recorded + timedelta(days=rng.integer(60, (history.last_day - problem.recorded).days))
    return problem


def _assign_reasons(history: PatientHistory) -> None:
    """Assign a kind and the problems to each visit."""
    small = history.person.age(history.last_day) < 18
    stay = history.rng.integer(2, len(history.visits) - 1) if len(history.visits) > 3 else 0
    for visit in history.visits:
        last = visit.number == len(history.visits)
        known = [p for p in history.problems if p.recorded <= visit.day and (p.abated is None or p.abated > visit.day)]
        if (visit.number == stay and history.person.health == "frail" and _try_admission(history, visit)) or (
            not last and history.rng.chance(0.2) and _try_acute_illness(history, visit)
        ):
            continue
        if known:
            visit.kind = VIDEO if not last and history.rng.chance(0.08) else FOLLOWUP
            visit.problems = known
        else:
            visit.kind = CHILD if small else CHECKUP
    if (
        len(history.visits) == 1
        and small
        and not history.visits[0].problems
        and age_in_months(history.person.born, history.visits[0].day) > 12
        and history.rng.chance(0.3)
    ):
        _try_acute_illness(history, history.visits[0])


def _is_free_after(history: PatientHistory, visit: Visit) -> bool:
    """Return whether the next ten days have no other visit."""
    after = [other.start for other in history.visits if other.start > visit.start] + [history.end]
    return after[0] - visit.start > timedelta(days=10)


def _try_admission(history: PatientHistory, visit: Visit) -> bool:
    """Make the visit a hospital stay, from an evening to some days later; return False if it cannot be one."""
    season = SEVERE if visit.day.month in (1, 2, 3, 11, 12) else SEVERE[:1]
    if history.person.age(visit.day) < season[0].ages[0] or not _is_free_after(history, visit):
        return False
    illness = history.rng.weighted_choice(season, [illness.weight for illness in season])
    visit.kind, visit.clinician = ADMISSION, history.specialists["hospital"]
    day = visit.day
    visit.start = clinic_time(day, history.rng.integer(17, 21), history.rng.choice((5, 20, 40)))
    visit.end = clinic_time(day + timedelta(days=history.rng.integer(2, 6)), 11, 30)
    _add_acute_problem(history, visit, illness, 14)
    return True


def _try_acute_illness(history: PatientHistory, visit: Visit) -> bool:
    """Make the visit one for an acute illness; return False if no illness fits the patient."""
    age = history.person.age(visit.day)
    known = {problem.illness.key for problem in history.problems}
    candidates = [
        illness
        for illness in ACUTE
        if illness.ages[0] <= age <= illness.ages[1]
        and illness.sex in ("", history.person.sex)
        and not known & {illness.key, *illness.without}
    ]
    if not candidates or age_in_months(history.person.born, visit.day) < 3:
        return False
    illness = history.rng.weighted_choice(candidates, [illness.weight for illness in candidates])
    if history.rng.chance(0.15) and _is_free_after(history, visit):
        visit.kind, visit.clinician = URGENT, history.specialists["emergency"]
        visit.start = clinic_time(visit.day, history.rng.integer(18, 21), history.rng.choice((0, 10, 25, 50)))
        visit.end = visit.start + timedelta(hours=history.rng.integer(1, 2), minutes=20)
    else:
        visit.kind = SYMPTOM
    _add_acute_problem(history, visit, illness, history.rng.integer(7, 12))
    return True


def _add_acute_problem(history: PatientHistory, visit: Visit, illness: Illness, days: int) -> None:
    onset = max(history.person.born, visit.day - timedelta(days=history.rng.integer(1, 4)))
    problem = PatientProblem(illness, onset, visit.day, visit=visit)
    course = prescribe_course(history, visit, problem)
    ended = to_local(visit.end).date() + timedelta(
        days=max([days, *(prescription.drug.days for prescription in course)])
    )
    if ended <= history.last_day:
        problem.status, problem.abated = "resolved", ended
    visit.problems = [problem]
    history.problems.append(problem)


def _measure_visits(history: PatientHistory) -> None:
    """Add vital signs and laboratory results to the visits that have them."""
    rng, person = history.rng, history.person
    chemistry = PatientChemistry(rng, person.sex)
    for visit in history.visits:
        present = [
            p for p in history.problems if p.recorded <= visit.day and (p.abated is None or p.abated > visit.day)
        ]
        causes = {problem.illness.key for problem in present}
        ill = {problem.illness.key for problem in visit.problems}
        if visit.kind.measured:
            fever = bool(ill & INFECTIONS) and rng.chance(0.7)
            old = (visit.day - person.born).days / MONTH
            visit.vitals = measure_vitals(rng, history.build, person.sex, old, causes, fever)
        if visit.kind in (FOLLOWUP, CHECKUP, ADMISSION) and person.age(visit.day) >= 18:
            causes |= {
                name
                for prescription in history.medications_before(visit)
                for name in (prescription.drug.group, prescription.drug.key)
            }
            _measure_panels(history, visit, chemistry, causes)


def _measure_panels(history: PatientHistory, visit: Visit, chemistry: PatientChemistry, causes: set[str]) -> None:
    age = history.person.age(visit.day)
    for panel in _select_panels(history, visit):
        if get_result_time(visit, panel) < history.end:
            visit.panels[panel] = chemistry.measure_panel(panel, causes, age)
        elif panel == "phq9":
            continue  # a questionnaire has its result at once
        elif history.person.died is None:
            visit.awaited.append(panel)


def _select_panels(history: PatientHistory, visit: Visit) -> list[str]:
    """Return the panels of a visit: those of its illnesses, with more of them at recent visits."""
    rng = history.rng
    if visit.kind is ADMISSION:
        return ["bmp", "cbc"]
    if visit.kind is CHECKUP:
        return [panel for panel, often in (("lipids", 0.3), ("bmp", 0.2), ("cbc", 0.2)) if rng.chance(often)]
    recent = visit.number > len(history.visits) - 2
    panels = {panel for problem in visit.problems for panel in problem.illness.panels}
    drugs = [prescription.drug for prescription in history.medications_after(visit)]
    if not any(drug.key == "warfarin" for drug in drugs):
        panels.discard("inr")
    if any(drug.group in ("diuretic", "proton") for drug in drugs):
        panels.add("magnesium")
    frequent = {"a1c", "inr", "phq9"}
    return [panel for panel in sorted(panels) if rng.chance(0.95 if panel in frequent else 0.7 if recent else 0.2)]


def _add_referrals(history: PatientHistory) -> None:
    """Refer some problems to specialists."""
    for problem in history.active:
        if not problem.illness.specialty or not history.rng.chance(0.35):
            continue
        seen = [visit for visit in history.visits if problem in visit.problems and visit.kind is FOLLOWUP]
        if not seen:
            continue
        visit = history.rng.choice(seen)
        recent = visit is history.visits[-1] and history.person.died is None
        specialist = history.specialists[problem.illness.specialty]
        history.referrals.append(Referral(problem, visit, specialist, "active" if recent else "completed"))
