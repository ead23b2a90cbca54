"""The MedicationRequest resource."""

from collections.abc import Iterator
from typing import Any

from clerkship.fhir.resource import Resource
from clerkship.synthetic.patient_history import (
    PatientHistory,
    Prescription,
    build_condition_reference,
    build_encounter_reference,
)
from clerkship.synthetic.table import build_concept
from clerkship.synthetic.terms import UCUM, build_resource, codeable_concept
from clerkship.synthetic.times import clinic_time, format_datetime, format_instant

_UCUM_UNITS = {"[iU]": "[iU]", "mL": "mL"}
"""Units that UCUM has; the others are counted."""


def build_prescriptions(story: PatientHistory) -> Iterator[Resource]:
    """What they take and took; a drug that was prescribed twice has a number behind it."""
    seen: dict[str, int] = {}
    for given in story.prescriptions:
        key = given.drug.key.replace("_", "-")
        seen[key] = seen.get(key, 0) + 1
        name = key if seen[key] == 1 else f"{key}-{seen[key]}"
        yield _build_request(story, given, f"med-{story.tag}-{name}")


def _build_request(story: PatientHistory, given: Prescription, id: str) -> Resource:
    visit, drug = given.visit, given.drug
    told = min(clinic_time(given.ended, 12), story.end) if given.ended is not None else visit.end
    told = max(told, visit.end)
    return build_resource(
        "MedicationRequest",
        id,
        format_instant(told),
        status=given.status,
        statusReason={"text": given.why} if given.why else None,
        intent="order",
        category=[build_concept("prescription.community")],
        medicationCodeableConcept=codeable_concept(drug.term, text=drug.name),
        subject=story.subject(),
        encounter=build_encounter_reference(story, visit),
        authoredOn=format_datetime(visit.end),
        requester=visit.clinician.ref,
        reasonReference=[build_condition_reference(story, given.problem, given.problem.illness.name)],
        dosageInstruction=_build_dosages(given),
        dispenseRequest=_build_dispense_request(given),
    )


def _build_dosages(given: Prescription) -> list[dict[str, Any]]:
    """One, or the first day's and that of the days after; of a course, with how long."""
    drug = given.drug
    if drug.first:
        return [_build_dosage(given, drug.first, 1, 1), _build_dosage(given, given.dose, 2, drug.days - 1)]
    return [_build_dosage(given, given.dose, 1, drug.days if given.problem.illness.complaint else 0)]


def _build_dosage(given: Prescription, size: float, sequence: int, days: int) -> dict[str, Any]:
    drug = given.drug
    dose: dict[str, Any] = {"value": _to_integer(size), "unit": "units" if drug.unit == "[iU]" else drug.unit}
    if drug.unit in _UCUM_UNITS:
        dose |= {"system": UCUM, "code": _UCUM_UNITS[drug.unit]}
    lasting = {"boundsDuration": _build_duration(days)} if days else {}
    return {
        "sequence": sequence,
        "text": given.sig,
        "timing": {"repeat": {**lasting, "frequency": drug.times, "period": 1, "periodUnit": "d"}},
        "asNeededBoolean": drug.needed,
        "route": codeable_concept(drug.route),
        "doseAndRate": [{"doseQuantity": dose}],
    }


def _to_integer(size: float) -> float | int:
    return int(size) if size == int(size) else size


def _build_duration(count: int) -> dict[str, Any]:
    return {"value": count, "unit": "days", "system": UCUM, "code": "d"}


def _build_dispense_request(given: Prescription) -> dict[str, Any]:
    drug = given.drug
    request: dict[str, Any] = {
        "validityPeriod": {"start": given.visit.day.isoformat()},
        "numberOfRepeatsAllowed": 0 if given.problem.illness.complaint else drug.refills,
        "expectedSupplyDuration": _build_duration(drug.days),
    }
    total = given.dose * drug.times * drug.days + max(0, drug.first - given.dose)
    if drug.unit in ("tablet", "capsule"):
        request["quantity"] = {"value": drug.supply or round(total), "unit": drug.unit}
    elif drug.unit == "mL":
        request["quantity"] = {"value": _to_integer(total), "unit": "mL", "system": UCUM, "code": "mL"}
    return request
