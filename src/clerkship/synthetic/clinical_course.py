"""How it went: when somebody was seen, for what, what was found and what was prescribed."""

from datetime import date, timedelta

from clerkship.synthetic.allergies import draw_allergies
from clerkship.synthetic.appointment_book import VISIT_LENGTH, AppointmentBook
from clerkship.synthetic.conditions import ACUTE, CHRONIC, ILLNESSES, INFECTIONS, SEVERE, Illness
from clerkship.synthetic.labs import PatientChemistry
from clerkship.synthetic.lookalikes import DUPLICATE_PLACES, get_place
from clerkship.synthetic.patient_history import PatientHistory, PatientProblem, Referral, Visit, get_result_time
from clerkship.synthetic.people import MONTH, YEAR, Health
from clerkship.synthetic.planted_illnesses import PLANTED_ILLNESSES, VISIBLE_ILLNESSES
from clerkship.synthetic.prescribing import prescribe, prescribe_course
from clerkship.synthetic.times import add_months, age_in_months, clinic_time, to_local
from clerkship.synthetic.visit_kinds import ADMISSION, CHECKUP, CHILD, FOLLOWUP, SYMPTOM, URGENT, VIDEO
from clerkship.synthetic.vitals import draw_build, measure_vitals

VISIT_PACE: dict[Health, tuple[tuple[int, int], tuple[int, int]]] = {
    "healthy": ((1, 2), (200, 420)),
    "one": ((2, 4), (110, 230)),
    "several": ((3, 5), (75, 150)),
    "frail": ((4, 6), (50, 110)),
}
"""How often somebody is seen, and how many days lie between."""
WELL_CHILD_MONTHS = (0.1, 1, 2, 4, 6, 9, 12, 15, 18, 24, 30)
"""Months at which small children are seen."""
PROBLEM_COUNTS: dict[Health, tuple[int, int]] = {"healthy": (0, 0), "one": (1, 1), "several": (2, 4), "frail": (4, 6)}
TRANSIENT_ILLNESSES = frozenset(
    {"asthma", "depression", "migraine", "reflux", "anemia", "rhinitis", "eczema", "anxiety"}
)
"""What some have had and no longer have."""


def simulate_history(story: PatientHistory, diary: AppointmentBook) -> None:
    """Fill in a story, from its beginning to its end."""
    story.allergies = draw_allergies(story.body, story.person, story.last_day)
    _schedule_visits(story, diary)
    _add_chronic_problems(story)
    lasting = {problem.illness.key for problem in story.problems}
    story.build = draw_build(story.body, story.person.sex, lasting)
    _assign_reasons(story)
    prescribe(story)
    _measure_visits(story)
    _add_referrals(story)


def _schedule_visits(story: PatientHistory, diary: AppointmentBook) -> None:
    """The days on which they were seen, with a time each."""
    dice, person = story.dice, story.person
    days = _draw_well_child_days(story) if age_in_months(person.born, story.last_day) < 36 else _draw_visit_days(story)
    earliest = person.born + timedelta(days=1)
    for day in days:
        start = diary.past(dice, story.doctor, min(day, story.today - timedelta(days=1)), earliest)
        if (
            start is not None
            and start + VISIT_LENGTH < story.end
            and all(visit.start != start for visit in story.visits)
        ):
            story.visits.append(Visit(0, CHECKUP, to_local(start).date(), start, start + VISIT_LENGTH, story.doctor))
    story.visits.sort(key=lambda visit: visit.start)
    for number, visit in enumerate(story.visits, 1):
        visit.number = number


def _draw_visit_days(story: PatientHistory) -> list[date]:
    dice = story.dice
    (least, most), (near, far) = VISIT_PACE[story.person.health]
    day = story.last_day - timedelta(days=dice.whole(2, 4) if dice.chance(0.08) else dice.whole(5, 110))
    if dice.chance(0.07):
        day = story.last_day - timedelta(days=1)
    days = []
    for _ in range(dice.whole(least, most)):
        days.append(day)
        day -= timedelta(days=dice.whole(near, far))
    return days


def _draw_well_child_days(story: PatientHistory) -> list[date]:
    """The last six of the visits that small children have."""
    born = story.person.born
    due = [born + timedelta(days=4) if age < 1 else add_months(born, int(age)) for age in WELL_CHILD_MONTHS]
    moved = [day + timedelta(days=story.dice.whole(0, 3)) for day in due]
    return [day for day in moved if day < story.last_day][-6:]


