"""What was measured, as Observations, DiagnosticReports and the orders they answer."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from clerkship.fhir.resource import Resource
from clerkship.synthetic.analytes import PANELS
from clerkship.synthetic.labs import Result, result_resource, told
from clerkship.synthetic.places import LAB
from clerkship.synthetic.story import Story, Visit, encounter_ref, returned
from clerkship.synthetic.table import coded
from clerkship.synthetic.terms import concept, made, reference
from clerkship.synthetic.times import instant, written
from clerkship.synthetic.vitals import smoking_resource, vital_resources

_MEASURED = timedelta(minutes=8)
_DRAWN = timedelta(minutes=22)


def result_resources(story: Story) -> Iterator[Resource]:
    """Visit by visit; how tall somebody is who has stopped growing is measured once."""
    first = next((visit.number for visit in story.visits if visit.vitals is not None), 0)
    for visit in story.visits:
        common = {"subject": story.subject(), "encounter": encounter_ref(story, visit)}
        seen = {**common, "performer": [visit.clinician.ref]}
        if visit.vitals is not None:
            whole = visit.number == first or story.person.age(visit.day) < 20
            moment = visit.start + _MEASURED
            yield from vital_resources(visit.vitals, story.tag, visit.number, moment, seen, all_signs=whole)
        if visit.number == 1 and story.person.age(visit.day) >= 14:
            yield smoking_resource(_smoking(story), story.tag, visit.start + _MEASURED, seen)
        for panel, results in visit.panels.items():
            yield from _reported(story, visit, panel, results, common)
        for panel in visit.awaited:
            yield _order(story, visit, panel, "active", visit.end)


def _smoking(story: Story) -> str:
    ill = {problem.illness.key for problem in story.problems}
    if "copd" in ill:
        return story.body.pick(("former", "daily"))
    if story.person.age(story.last_day) < 18:
        return "never"
    return story.body.weighted(("never", "former", "daily"), (6, 3, 1))


def _reported(
    story: Story, visit: Visit, panel: str, results: list[Result], common: dict[str, Any]
) -> Iterator[Resource]:
    """One panel: what was ordered, each value, and the report that has them together."""
    tag = story.tag
    drawn = visit.start + _DRAWN
    if panel == "phq9":
        asked = {**common, "performer": [visit.clinician.ref]}
        yield result_resource(results[0], f"obs-{tag}-phq9-{visit.number}", drawn, visit.end, asked)
        return
    issued = returned(visit, panel)
    yield _order(story, visit, panel, "completed", issued)
    order = reference(f"ServiceRequest/{_order_id(story, visit, panel)}")
    by_lab = {**common, "performer": [LAB.ref], "basedOn": [order]}
    ids = [f"obs-{tag}-{result.analyte.key}-{visit.number}" for result in results]
    for id, result in zip(ids, results, strict=True):
        yield result_resource(result, id, drawn, issued, by_lab)
    if len(results) > 1:
        yield made(
            "DiagnosticReport",
            f"rep-{tag}-{panel}-{visit.number}",
            instant(issued),
            basedOn=[order],
            status="final",
            category=[coded("lab.section")],
            code=concept(PANELS[panel].term, text=PANELS[panel].name),
            **common,
            effectiveDateTime=written(drawn),
            issued=instant(issued),
            performer=[LAB.ref],
            result=[
                reference(f"Observation/{id}", result.analyte.name) for id, result in zip(ids, results, strict=True)
            ],
            conclusion="; ".join(told(results)) or "All values within reference ranges.",
        )


def _order_id(story: Story, visit: Visit, panel: str) -> str:
    return f"order-{story.tag}-{panel}-{visit.number}"


def _order(story: Story, visit: Visit, panel: str, status: str, updated: datetime) -> Resource:
    return made(
        "ServiceRequest",
        _order_id(story, visit, panel),
        instant(updated),
        status=status,
        intent="order",
        category=[coded("lab.procedure")],
        priority="routine",
        code=concept(PANELS[panel].term, text=PANELS[panel].name),
        subject=story.subject(),
        encounter=encounter_ref(story, visit),
        occurrenceDateTime=written(visit.start + _DRAWN),
        authoredOn=written(visit.start + timedelta(minutes=15)),
        requester=visit.clinician.ref,
        performer=[LAB.ref],
        reasonCode=[problem.reason for problem in visit.problems[:2]],
    )
