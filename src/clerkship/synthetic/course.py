"""How it went: when somebody was seen, for what, what was found and what was prescribed."""

from datetime import date, timedelta

from clerkship.synthetic.allergies import draw_allergies
from clerkship.synthetic.conditions import ACUTE, CHRONIC, ILLNESSES, INFECTIONS, SEVERE, Illness
from clerkship.synthetic.diary import LENGTH, Diary
from clerkship.synthetic.labs import Body
from clerkship.synthetic.lookalikes import TWICE, place_of
from clerkship.synthetic.people import MONTH, YEAR, Health
from clerkship.synthetic.planted import ILL, SHOWN
from clerkship.synthetic.prescribing import prescribe, prescribe_course
from clerkship.synthetic.story import Problem, Referral, Story, Visit, returned
from clerkship.synthetic.times import at, local, months, months_after
from clerkship.synthetic.visit_kinds import ADMISSION, CHECKUP, CHILD, FOLLOWUP, SYMPTOM, URGENT, VIDEO
from clerkship.synthetic.vitals import draw_build, measure

PACE: dict[Health, tuple[tuple[int, int], tuple[int, int]]] = {
    "healthy": ((1, 2), (200, 420)),
    "one": ((2, 4), (110, 230)),
    "several": ((3, 5), (75, 150)),
    "frail": ((4, 6), (50, 110)),
}
"""How often somebody is seen, and how many days lie between."""
WELL_CHILD = (0.1, 1, 2, 4, 6, 9, 12, 15, 18, 24, 30)
"""Months at which small children are seen."""
COUNT: dict[Health, tuple[int, int]] = {"healthy": (0, 0), "one": (1, 1), "several": (2, 4), "frail": (4, 6)}
PASSING = frozenset({"asthma", "depression", "migraine", "reflux", "anemia", "rhinitis", "eczema", "anxiety"})
"""What some have had and no longer have."""


def live(story: Story, diary: Diary) -> None:
    """Fill in a story, from its beginning to its end."""
    story.allergies = draw_allergies(story.body, story.person, story.last_day)
    _see(story, diary)
    _fall_ill(story)
    lasting = {problem.illness.key for problem in story.problems}
    story.build = draw_build(story.body, story.person.sex, lasting)
    _give_reasons(story)
    prescribe(story)
    _examine(story)
    _refer(story)


def _see(story: Story, diary: Diary) -> None:
    """The days on which they were seen, with a time each."""
    dice, person = story.dice, story.person
    days = _small_days(story) if months(person.born, story.last_day) < 36 else _days(story)
    earliest = person.born + timedelta(days=1)
    for day in days:
        start = diary.past(dice, story.doctor, min(day, story.today - timedelta(days=1)), earliest)
        if start is not None and start + LENGTH < story.end and all(visit.start != start for visit in story.visits):
            story.visits.append(Visit(0, CHECKUP, local(start).date(), start, start + LENGTH, story.doctor))
    story.visits.sort(key=lambda visit: visit.start)
    for number, visit in enumerate(story.visits, 1):
        visit.number = number


def _days(story: Story) -> list[date]:
    dice = story.dice
    (least, most), (near, far) = PACE[story.person.health]
    day = story.last_day - timedelta(days=dice.whole(2, 4) if dice.chance(0.08) else dice.whole(5, 110))
    if dice.chance(0.07):
        day = story.last_day - timedelta(days=1)
    days = []
    for _ in range(dice.whole(least, most)):
        days.append(day)
        day -= timedelta(days=dice.whole(near, far))
    return days


def _small_days(story: Story) -> list[date]:
    """The last six of the visits that small children have."""
    born = story.person.born
    due = [born + timedelta(days=4) if age < 1 else months_after(born, int(age)) for age in WELL_CHILD]
    moved = [day + timedelta(days=story.dice.whole(0, 3)) for day in due]
    return [day for day in moved if day < story.last_day][-6:]


def _fall_ill(story: Story) -> None:
    """What they have had for long."""
    if not story.visits:
        return
    low, high = COUNT[story.person.health]
    chosen = {key: ILLNESSES[key] for key in ILL.get(place_of(story.person.number), ())}
    for _ in range(story.dice.whole(low, high) - len(chosen)):
        open_ones = [illness for illness in CHRONIC if _may_have(illness, story, chosen)]
        if not open_ones:
            break
        illness = story.dice.weighted(open_ones, [illness.weight for illness in open_ones])
        chosen[illness.key] = illness
    if "failure" in chosen and story.dice.chance(0.3):
        chosen["hypokalemia"] = ILLNESSES["hypokalemia"]
    for illness in chosen.values():
        story.problems.append(_contracted(illness, story))
    story.problems.sort(key=lambda problem: (problem.onset, problem.illness.key))


def _may_have(illness: Illness, story: Story, chosen: dict[str, Illness]) -> bool:
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
        and not (place_of(person.number) in TWICE and illness.key in SHOWN)
    )


