"""The MedicationRequest resource."""

from collections.abc import Iterator
from typing import Any

from clerkship.fhir.resource import Resource
from clerkship.synthetic.story import Prescription, Story, condition_ref, encounter_ref
from clerkship.synthetic.table import coded
from clerkship.synthetic.terms import UCUM, concept, made
from clerkship.synthetic.times import at, instant, written

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
    return made(
        "MedicationRequest",
        id,
        instant(told),
        status=given.status,
        statusReason={"text": given.why} if given.why else None,
        intent="order",
        category=[coded("prescription.community")],
        medicationCodeableConcept=concept(drug.term, text=drug.name),
        subject=story.subject(),
        encounter=encounter_ref(story, visit),
        authoredOn=written(visit.end),
        requester=visit.clinician.ref,
        reasonReference=[condition_ref(story, given.problem, given.problem.illness.name)],
        dosageInstruction=_dosages(given),
        dispenseRequest=_dispensed(given),
    )


def _dosages(given: Prescription) -> list[dict[str, Any]]:
    """One, or the first day's and that of the days after; of a course, with how long."""
    drug = given.drug
    if drug.first:
        return [_dosage(given, drug.first, 1, 1), _dosage(given, given.dose, 2, drug.days - 1)]
    return [_dosage(given, given.dose, 1, drug.days if given.problem.illness.complaint else 0)]


def _dosage(given: Prescription, size: float, sequence: int, days: int) -> dict[str, Any]:
    drug = given.drug
    dose: dict[str, Any] = {"value": _whole(size), "unit": "units" if drug.unit == "[iU]" else drug.unit}
    if drug.unit in _MEASURED:
        dose |= {"system": UCUM, "code": _MEASURED[drug.unit]}
    lasting = {"boundsDuration": _days(days)} if days else {}
    return {
        "sequence": sequence,
        "text": given.sig,
        "timing": {"repeat": {**lasting, "frequency": drug.times, "period": 1, "periodUnit": "d"}},
        "asNeededBoolean": drug.needed,
        "route": concept(drug.route),
        "doseAndRate": [{"doseQuantity": dose}],
    }


def _whole(size: float) -> float | int:
    return int(size) if size == int(size) else size


def _days(count: int) -> dict[str, Any]:
    return {"value": count, "unit": "days", "system": UCUM, "code": "d"}


def _dispensed(given: Prescription) -> dict[str, Any]:
    drug = given.drug
    request: dict[str, Any] = {
        "validityPeriod": {"start": given.visit.day.isoformat()},
        "numberOfRepeatsAllowed": 0 if given.problem.illness.complaint else drug.refills,
        "expectedSupplyDuration": _days(drug.days),
    }
    total = given.dose * drug.times * drug.days + max(0, drug.first - given.dose)
    if drug.unit in ("tablet", "capsule"):
        request["quantity"] = {"value": drug.supply or round(total), "unit": drug.unit}
    elif drug.unit == "mL":
        request["quantity"] = {"value": _whole(total), "unit": "mL", "system": UCUM, "code": "mL"}
    return request
