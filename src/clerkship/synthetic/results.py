"""What was measured, as Observations, DiagnosticReports and the orders they answer."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from clerkship.fhir.resource import Resource
from clerkship.synthetic.analytes import PANELS
from clerkship.synthetic.labs import Result, told
from clerkship.synthetic.places import LAB
from clerkship.synthetic.story import Story, Visit, encounter_ref, returned
from clerkship.synthetic.table import coded, read_table
from clerkship.synthetic.terms import Term, concept, made, number, quantity, reference
from clerkship.synthetic.times import instant, written
from clerkship.synthetic.vitals import Vitals

_MEASURED = timedelta(minutes=8)
_DRAWN = timedelta(minutes=22)


class VitalSign(NamedTuple):
    """A measurement that is one number."""

    key: str
    terms: tuple[Term, ...]
    unit: str
    """Of UCUM."""
    digits: int


SIGNS = read_table("vital_signs", VitalSign)


def result_resources(story: Story) -> Iterator[Resource]:
    """Yield the results of each visit; the height of somebody who has stopped growing is measured once."""
    first = next((visit.number for visit in story.visits if visit.vitals is not None), 0)
    for visit in story.visits:
        if visit.vitals is not None:
            whole = visit.number == first or story.person.age(visit.day) < 20
            yield from _vital_signs(story, visit, visit.vitals, all_signs=whole)
        if visit.number == 1 and story.person.age(visit.day) >= 14:
            yield _smoking(story, visit)
        for panel, results in visit.panels.items():
            yield from _reported(story, visit, panel, results)
        for panel in visit.awaited:
            yield _order(story, visit, panel, "active", visit.end)


def _observation(
    story: Story, visit: Visit, key: str, times: tuple[datetime, datetime], category: str, **fields: Any
) -> Resource:
    """Return an Observation; `times` are when it was measured, and when it was issued."""
    return made(
        "Observation",
        f"obs-{story.tag}-{key}-{visit.number}",
        instant(times[1]),
        status="final",
        category=[coded(category)],
        subject=story.subject(),
        encounter=encounter_ref(story, visit),
        effectiveDateTime=written(times[0]),
        issued=instant(times[1]),
        **{"performer": [visit.clinician.ref], **fields},
    )


def _vital_signs(story: Story, visit: Visit, vitals: Vitals, *, all_signs: bool) -> Iterator[Resource]:
    """Yield a visit's measurements; height is left out where nobody grows, unless all are wanted."""
    times = (visit.start + _MEASURED, visit.start + _MEASURED)
    if vitals.systolic is not None and vitals.diastolic is not None:
        components = [
            {"code": coded("vital.systolic"), "valueQuantity": quantity(vitals.systolic, "mmHg", "mm[Hg]")},
            {"code": coded("vital.diastolic"), "valueQuantity": quantity(vitals.diastolic, "mmHg", "mm[Hg]")},
        ]
        code = coded("vital.pressure", text="Blood pressure")
        yield _observation(story, visit, "bp", times, "vital.signs", code=code, component=components)
    for sign in SIGNS:
        if sign.key in ("height", "breaths") and not all_signs:
            continue
        value = quantity(number(getattr(vitals, sign.key), sign.digits), sign.unit, sign.unit)
        code = concept(*sign.terms)
        yield _observation(story, visit, sign.key, times, "vital.signs", code=code, valueQuantity=value)


def _smoking(story: Story, visit: Visit) -> Resource:
    """Return whether they smoke."""
    if "copd" in {problem.illness.key for problem in story.problems}:
        status = story.body.pick(("former", "daily"))
    elif story.person.age(story.last_day) < 18:
        status = "never"
    else:
        status = story.body.weighted(("never", "former", "daily"), (6, 3, 1))
    times = (visit.start + _MEASURED, visit.start + _MEASURED)
    code, value = coded("smoking.status"), coded(f"smoking.{status}")
    return _observation(story, visit, "smoking", times, "vital.social", code=code, valueCodeableConcept=value)


def _reported(story: Story, visit: Visit, panel: str, results: list[Result]) -> Iterator[Resource]:
    """Yield one panel: what was ordered, each value, and the report that has them together."""
    drawn = visit.start + _DRAWN
    if panel == "phq9":
        yield _value(story, visit, results[0], (drawn, visit.end), "lab.survey")
        return
    issued = returned(visit, panel)
    yield _order(story, visit, panel, "completed", issued)
    by_lab = {"performer": [LAB.ref], "basedOn": [reference(f"ServiceRequest/{_order_id(story, visit, panel)}")]}
    values = [_value(story, visit, result, (drawn, issued), "lab.laboratory", **by_lab) for result in results]
    yield from values
    if len(results) > 1:
        yield made(
            "DiagnosticReport",
            f"rep-{story.tag}-{panel}-{visit.number}",
            instant(issued),
            status="final",
            category=[coded("lab.section")],
            code=concept(PANELS[panel].term, text=PANELS[panel].name),
            subject=story.subject(),
            encounter=encounter_ref(story, visit),
            effectiveDateTime=written(drawn),
            issued=instant(issued),
            result=[
                reference(f"Observation/{value['id']}", result.analyte.name)
                for value, result in zip(values, results, strict=True)
            ],
            conclusion="; ".join(told(results)) or "All values within reference ranges.",
            **by_lab,
        )


def _value(
    story: Story, visit: Visit, result: Result, times: tuple[datetime, datetime], category: str, **fields: Any
) -> Resource:
    """Return one value of a laboratory."""
    analyte = result.analyte
    value, low, high = (
        quantity(number(value, analyte.digits), analyte.unit, analyte.unit) if value is not None else None
        for value in (result.value, result.low, result.high)
    )
    bounds = {"low": low, "high": high, "type": coded("lab.therapeutic" if result.aimed else "lab.normal")}
    return _observation(
        story,
        visit,
        analyte.key,
        times,
        category,
        code=concept(analyte.term, text=analyte.name[0].upper() + analyte.name[1:]),
        valueQuantity=value,
        interpretation=[coded(f"flag.{result.flag}")],
        referenceRange=[{name: bound for name, bound in bounds.items() if bound is not None}],
        **fields,
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