def _contracted(illness: Illness, story: Story) -> Problem:
    """When it began, and when somebody wrote it down."""
    dice, born = story.dice, story.person.born
    last = story.visits[-1].day
    first = min(last, months_after(born, illness.ages[0] * 12) + timedelta(days=30))
    most = min((last - first).days, 400 if illness.key == "hypokalemia" else int(18 * YEAR))
    onset = last - timedelta(days=dice.whole(0, max(0, most)))
    seen = next(visit for visit in story.visits if visit.day >= onset)
    if seen.number > 1 or onset == seen.day:
        problem = Problem(illness, onset, seen.day, visit=seen)
    else:
        problem = Problem(illness, onset, min(onset + timedelta(days=dice.whole(0, 20)), seen.day))
    if illness.key in PASSING and dice.chance(0.15) and (story.last_day - problem.recorded).days > 90:
        problem.status = "resolved"
        problem.abated = problem.recorded + timedelta(days=dice.whole(60, (story.last_day - problem.recorded).days))
    return problem


def _give_reasons(story: Story) -> None:
    """What each visit was for."""
    small = story.person.age(story.last_day) < 18
    stay = story.dice.whole(2, len(story.visits) - 1) if len(story.visits) > 3 else 0
    for visit in story.visits:
        last = visit.number == len(story.visits)
        known = [p for p in story.problems if p.recorded <= visit.day and (p.abated is None or p.abated > visit.day)]
        if (visit.number == stay and story.person.health == "frail" and _admitted(story, visit)) or (
            not last and story.dice.chance(0.2) and _acute(story, visit)
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
        and months(story.person.born, story.visits[0].day) > 12
        and story.dice.chance(0.3)
    ):
        _acute(story, story.visits[0])


def _free_until_next(story: Story, visit: Visit) -> bool:
    """Whether nothing else happens in the ten days after."""
    after = [other.start for other in story.visits if other.start > visit.start] + [story.end]
    return after[0] - visit.start > timedelta(days=10)


def _admitted(story: Story, visit: Visit) -> bool:
    """They are taken in in the evening and are home some days later; whether there is anything of the kind."""
    season = SEVERE if visit.day.month in (1, 2, 3, 11, 12) else SEVERE[:1]
    if story.person.age(visit.day) < season[0].ages[0] or not _free_until_next(story, visit):
        return False
    illness = story.dice.weighted(season, [illness.weight for illness in season])
    visit.kind, visit.clinician = ADMISSION, story.specialists["hospital"]
    day = visit.day
    visit.start = at(day, story.dice.whole(17, 21), story.dice.pick((5, 20, 40)))
    visit.end = at(day + timedelta(days=story.dice.whole(2, 6)), 11, 30)
    _suffer(story, visit, illness, 14)
    return True


def _acute(story: Story, visit: Visit) -> bool:
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
    if not open_ones or months(story.person.born, visit.day) < 3:
        return False
    illness = story.dice.weighted(open_ones, [illness.weight for illness in open_ones])
    if story.dice.chance(0.15) and _free_until_next(story, visit):
        visit.kind, visit.clinician = URGENT, story.specialists["emergency"]
        visit.start = at(visit.day, story.dice.whole(18, 21), story.dice.pick((0, 10, 25, 50)))
        visit.end = visit.start + timedelta(hours=story.dice.whole(1, 2), minutes=20)
    else:
        visit.kind = SYMPTOM
    _suffer(story, visit, illness, story.dice.whole(7, 12))
    return True


def _suffer(story: Story, visit: Visit, illness: Illness, days: int) -> None:
    onset = max(story.person.born, visit.day - timedelta(days=story.dice.whole(1, 4)))
    problem = Problem(illness, onset, visit.day, visit=visit)
    course = prescribe_course(story, visit, problem)
    ended = local(visit.end).date() + timedelta(days=max([days, *(given.drug.days for given in course)]))
    if ended <= story.last_day:
        problem.status, problem.abated = "resolved", ended
    visit.problems = [problem]
    story.problems.append(problem)


def _examine(story: Story) -> None:
    """What was measured, at the visits where something is."""
    dice, person = story.dice, story.person
    body = Body(dice, person.sex)
    for visit in story.visits:
        had = [p for p in story.problems if p.recorded <= visit.day and (p.abated is None or p.abated > visit.day)]
        causes = {problem.illness.key for problem in had}
        ill = {problem.illness.key for problem in visit.problems}
        if visit.kind.measured:
            fever = bool(ill & INFECTIONS) and dice.chance(0.7)
            old = (visit.day - person.born).days / MONTH
            visit.vitals = measure(dice, story.build, person.sex, old, causes, fever)
        if visit.kind in (FOLLOWUP, CHECKUP, ADMISSION) and person.age(visit.day) >= 18:
            causes |= {name for given in story.brought(visit) for name in (given.drug.group, given.drug.key)}
            _draw_blood(story, visit, body, causes)


def _draw_blood(story: Story, visit: Visit, body: Body, causes: set[str]) -> None:
    age = story.person.age(visit.day)
    for panel in _ordered(story, visit):
        if returned(visit, panel) < story.end:
            visit.panels[panel] = body.panel(panel, causes, age)
        elif panel == "phq9":
            continue  # asked in the room: there is nothing to wait for
        elif story.person.died is None:
            visit.awaited.append(panel)


def _ordered(story: Story, visit: Visit) -> list[str]:
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


def _refer(story: Story) -> None:
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