def _add_chronic_problems(story: PatientHistory) -> None:
    """What they have had for long."""
    if not story.visits:
        return
    low, high = PROBLEM_COUNTS[story.person.health]
    chosen = {key: ILLNESSES[key] for key in PLANTED_ILLNESSES.get(get_place(story.person.number), ())}
    for _ in range(story.dice.whole(low, high) - len(chosen)):
        open_ones = [illness for illness in CHRONIC if _is_possible_illness(illness, story, chosen)]
        if not open_ones:
            break
        illness = story.dice.weighted(open_ones, [illness.weight for illness in open_ones])
        chosen[illness.key] = illness
    if "failure" in chosen and story.dice.chance(0.3):
        chosen["hypokalemia"] = ILLNESSES["hypokalemia"]
    for illness in chosen.values():
        story.problems.append(_draw_problem(illness, story))
    story.problems.sort(key=lambda problem: (problem.onset, problem.illness.key))


def _is_possible_illness(illness: Illness, story: PatientHistory, chosen: dict[str, Illness]) -> bool:
    person = story.person
    first_seen = story.visits[-1].day
    return (
        illness.weight > 0
        and illness.key not in chosen
        and illness.ages[0] <= person.age(first_seen)
        and person.age(story.last_day) <= illness.ages[1]
        and illness.sex in ("", person.sex)
        and (not illness.after or any(key in chosen for key in illness.after))
        and not any(key in illness.without or illness.key in other.without for key, other in chosen.items())
        and not (get_place(person.number) in DUPLICATE_PLACES and illness.key in VISIBLE_ILLNESSES)
    )


def _draw_problem(illness: Illness, story: PatientHistory) -> PatientProblem:
    """When it began, and when somebody wrote it down."""
    dice, born = story.dice, story.person.born
    last = story.visits[-1].day
    first = min(last, add_months(born, illness.ages[0] * 12) + timedelta(days=30))
    most = min((last - first).days, 400 if illness.key == "hypokalemia" else int(18 * YEAR))
    onset = last - timedelta(days=dice.whole(0, max(0, most)))
    seen = next(visit for visit in story.visits if visit.day >= onset)
    if seen.number > 1 or onset == seen.day:
        problem = PatientProblem(illness, onset, seen.day, visit=seen)
    else:
        problem = PatientProblem(illness, onset, min(onset + timedelta(days=dice.whole(0, 20)), seen.day))
    if illness.key in TRANSIENT_ILLNESSES and dice.chance(0.15) and (story.last_day - problem.recorded).days > 90:
        problem.status = "resolved"
        problem.abated = problem.recorded + timedelta(days=dice.whole(60, (story.last_day - problem.recorded).days))
    return problem


def _assign_reasons(story: PatientHistory) -> None:
    """What each visit was for."""
    small = story.person.age(story.last_day) < 18
    stay = story.dice.whole(2, len(story.visits) - 1) if len(story.visits) > 3 else 0
    for visit in story.visits:
        last = visit.number == len(story.visits)
        known = [p for p in story.problems if p.recorded <= visit.day and (p.abated is None or p.abated > visit.day)]
        if (visit.number == stay and story.person.health == "frail" and _try_admission(story, visit)) or (
            not last and story.dice.chance(0.2) and _try_acute_illness(story, visit)
        ):
            continue
        if known:
            visit.kind = VIDEO if not last and story.dice.chance(0.08) else FOLLOWUP
            visit.problems = known
        else:
            visit.kind = CHILD if small else CHECKUP
    if (
        len(story.visits) == 1
        and small
        and not story.visits[0].problems
        and age_in_months(story.person.born, story.visits[0].day) > 12
        and story.dice.chance(0.3)
    ):
        _try_acute_illness(story, story.visits[0])


def _is_free_after(story: PatientHistory, visit: Visit) -> bool:
    """Whether nothing else happens in the ten days after."""
    after = [other.start for other in story.visits if other.start > visit.start] + [story.end]
    return after[0] - visit.start > timedelta(days=10)


def _try_admission(story: PatientHistory, visit: Visit) -> bool:
    """They are taken in in the evening and are home some days later; whether there is anything of the kind."""
    season = SEVERE if visit.day.month in (1, 2, 3, 11, 12) else SEVERE[:1]
    if story.person.age(visit.day) < season[0].ages[0] or not _is_free_after(story, visit):
        return False
    illness = story.dice.weighted(season, [illness.weight for illness in season])
    visit.kind, visit.clinician = ADMISSION, story.specialists["hospital"]
    day = visit.day
    visit.start = clinic_time(day, story.dice.whole(17, 21), story.dice.pick((5, 20, 40)))
    visit.end = clinic_time(day + timedelta(days=story.dice.whole(2, 6)), 11, 30)
    _add_acute_problem(story, visit, illness, 14)
    return True


