"""The bill of each visit, to whoever paid on that day."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from clerkship.fhir.resource import Resource
from clerkship.synthetic.analytes import PANELS
from clerkship.synthetic.coverage import payer_on
from clerkship.synthetic.places import IDS
from clerkship.synthetic.story import Story, Visit, encounter_ref
from clerkship.synthetic.terms import ICD10, Term, concept, hl7, made, reference
from clerkship.synthetic.times import instant, local, written
from clerkship.synthetic.visit_kinds import ADMISSION, CHILD, URGENT

_INSTITUTIONAL = hl7("claim-type", "institutional", "Institutional")
_PROFESSIONAL = hl7("claim-type", "professional", "Professional")
_NORMAL = hl7("processpriority", "normal", "Normal")
_WELL = Term(ICD10, "Z00.00", "Encounter for general adult medical examination without abnormal findings")
_WELL_CHILD = Term(ICD10, "Z00.129", "Encounter for routine child health examination without abnormal findings")
LAB_CHARGE = 38


def claim_resources(story: Story) -> Iterator[Resource]:
    """Those that have gone out by now."""
    for visit in story.visits:
        sent = visit.end + timedelta(days=story.dice.whole(2, 6))
        policy = payer_on(story, visit.day)
        if sent > story.now or policy is None:
            continue
        house = visit.kind.place.house
        items = _items(story, visit)
        total = sum(item["net"]["value"] for item in items)
        yield made(
            "Claim",
            f"claim-{story.tag}-{visit.number}",
            instant(sent),
            identifier=[{"system": f"{IDS}claim", "value": f"C{story.tag}{visit.number:02}"}],
            status="active",
            type=concept(_INSTITUTIONAL if visit.kind in (ADMISSION, URGENT) else _PROFESSIONAL),
            use="claim",
            patient=story.subject(),
            billablePeriod={"start": visit.day.isoformat(), "end": local(visit.end).date().isoformat()},
            created=written(sent),
            insurer=reference(policy.payer.key, policy.payer.name),
            provider=reference(house.key, house.name),
            priority=concept(_NORMAL),
            careTeam=[{"sequence": 1, "provider": reference(visit.clinician.key, visit.clinician.name)}],
            diagnosis=[
                {"sequence": place, "diagnosisCodeableConcept": concept(term)}
                for place, term in enumerate(_diagnoses(visit), 1)
            ],
            insurance=[{"sequence": 1, "focal": True, "coverage": reference(f"Coverage/{policy.id}")}],
            item=items,
            total=_money(total),
        )


def _money(dollars: int) -> dict[str, Any]:
    return {"value": dollars, "currency": "USD"}


def _diagnoses(visit: Visit) -> list[Term]:
    if visit.problems:
        return [problem.illness.icd for problem in visit.problems]
    return [_WELL_CHILD if visit.kind is CHILD else _WELL]


def _items(story: Story, visit: Visit) -> list[dict[str, Any]]:
    """The visit itself, and each panel that was drawn."""
    services = [(visit.kind.type, visit.kind.charge)]
    services += [(PANELS[panel].term, LAB_CHARGE) for panel in visit.panels if panel != "phq9"]
    return [
        {
            "sequence": place,
            "careTeamSequence": [1],
            "diagnosisSequence": [1],
            "productOrService": concept(term),
            "servicedDate": visit.day.isoformat(),
            "unitPrice": _money(charge),
            "net": _money(charge),
            "encounter": [encounter_ref(story, visit)],
        }
        for place, (term, charge) in enumerate(services, 1)
    ]
