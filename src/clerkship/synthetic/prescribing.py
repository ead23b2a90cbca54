"""Which drugs somebody gets: those that fit what they have, and none that they cannot take."""

from datetime import timedelta

from clerkship.synthetic.drugs import DRUGS, Drug, compute_dose
from clerkship.synthetic.patient_history import PatientHistory, PatientProblem, Prescription, Visit
from clerkship.synthetic.people import MONTH
from clerkship.synthetic.times import to_local
from clerkship.synthetic.vitals import get_size

DECEASED_REASON = "Patient deceased"
TREATED_FIRST = ("failure", "fibrillation", "coronary")
"""What is treated before anything else, as other illnesses profit from it."""


def can_take(drug: Drug, story: PatientHistory, visit: Visit) -> bool:
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


def prescribe(story: PatientHistory) -> None:
    """For each illness that lasts, one of the ways to treat it."""
    for problem in sorted(story.active, key=lambda problem: problem.illness.key not in TREATED_FIRST):
        if problem.illness.complaint:
            continue  # it passes: what it was treated with is known already
        seen = [visit for visit in story.visits if any(known is problem for known in visit.problems)]
        if seen:
            _treat(story, problem, seen)
    if story.person.died is not None:
        for given in story.prescriptions:
            if given.status == "active":
                given.status, given.ended, given.why = "stopped", story.person.died, DECEASED_REASON


def _treat(story: PatientHistory, problem: PatientProblem, seen: list[Visit]) -> None:
    dice = story.dice
    ways = dice.some(problem.illness.regimens, len(problem.illness.regimens))
    way = next((way for way in ways if _can_take_all(way, story, seen[0])), ())
    begun = seen[0] if dice.chance(0.75) else dice.pick(seen)
    if len(seen) > 1 and way and dice.chance(0.25):
        begun = _add_earlier_drug(story, problem, seen, way) or begun
    for key in way:
        if all(given.drug.group != DRUGS[key].group or given.status != "active" for given in story.prescriptions):
            _add_prescription(story, Prescription(DRUGS[key], problem, begun, "active"))


def _can_take_all(way: tuple[str, ...], story: PatientHistory, visit: Visit) -> bool:
    return all(can_take(DRUGS[key], story, visit) for key in way)


def _add_earlier_drug(
    story: PatientHistory, problem: PatientProblem, seen: list[Visit], way: tuple[str, ...]
) -> Visit | None:
    """Another drug came first, and was stopped at a later visit."""
    known = {given.drug.group for given in story.prescriptions}
    others = [key for other in problem.illness.regimens if len(other) == 1 for key in other]
    for key in others:
        if key not in way and DRUGS[key].group not in known and can_take(DRUGS[key], story, seen[0]):
            changed = story.dice.pick(seen[1:])
            old = Prescription(DRUGS[key], problem, seen[0], "stopped", changed.day, DRUGS[key].stopped)
            _add_prescription(story, old)
            return changed
    return None


def prescribe_course(story: PatientHistory, visit: Visit, problem: PatientProblem) -> list[Prescription]:
    """Drugs that are taken for some days and are then done with."""
    for way in problem.illness.regimens:
        if _can_take_all(way, story, visit):
            given = [_build_course(story, visit, problem, DRUGS[key]) for key in way]
            for one in given:
                _add_prescription(story, one)
            return given
    return []


def _build_course(story: PatientHistory, visit: Visit, problem: PatientProblem, drug: Drug) -> Prescription:
    ended = to_local(visit.end).date() + timedelta(days=drug.days)
    if ended <= story.last_day:
        return Prescription(drug, problem, visit, "completed", ended)
    return Prescription(drug, problem, visit, "active")


def _add_prescription(story: PatientHistory, prescription: Prescription) -> None:
    old = (prescription.visit.day - story.person.born).days / MONTH
    weight, _ = get_size(story.build, story.person.sex, old)
    prescription.dose = compute_dose(prescription.drug, prescription.problem.illness.key, weight)
    story.prescriptions.append(prescription)
    prescription.visit.given.append(prescription)
