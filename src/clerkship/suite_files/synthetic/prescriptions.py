"""MedicationRequest resources."""

from collections.abc import Iterator
from typing import Any

from clerkship.formats.fhir.resource import Resource
from clerkship.suite_files.synthetic.patient_history import (
    PatientHistory,
    Prescription,
    build_condition_reference,
    build_encounter_reference,
)
from clerkship.suite_files.synthetic.terms import UCUM, build_concept, build_resource, codeable_concept
from clerkship.suite_files.synthetic.times import clinic_time, format_datetime, format_instant

_UCUM_UNITS = {"[iU]": "[iU]", "mL": "mL"}
"""Units of UCUM; other units are counted, such as tablets."""


def build_prescriptions(history: PatientHistory) -> Iterator[Resource]:
    """Yield a MedicationRequest for each prescription; the id of a repeated drug has a number."""
    seen: dict[str, int] = {}
    for prescription in history.prescriptions:
        key = prescription.drug.key.replace("_", "-")
        seen[key] = seen.get(key, 0) + 1
        name = key if seen[key] == 1 else f"{key}-{seen[key]}"
        yield _build_request(history, prescription, f"med-{history.tag}-{name}")


def _build_request(history: PatientHistory, prescription: Prescription, id: str) -> Resource:
    visit, drug = prescription.visit, prescription.drug
    updated = min(clinic_time(prescription.ended, 12), history.end) if prescription.ended is not None else visit.end
    updated = max(updated, visit.end)
    return build_resource(
        "MedicationRequest",
        id,
        format_instant(updated),
        status=prescription.status,
        statusReason={"text": prescription.stop_reason} if prescription.stop_reason else None,
        intent="order",
        category=[build_concept("prescription.community")],
        medicationCodeableConcept=codeable_concept(drug.term, text=drug.name),
        subject=history.subject(),
        encounter=build_encounter_reference(history, visit),
        authoredOn=format_datetime(visit.end),
        requester=visit.clinician.ref,
        reasonReference=[build_condition_reference(history, prescription.problem, prescription.problem.illness.name)],
        dosageInstruction=_build_dosages(prescription),
        dispenseRequest=_build_dispense_request(prescription),
    )


def _build_dosages(prescription: Prescription) -> list[dict[str, Any]]:
    """Return one dosage, or one for the first day and one for the other days; with a duration for a course."""
    drug = prescription.drug
    if drug.first:
        return [
            _build_dosage(prescription, drug.first, 1, 1),
            _build_dosage(prescription, prescription.dose, 2, drug.days - 1),
        ]
    return [
        _build_dosage(prescription, prescription.dose, 1, drug.days if prescription.problem.illness.complaint else 0)
    ]


def _build_dosage(prescription: Prescription, size: float, sequence: int, days: int) -> dict[str, Any]:
    drug = prescription.drug
    dose: dict[str, Any] = {"value": _to_integer(size), "unit": "units" if drug.unit == "[iU]" else drug.unit}
    if drug.unit in _UCUM_UNITS:
        dose |= {"system": UCUM, "code": _UCUM_UNITS[drug.unit]}
    lasting = {"boundsDuration": _build_duration(days)} if days else {}
    return {
        "sequence": sequence,
        "text": prescription.sig,
        "timing": {"repeat": {**lasting, "frequency": drug.times, "period": 1, "periodUnit": "d"}},
        "asNeededBoolean": drug.needed,
        "route": codeable_concept(drug.route),
        "doseAndRate": [{"doseQuantity": dose}],
    }


def _to_integer(size: float) -> float | int:
    return int(size) if size == int(size) else size


def _build_duration(count: int) -> dict[str, Any]:
    return {"value": count, "unit": "days", "system": UCUM, "code": "d"}


def _build_dispense_request(prescription: Prescription) -> dict[str, Any]:
    drug = prescription.drug
    request: dict[str, Any] = {
        "validityPeriod": {"start": prescription.visit.day.isoformat()},
        "numberOfRepeatsAllowed": 0 if prescription.problem.illness.complaint else drug.refills,
        "expectedSupplyDuration": _build_duration(drug.days),
    }
    total = prescription.dose * drug.times * drug.days + max(0, drug.first - prescription.dose)
    if drug.unit in ("tablet", "capsule"):
        request["quantity"] = {"value": drug.supply or round(total), "unit": drug.unit}
    elif drug.unit == "mL":
        request["quantity"] = {"value": _to_integer(total), "unit": "mL", "system": UCUM, "code": "mL"}
    return request
