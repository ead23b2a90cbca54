"""The MedicationRequest resource."""

from collections.abc import Iterator
from typing import Any

from clerkship.fhir.resource import Resource
from clerkship.synthetic.drugs import Drug
from clerkship.synthetic.encounters import condition_id
from clerkship.synthetic.story import Prescription, Story, encounter_ref
from clerkship.synthetic.terms import UCUM, concept, hl7, made, reference, snomed
from clerkship.synthetic.times import at, instant, written

_COMMUNITY = hl7("medicationrequest-category", "community", "Community")
_MEASURED = {"[iU]": "[iU]", "mL": "mL"}
"""Units that UCUM has; the others are counted."""


def prescription_resources(story: Story) -> Iterator[Resource]:
    """What they take and took; a drug that was prescribed twice has a number behind it."""
    seen: dict[str, int] = {}
    for given in story.prescriptions:
        key = given.drug.key.replace("_", "-")
        seen[key] = seen.get(key, 0) + 1
        name = key if seen[key] == 1 else f"{key}-{seen[key]}"
        yield _request(story, given, f"med-{story.tag}-{name}")


def _request(story: Story, given: Prescription, id: str) -> Resource:
    visit, drug = given.visit, given.drug
    told = min(at(given.ended, 12), story.end) if given.ended is not None else visit.end
    told = max(told, visit.end)
    condition = condition_id(story, given.problem.illness.key, given.problem.onset.isoformat())
    return made(
        "MedicationRequest",
        id,
        instant(told),
        status=given.status,
        statusReason={"text": given.why} if given.why else None,
        intent="order",
        category=[concept(_COMMUNITY)],
        medicationCodeableConcept=concept(drug.term, text=drug.name),
        subject=story.subject(),
        encounter=encounter_ref(story, visit),
        authoredOn=written(visit.end),
        requester=reference(visit.clinician.key, visit.clinician.name),
        reasonReference=[reference(f"Condition/{condition}", given.problem.illness.name)],
        dosageInstruction=[_dosage(drug)],
        dispenseRequest=_dispensed(given),
    )


def _dosage(drug: Drug) -> dict[str, Any]:
    dose: dict[str, Any] = {"value": drug.dose, "unit": "units" if drug.unit == "[iU]" else drug.unit}
    if drug.unit in _MEASURED:
        dose |= {"system": UCUM, "code": _MEASURED[drug.unit]}
    return {
        "sequence": 1,
        "text": drug.sig,
        "timing": {"repeat": {"frequency": drug.times, "period": 1, "periodUnit": "d"}},
        "asNeededBoolean": drug.needed,
        "route": concept(snomed(*drug.route)),
        "doseAndRate": [{"doseQuantity": dose}],
    }


def _dispensed(given: Prescription) -> dict[str, Any]:
    drug = given.drug
    supply = {"value": drug.days, "unit": "days", "system": UCUM, "code": "d"}
    request: dict[str, Any] = {
        "validityPeriod": {"start": given.visit.day.isoformat()},
        "numberOfRepeatsAllowed": 0 if given.problem.illness.complaint else 3,
        "expectedSupplyDuration": supply,
    }
    if drug.unit in ("tablet", "capsule"):
        request["quantity"] = {"value": round(drug.dose * drug.times * drug.days), "unit": drug.unit}
    return request
