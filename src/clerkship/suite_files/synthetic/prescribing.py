"""Choose drugs for problems, respecting allergies, interactions and age."""

from datetime import timedelta

from clerkship.suite_files.synthetic.drugs import DRUGS, Drug, compute_dose
from clerkship.suite_files.synthetic.patient_history import PatientHistory, PatientProblem, Prescription, Visit
from clerkship.suite_files.synthetic.people import MONTH
from clerkship.suite_files.synthetic.times import to_local
from clerkship.suite_files.synthetic.vitals import get_size

DECEASED_REASON = "Patient deceased"
TREATED_FIRST = ("failure", "fibrillation", "coronary")
"""Illnesses that are treated first, because their drugs also treat others."""


def can_take(drug: Drug, history: PatientHistory, visit: Visit) -> bool:
    """Return whether a patient can take a drug: no allergy, no interaction, and the right age."""
    allergic = {allergen.ingredient for allergen in history.allergies if allergen.ingredient}
    ill = {problem.illness.key for problem in history.problems}
    taken = [prescription.drug for prescription in history.prescriptions if prescription.status == "active"]
    return (
        not allergic & set(drug.ingredients)
        and not ill & set(drug.avoid)
        and drug.ages[0] <= history.person.age(visit.day) <= drug.ages[1]
        and all(other.group not in drug.avoid and drug.group not in other.avoid for other in taken)
    )


def prescribe(history: PatientHistory) -> None:
    """Prescribe one regimen for each chronic problem."""
    for problem in sorted(history.active, key=lambda problem: problem.illness.key not in TREATED_FIRST):
        if problem.illness.complaint:
            continue  # acute: already treated with a course
        seen = [visit for visit in history.visits if any(known is problem for known in visit.problems)]
        if seen:
            _treat(history, problem, seen)
    if history.person.died is not None:
        for prescription in history.prescriptions:
            if prescription.status == "active":
                prescription.status, prescription.ended, prescription.stop_reason = (
                    "stopped",
                    history.person.died,
                    DECEASED_REASON,
                )


def _treat(history: PatientHistory, problem: PatientProblem, seen: list[Visit]) -> None:
    rng = history.rng
    regimens = rng.sample(problem.illness.regimens, len(problem.illness.regimens))
    regimen = next((regimen for regimen in regimens if _can_take_all(regimen, history, seen[0])), ())
    begun = seen[0] if rng.chance(0.75) else rng.choice(seen)
    if len(seen) > 1 and regimen and rng.chance(0.25):
        begun = _add_earlier_drug(history, problem, seen, regimen) or begun
    for key in regimen:
        if all(
            prescription.drug.group != DRUGS[key].group or prescription.status != "active"
            for prescription in history.prescriptions
        ):
            _add_prescription(history, Prescription(DRUGS[key], problem, begun, "active"))


def _can_take_all(regimen: tuple[str, ...], history: PatientHistory, visit: Visit) -> bool:
    return all(can_take(DRUGS[key], history, visit) for key in regimen)


def _add_earlier_drug(
    history: PatientHistory, problem: PatientProblem, seen: list[Visit], regimen: tuple[str, ...]
) -> Visit | None:
    """Prescribe another drug first, which is stopped at a later visit; return that visit, or None."""
    known = {prescription.drug.group for prescription in history.prescriptions}
    others = [key for other in problem.illness.regimens if len(other) == 1 for key in other]
    for key in others:
        if key not in regimen and DRUGS[key].group not in known and can_take(DRUGS[key], history, seen[0]):
            changed = history.rng.choice(seen[1:])
            old = Prescription(DRUGS[key], problem, seen[0], "stopped", changed.day, DRUGS[key].stopped)
            _add_prescription(history, old)
            return changed
    return None


def prescribe_course(history: PatientHistory, visit: Visit, problem: PatientProblem) -> list[Prescription]:
    """Prescribe drugs for a limited number of days."""
    for regimen in problem.illness.regimens:
        if _can_take_all(regimen, history, visit):
            prescriptions = [_build_course(history, visit, problem, DRUGS[key]) for key in regimen]
            for prescription in prescriptions:
                _add_prescription(history, prescription)
            return prescriptions
    return []


def _build_course(history: PatientHistory, visit: Visit, problem: PatientProblem, drug: Drug) -> Prescription:
    ended = to_local(visit.end).date() + timedelta(days=drug.days)
    if ended <= history.last_day:
        return Prescription(drug, problem, visit, "completed", ended)
    return Prescription(drug, problem, visit, "active")


def _add_prescription(history: PatientHistory, prescription: Prescription) -> None:
    old = (prescription.visit.day - history.person.born).days / MONTH
    weight, _ = get_size(history.build, history.person.sex, old)
    prescription.dose = compute_dose(prescription.drug, prescription.problem.illness.key, weight)
    history.prescriptions.append(prescription)
    prescription.visit.prescriptions.append(prescription)
