"""The Encounter resource."""

from collections.abc import Iterator
from typing import Any

from clerkship.fhir.resource import Resource
from clerkship.synthetic.story import Story, Visit
from clerkship.synthetic.table import coded
from clerkship.synthetic.terms import concept, made, reference
from clerkship.synthetic.times import instant, written
from clerkship.synthetic.visit_kinds import ADMISSION, URGENT


def encounter_resources(story: Story, booked: dict[int, str]) -> Iterator[Resource]:
    """Every visit; `booked` has the appointments of those that were booked, by number."""
    for visit in story.visits:
        kind = visit.kind
        appointment = booked.get(visit.number)
        yield made(
            "Encounter",
            f"enc-{story.tag}-{visit.number}",
            instant(visit.end),
            status="finished",
            **{"class": kind.act.coding()},
            type=[concept(kind.type, text=kind.name[0].upper() + kind.name[1:])],
            subject=story.subject(),
            participant=[
                {
                    "type": [coded("encounter.performer")],
                    "period": {"start": written(visit.start), "end": written(visit.end)},
                    "individual": reference(visit.clinician.key, visit.clinician.name),
                }
            ],
            appointment=[reference(f"Appointment/{appointment}")] if appointment else None,
            period={"start": written(visit.start), "end": written(visit.end)},
            reasonCode=_reasons(visit),
            diagnosis=_diagnoses(story, visit),
            hospitalization={"dischargeDisposition": coded("encounter.home")} if kind in (ADMISSION, URGENT) else None,
            location=[{"location": reference(kind.place.key, kind.place.name)}],
            serviceProvider=reference(kind.place.house.key, kind.place.house.name),
        )


def _reasons(visit: Visit) -> list[dict[str, Any]]:
    return [concept(problem.illness.snomed, text=problem.illness.name) for problem in visit.problems[:3]]


def _diagnoses(story: Story, visit: Visit) -> list[dict[str, Any]]:
    return [
        {
            "condition": reference(f"Condition/{condition_id(story, problem.illness.key, problem.onset.isoformat())}"),
            "rank": rank,
        }
        for rank, problem in enumerate(visit.problems, 1)
    ]


def condition_id(story: Story, key: str, onset: str) -> str:
    """`cond-0001-hypertension`; somebody may have had a cold twice, and then the later is `-2`."""
    same = [problem.onset.isoformat() for problem in story.problems if problem.illness.key == key]
    place = sorted(same).index(onset) + 1
    return f"cond-{story.tag}-{key}" if place == 1 else f"cond-{story.tag}-{key}-{place}"
