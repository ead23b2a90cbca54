"""Notes and letters as text, written from the same history as the other resources."""

import base64
from collections.abc import Iterator
from datetime import datetime

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.analytes import PANELS
from clerkship.suite_files.synthetic.labs import summarize_results
from clerkship.suite_files.synthetic.orders import build_referral_id
from clerkship.suite_files.synthetic.organizations import ADMISSION, CHECKUP, CHILD, CLINIC
from clerkship.suite_files.synthetic.patient_history import (
    PatientHistory,
    PatientProblem,
    Referral,
    Visit,
    build_encounter_reference,
)
from clerkship.suite_files.synthetic.terms import build_concept, build_reference, build_resource
from clerkship.suite_files.synthetic.times import (
    age_in_months,
    format_datetime,
    format_instant,
    format_long_date,
    format_time,
    to_local,
)

MAX_NOTES = 2
"""The number of last visits with a note."""


def build_documents(history: PatientHistory) -> Iterator[Resource]:
    """Yield notes of the last visits, a letter for each referral, and a summary of each hospital stay."""
    for visit in history.visits:
        if visit.kind is ADMISSION:
            yield _build_document(
                history, "discharge", "Discharge summary", _format_discharge_summary(history, visit), visit
            )
        elif visit.number > len(history.visits) - MAX_NOTES:
            yield _build_document(history, "progress", "Progress note", _format_progress_note(history, visit), visit)
    for referral in history.referrals:
        title = f"Referral letter to {referral.specialist.position.specialty.display.lower()}"
        yield _build_document(
            history,
            "referral",
            title,
            _format_referral_letter(history, referral),
            referral.visit,
            build_referral_id(history, referral),
        )


def _build_document(
    history: PatientHistory, kind: str, title: str, text: str, visit: Visit, request: str = ""
) -> Resource:
    """Return a document of a visit. `request` is the id of the referral that a letter belongs to."""
    name = "note" if kind == "progress" else kind
    related = {"related": [build_reference(f"ServiceRequest/{request}")]} if request else {}
    body = text.encode()
    organization = visit.kind.location.organization
    return build_resource(
        "DocumentReference",
        f"doc-{request}" if request else f"doc-{history.tag}-{name}-{visit.number}",
        format_instant(visit.end),
        status="current",
        docStatus="final",
        type=build_concept(f"note.{kind}"),
        subject=history.subject(),
        date=format_instant(visit.end),
        author=[visit.clinician.ref],
        custodian=organization.ref,
        description=f"{title}, {format_long_date(visit.day)}",
        content=[
            {
                "attachment": {
                    "contentType": "text/plain",
                    "language": "en",
                    "data": base64.b64encode(body).decode(),
                    "size": len(body),
                    "title": title,
                    "creation": format_datetime(visit.end),
                }
            }
        ],
        context={
            "encounter": [build_encounter_reference(history, visit)],
            "period": visit.period,
            **related,
        },
    )


def describe_age(history: PatientHistory, moment: datetime) -> str:
    """Return `a 57-year-old woman` or `an 8-month-old boy`."""
    words = _describe_age_without_article(history, moment)
    return f"an {words}" if words.startswith(("8", "11-", "18-")) else f"a {words}"


def _describe_age_without_article(history: PatientHistory, moment: datetime) -> str:
    person, day = history.person, to_local(moment).date()
    old, few = person.age(day), age_in_months(person.born, day)
    if few < 1:
        return f"{(day - person.born).days}-day-old {'girl' if person.sex == 'female' else 'boy'}"
    if old < 2:
        return f"{few}-month-old {'girl' if person.sex == 'female' else 'boy'}"
    grown = {"female": "woman", "male": "man"} if old >= 18 else {"female": "girl", "male": "boy"}
    return f"{old}-year-old {grown[person.sex]}"