def _try_acute_illness(story: PatientHistory, visit: Visit) -> bool:
    """They come because of something that passes; whether there is anything of the kind at their age."""
    age = story.person.age(visit.day)
    known = {problem.illness.key for problem in story.problems}
    open_ones = [
        illness
        for illness in ACUTE
        if illness.ages[0] <= age <= illness.ages[1]
        and illness.sex in ("", story.person.sex)
        and not known & {illness.key, *illness.without}
    ]
    if not open_ones or age_in_months(story.person.born, visit.day) < 3:
        return False
    illness = story.dice.weighted(open_ones, [illness.weight for illness in open_ones])
    if story.dice.chance(0.15) and _is_free_after(story, visit):
        visit.kind, visit.clinician = URGENT, story.specialists["emergency"]
        visit.start = clinic_time(visit.day, story.dice.whole(18, 21), story.dice.pick((0, 10, 25, 50)))
        visit.end = visit.start + timedelta(hours=story.dice.whole(1, 2), minutes=20)
    else:
        visit.kind = SYMPTOM
    _add_acute_problem(story, visit, illness, story.dice.whole(7, 12))
    return True


def _add_acute_problem(story: PatientHistory, visit: Visit, illness: Illness, days: int) -> None:
    onset = max(story.person.born, visit.day - timedelta(days=story.dice.whole(1, 4)))
    problem = PatientProblem(illness, onset, visit.day, visit=visit)
    course = prescribe_course(story, visit, problem)
    ended = to_local(visit.end).date() + timedelta(days=max([days, *(given.drug.days for given in course)]))
    if ended <= story.last_day:
        problem.status, problem.abated = "resolved", ended
    visit.problems = [problem]
    story.problems.append(problem)


def _measure_visits(story: PatientHistory) -> None:
    """What was measured, at the visits where something is."""
    dice, person = story.dice, story.person
    body = PatientChemistry(dice, person.sex)
    for visit in story.visits:
        had = [p for p in story.problems if p.recorded <= visit.day and (p.abated is None or p.abated > visit.day)]
        causes = {problem.illness.key for problem in had}
        ill = {problem.illness.key for problem in visit.problems}
        if visit.kind.measured:
            fever = bool(ill & INFECTIONS) and dice.chance(0.7)
            old = (visit.day - person.born).days / MONTH
            visit.vitals = measure_vitals(dice, story.build, person.sex, old, causes, fever)
        if visit.kind in (FOLLOWUP, CHECKUP, ADMISSION) and person.age(visit.day) >= 18:
            causes |= {name for given in story.brought(visit) for name in (given.drug.group, given.drug.key)}
            _measure_panels(story, visit, body, causes)


def _measure_panels(story: PatientHistory, visit: Visit, body: PatientChemistry, causes: set[str]) -> None:
    age = story.person.age(visit.day)
    for panel in _select_panels(story, visit):
        if get_result_time(visit, panel) < story.end:
            visit.panels[panel] = body.panel(panel, causes, age)
        elif panel == "phq9":
            continue  # asked in the room: there is nothing to wait for
        elif story.person.died is None:
            visit.awaited.append(panel)


def _select_panels(story: PatientHistory, visit: Visit) -> list[str]:
    """The panels of a visit: those of the illnesses it was about, more of them the more recent it is."""
    dice = story.dice
    if visit.kind is ADMISSION:
        return ["bmp", "cbc"]
    if visit.kind is CHECKUP:
        return [panel for panel, often in (("lipids", 0.3), ("bmp", 0.2), ("cbc", 0.2)) if dice.chance(often)]
    recent = visit.number > len(story.visits) - 2
    wanted = {panel for problem in visit.problems for panel in problem.illness.panels}
    drugs = [given.drug for given in story.taking(visit)]
    if not any(drug.key == "warfarin" for drug in drugs):
        wanted.discard("inr")
    if any(drug.group in ("diuretic", "proton") for drug in drugs):
        wanted.add("magnesium")
    often = {"a1c", "inr", "phq9"}
    return [panel for panel in sorted(wanted) if dice.chance(0.95 if panel in often else 0.7 if recent else 0.2)]


def _add_referrals(story: PatientHistory) -> None:
    """Some are sent to somebody who knows more about it."""
    for problem in story.active:
        if not problem.illness.specialty or not story.dice.chance(0.35):
            continue
        seen = [visit for visit in story.visits if problem in visit.problems and visit.kind is FOLLOWUP]
        if not seen:
            continue
        visit = story.dice.pick(seen)
        recent = visit is story.visits[-1] and story.person.died is None
        specialist = story.specialists[problem.illness.specialty]
        story.referrals.append(Referral(problem, visit, specialist, "active" if recent else "completed"))
