"""Which drugs somebody gets: those that fit what they have, and none that they cannot take."""

from datetime import timedelta

from clerkship.synthetic.drugs import DRUGS, Drug, dose_for
from clerkship.synthetic.people import MONTH
from clerkship.synthetic.story import Prescription, Problem, Story, Visit
from clerkship.synthetic.times import local
from clerkship.synthetic.vitals import size_at

DECEASED = "Patient deceased"
FIRST = ("failure", "fibrillation", "coronary")
"""What is treated before anything else, as other illnesses profit from it."""


def suits(drug: Drug, story: Story, visit: Visit) -> bool:
    """Whether they can take it: no allergy, nothing it must not be given beside, the right age."""
    allergic = {allergen.ingredient for allergen in story.allergies if allergen.ingredient}
    ill = {problem.illness.key for problem in story.problems}
    taken = [given.drug for given in story.prescriptions if given.status == "active"]
    return (
        not allergic & set(drug.ingredients)
        and not ill & set(drug.avoid)
        and drug.ages[0] <= story.person.age(visit.day) <= drug.ages[1]
        and all(other.group not in drug.avoid and drug.group not in other.avoid for other in taken)
    )


def prescribe(story: Story) -> None:
    """For each illness that lasts, one of the ways to treat it."""
    for problem in sorted(story.active, key=lambda problem: problem.illness.key not in FIRST):
        if problem.illness.complaint:
            continue  # it passes: what it was treated with is known already
        seen = [visit for visit in story.visits if any(known is problem for known in visit.problems)]
        if seen:
            _treat(story, problem, seen)
    if story.person.died is not None:
        for given in story.prescriptions:
            if given.status == "active":
                given.status, given.ended, given.why = "stopped", story.person.died, DECEASED


def _treat(story: Story, problem: Problem, seen: list[Visit]) -> None:
    dice = story.dice
    ways = dice.some(problem.illness.regimens, len(problem.illness.regimens))
    way = next((way for way in ways if _possible(way, story, seen[0])), ())
    begun = seen[0] if dice.chance(0.75) else dice.pick(seen)
    if len(seen) > 1 and way and dice.chance(0.25):
        begun = _tried_before(story, problem, seen, way) or begun
    for key in way:
        if all(given.drug.group != DRUGS[key].group or given.status != "active" for given in story.prescriptions):
            _give(story, Prescription(DRUGS[key], problem, begun, "active"))


def _possible(way: tuple[str, ...], story: Story, visit: Visit) -> bool:
    return all(suits(DRUGS[key], story, visit) for key in way)


def _tried_before(story: Story, problem: Problem, seen: list[Visit], way: tuple[str, ...]) -> Visit | None:
    """Another drug came first, and was stopped at a later visit."""
    known = {given.drug.group for given in story.prescriptions}
    others = [key for other in problem.illness.regimens if len(other) == 1 for key in other]
    for key in others:
        if key not in way and DRUGS[key].group not in known and suits(DRUGS[key], story, seen[0]):
            changed = story.dice.pick(seen[1:])
            old = Prescription(DRUGS[key], problem, seen[0], "stopped", changed.day, DRUGS[key].stopped)
            _give(story, old)
            return changed
    return None


def prescribe_course(story: Story, visit: Visit, problem: Problem) -> list[Prescription]:
    """Drugs that are taken for some days and are then done with."""
    for way in problem.illness.regimens:
        if _possible(way, story, visit):
            given = [_course(story, visit, problem, DRUGS[key]) for key in way]
            for one in given:
                _give(story, one)
            return given
    return []


def _course(story: Story, visit: Visit, problem: Problem, drug: Drug) -> Prescription:
    ended = local(visit.end).date() + timedelta(days=drug.days)
    if ended <= story.last_day:
        return Prescription(drug, problem, visit, "completed", ended)
    return Prescription(drug, problem, visit, "active")


def _give(story: Story, prescription: Prescription) -> None:
    old = (prescription.visit.day - story.person.born).days / MONTH
    weight, _ = size_at(story.build, story.person.sex, old)
    prescription.dose = dose_for(prescription.drug, prescription.problem.illness.key, weight)
    story.prescriptions.append(prescription)
    prescription.visit.given.append(prescription)