def _format_header(history: PatientHistory, visit: Visit, title: str) -> list[str]:
    person = history.person
    return [
        visit.kind.location.organization.name,
        title,
        "",
        f"Patient: {person.name}",
        f"Date of birth: {format_long_date(person.born)}",
        f"MRN: {person.mrn}",
        f"Date: {format_long_date(visit.day)}, {format_time(visit.start)}",
        f"Clinician: {visit.clinician.name}",
        "",
    ]


def _format_progress_note(history: PatientHistory, visit: Visit) -> str:
    lines = _format_header(history, visit, f"PROGRESS NOTE: {visit.kind.name}")
    lines += [
        "Subjective",
        _format_subjective(history, visit),
        "",
        "Objective",
        *_format_objective(visit),
        "",
        "Assessment and plan",
    ]
    lines += _format_plan(history, visit)
    return "\n".join(
        [
            *lines,
            "",
            f"Signed by {visit.clinician.name} on {format_long_date(visit.day)} at {format_time(visit.end)}.",
            "",
        ]
    )


def _format_subjective(history: PatientHistory, visit: Visit) -> str:
    who = f"{history.person.given} {history.person.family} is {describe_age(history, visit.start)}"
    allergies = ", ".join(allergen.name.lower() for allergen in history.allergies) or "no known allergies"
    if visit.problems and visit.problems[0].illness.complaint:
        why = f"who comes with {visit.problems[0].illness.complaint}."
    elif visit.kind in (CHECKUP, CHILD):
        why = f"here for {'an' if visit.kind is CHECKUP else 'a'} {visit.kind.name}. No new concerns."
    else:
        why = f"seen for {_join_names([problem.illness.name for problem in visit.problems])}. No new complaints."
    taking = [prescription.drug.name for prescription in history.medications_before(visit)]
    drugs = f" Takes {_join_names(taking)}." if taking else " Takes no regular medication."
    return f"{who} {why}{drugs} Allergies: {allergies}."


def _join_names(names: list[str]) -> str:
    lowered = [name if name.isupper() or "'" in name else name[0].lower() + name[1:] for name in names]
    return lowered[0] if len(lowered) == 1 else f"{', '.join(lowered[:-1])} and {lowered[-1]}" if lowered else ""


def _format_objective(visit: Visit) -> list[str]:
    if visit.vitals is None:
        return ["Video visit: no vital signs taken."]
    vitals = visit.vitals
    signs = [f"BP {vitals.systolic}/{vitals.diastolic} mmHg"] if vitals.systolic is not None else []
    signs += [f"pulse {vitals.pulse}", f"temperature {vitals.temperature} C", f"SpO2 {vitals.oxygen}%"]
    signs += [f"weight {vitals.weight} kg", f"BMI {vitals.bmi:.1f}"]
    return [f"Vital signs: {', '.join(signs)}."]


def _format_plan(history: PatientHistory, visit: Visit) -> list[str]:
    lines = []
    for number, problem in enumerate(visit.problems, 1):
        name = f"{number}. {problem.illness.name} ({problem.illness.icd.code})."
        lines.append(" ".join([name, problem.illness.plan, *_format_drug_changes(history, visit, problem)]))
    if not visit.problems:
        again = "at the next well child visit" if visit.kind is CHILD else "in one year"
        lines.append(
            f"1. Healthy. Age-appropriate screening and vaccines reviewed. Return {again}, or sooner if needed."
        )
    ordered = [PANELS[panel].name for panel in (*visit.panels, *visit.awaited) if panel != "phq9"]
    if ordered:
        lines.append(f"Ordered today: {', '.join(ordered)}. Results to follow.")
    specialists = [referral.specialist for referral in history.referrals if referral.visit is visit]
    lines += [
        f"Referred to {specialist.position.specialty.display.lower()} ({specialist.short_name})."
        for specialist in specialists
    ]
    return lines


