"""Measurements as Observations, DiagnosticReports and the orders for them."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.analytes import PANELS
from clerkship.suite_files.synthetic.labs import LabResult, build_observation, summarize_results
from clerkship.suite_files.synthetic.organizations import LAB
from clerkship.suite_files.synthetic.patient_history import (
    PatientHistory,
    Visit,
    build_encounter_reference,
    get_result_time,
)
from clerkship.suite_files.synthetic.terms import build_concept, build_reference, build_resource, codeable_concept
from clerkship.suite_files.synthetic.times import format_datetime, format_instant
from clerkship.suite_files.synthetic.vitals import build_smoking_status, build_vitals

_VITALS_DELAY = timedelta(minutes=8)
_DRAW_DELAY = timedelta(minutes=22)


def build_results(history: PatientHistory) -> Iterator[Resource]:
    """Yield the results of each visit. The height of adults is measured once."""
    first = next((visit.number for visit in history.visits if visit.vitals is not None), 0)
    for visit in history.visits:
        common = {"subject": history.subject(), "encounter": build_encounter_reference(history, visit)}
        seen = {**common, "performer": [visit.clinician.ref]}
        if visit.vitals is not None:
            whole = visit.number == first or history.person.age(visit.day) < 20
            moment = visit.start + _VITALS_DELAY
            yield from build_vitals(visit.vitals, history.tag, visit.number, moment, seen, all_signs=whole)
        if visit.number == 1 and history.person.age(visit.day) >= 14:
            yield build_smoking_status(_draw_smoking_status(history), history.tag, visit.start + _VITALS_DELAY, seen)
        for panel, results in visit.panels.items():
            yield from _build_panel(history, visit, panel, results, common)
        for panel in visit.awaited:
            yield _build_order(history, visit, panel, "active", visit.end)


def _draw_smoking_status(history: PatientHistory) -> str:
    ill = {problem.illness.key for problem in history.problems}
    if "copd" in ill:
        return history.body_rng.choice(("former", "daily"))
    if history.person.age(history.last_day) < 18:
        return "never"
    return history.body_rng.weighted_choice(("never", "former", "daily"), (6, 3, 1))


def _build_panel(
    history: PatientHistory, visit: Visit, panel: str, results: list[LabResult], common: dict[str, Any]
) -> Iterator[Resource]:
    """Yield the order of a panel, its Observations, and the report."""
    tag = history.tag
    drawn = visit.start + _DRAW_DELAY
    if panel == "phq9":
        extra = {**common, "performer": [visit.clinician.ref]}
        yield build_observation(results[0], f"obs-{tag}-phq9-{visit.number}", drawn, visit.end, extra)
        return
    issued = get_result_time(visit, panel)
    yield _build_order(history, visit, panel, "completed", issued)
    order = build_reference(f"ServiceRequest/{_build_order_id(history, visit, panel)}")
    by_lab = {**common, "performer": [LAB.ref], "basedOn": [order]}
    ids = [f"obs-{tag}-{result.analyte.key}-{visit.number}" for result in results]
    for id, result in zip(ids, results, strict=True):
        yield build_observation(result, id, drawn, issued, by_lab)
    if len(results) > 1:
        yield build_resource(
            "DiagnosticReport",
            f"rep-{tag}-{panel}-{visit.number}",
            format_instant(issued),
            basedOn=[order],
            status="final",
            category=[build_concept("lab.section")],
            code=codeable_concept(PANELS[panel].term, text=PANELS[panel].name),
            **common,
            effectiveDateTime=format_datetime(drawn),
            issued=format_instant(issued),
            performer=[LAB.ref],
            result=[
                build_reference(f"Observation/{id}", result.analyte.name)
                for id, result in zip(ids, results, strict=True)
            ],
            conclusion="; ".join(summarize_results(results)) or "All values within reference ranges.",
        )


def _build_order_id(history: PatientHistory, visit: Visit, panel: str) -> str:
    return f"order-{history.tag}-{panel}-{visit.number}"


def _build_order(history: PatientHistory, visit: Visit, panel: str, status: str, updated: datetime) -> Resource:
    return build_resource(
        "ServiceRequest",
        _build_order_id(history, visit, panel),
        format_instant(updated),
        status=status,
        intent="order",
        category=[build_concept("lab.procedure")],
        priority="routine",
        code=codeable_concept(PANELS[panel].term, text=PANELS[panel].name),
        subject=history.subject(),
        encounter=build_encounter_reference(history, visit),
        occurrenceDateTime=format_datetime(visit.start + _DRAW_DELAY),
        authoredOn=format_datetime(visit.start + timedelta(minutes=15)),
        requester=visit.clinician.ref,
        performer=[LAB.ref],
        reasonCode=[problem.reason for problem in visit.problems[:2]],
    )