def _format_drug_changes(history: PatientHistory, visit: Visit, problem: PatientProblem) -> list[str]:
    """Return which drugs for a problem are continued, stopped and started at a visit."""
    brought = [prescription for prescription in history.medications_before(visit) if prescription.problem is problem]
    ended = [prescription for prescription in brought if prescription.ended == visit.day]
    continued = [prescription.drug.name for prescription in brought if prescription.ended != visit.day]
    stopped = [
        f"Stop {prescription.drug.name} ({prescription.stop_reason.lower()})."
        for prescription in ended
        if prescription.status == "stopped"
    ]
    begun = [f"Start {prescription.text}" for prescription in visit.prescriptions if prescription.problem is problem]
    return [*([f"Continue {_join_names(continued)}."] if continued else []), *stopped, *begun]


def _format_findings(visit: Visit) -> list[str]:
    return [
        f"{PANELS[panel].name}: {'; '.join(summarize_results(results)) or 'within reference ranges'}."
        for panel, results in visit.panels.items()
    ]


def _format_referral_letter(history: PatientHistory, referral: Referral) -> str:
    person, visit, problem = history.person, referral.visit, referral.problem
    others = [other.illness.name for other in visit.problems if other is not problem]
    taking = [prescription.text for prescription in history.medications_after(visit)]
    before = [seen for seen in history.visits if seen.start < visit.start and seen.panels]
    recent = _format_findings(before[-1]) if before else []
    lines = [
        CLINIC.name,
        f"{CLINIC.line}, {CLINIC.town} · {CLINIC.phone}",
        "",
        format_long_date(visit.day),
        "",
        f"To: {referral.specialist.name}, {referral.specialist.position.specialty.display}",
        f"Re: {person.name}, born {format_long_date(person.born)}, MRN {person.mrn}",
        f"Phone: {person.phone} · Address: {person.address.text}",
        "",
        f"Dear {referral.specialist.short_name},",
        "",
        f"Thank you for seeing {person.given} {person.family}, {describe_age(history, visit.start)} with "
        f"{_join_names([problem.illness.name])} ({problem.illness.icd.code}), "
        f"known since {format_long_date(problem.onset)}.",
    ]
    lines += [f"Other problems: {_join_names(others)}."] if others else []
    lines += ["Current medication:", *(f"- {line}" for line in taking)] if taking else ["No regular medication."]
    allergies = ", ".join(allergen.name.lower() for allergen in history.allergies) or "none known"
    lines += [f"Allergies: {allergies}.", *_format_objective(visit)]
    lines += [f"Results of {format_long_date(before[-1].day)}:", *recent] if recent else []
    lines += [
        "",
        "Please advise on further management. The next routine opening is fine.",
        "",
        visit.clinician.name,
        "",
    ]
    return "\n".join(lines)


def _format_discharge_summary(history: PatientHistory, visit: Visit) -> str:
    problem = visit.problems[0]
    left = to_local(visit.end).date()
    known = [
        p.illness.name
        for p in history.problems
        if p.recorded < visit.day and not p.illness.complaint and (p.abated is None or p.abated > left)
    ]
    taking = [f"- {prescription.text}" for prescription in history.medications_after(visit)]
    lines = _format_header(history, visit, "DISCHARGE SUMMARY")
    lines += [
        f"Admitted: {format_long_date(visit.day)}",
        f"Discharged: {format_long_date(left)}, home",
        f"Principal diagnosis: {problem.illness.name} ({problem.illness.icd.code})",
        *([f"Other diagnoses: {_join_names(known)}"] if known else []),
        "",
        "Hospital course",
        f"{history.person.given} {history.person.family}, {describe_age(history, visit.start)}, was admitted with "
        f"{problem.illness.complaint}. Treated on the ward and improved over {(left - visit.day).days} days.",
        *_format_objective(visit),
        *_format_findings(visit),
        "",
        "Medication at discharge",
        *(taking or ["- none"]),
        "",
        f"Plan: {problem.illness.plan} Follow-up with {history.doctor.name} at {CLINIC.name}.",
        "",
        f"Signed by {visit.clinician.name} on {format_long_date(left)}.",
        "",
    ]
    return "\n".join(lines)
