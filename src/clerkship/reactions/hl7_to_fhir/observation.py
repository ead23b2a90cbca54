"""Convert OBX to an Observation; a correction updates the same resource."""

from typing import Any, NamedTuple

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.codes import build_hl7_concept, map_code, to_concept
from clerkship.reactions.hl7_to_fhir.fields import (
    Repetition,
    code_table,
    is_null,
    read_repetition,
    read_repetitions,
    read_text,
)
from clerkship.reactions.hl7_to_fhir.filing import Filing, drop_empty
from clerkship.reactions.hl7_to_fhir.identifiers import Hl7Identifier, parse_ei
from clerkship.reactions.hl7_to_fhir.orders import ObservationResult, join_notes
from clerkship.reactions.hl7_to_fhir.people import build_organization, build_practitioners
from clerkship.reactions.hl7_to_fhir.times import read_time
from clerkship.reactions.hl7_to_fhir.values import TEXT_TYPES, convert_reference_range, convert_value
from clerkship.simulators.fhir.outcome import refusal

STATUSES = code_table("0085")
"""HL7 table 0085. N (not asked) is not filed."""
_WITHOUT_VALUE = ("U", "D", "W", "X")
"""Statuses with which OBX-5 may be empty; the value in the chart is kept."""
FINAL_STATUSES = ("final", "amended", "corrected")
_PRELIMINARY_STATUSES = ("registered", "partial", "preliminary")
_FLAGS = code_table("0078")
"""HL7 table 0078; FHIR's v3-ObservationInterpretation has the same codes."""
_REPLACED_PREFIXES = ("value", "effective")
_REPLACED = frozenset({"dataAbsentReason", "interpretation", "note", "referenceRange"})


class ReportContext(NamedTuple):
    """The parts of a report that its Observations use."""

    numbers: tuple[Hl7Identifier, ...]
    """The numbers of the report; new Observations are identified by the first."""
    common: dict[str, Any]
    """Elements that all Observations of the report have."""
    effective: str
    """The time of the specimen, for an OBX without a time."""


def group_results(results: list[ObservationResult]) -> list[tuple[ObservationResult, list[ObservationResult]]]:
    """Group each result with the OBX that continue its text, one line each.

    Any other two OBX with the same code and sub-id are refused (HL7 chapter 7, OBX-4: the sub-id distinguishes
    them).
    """
    groups: dict[tuple[str, str, str], tuple[ObservationResult, list[ObservationResult]]] = {}
    for result in results:
        code = read_repetition(result.obx, 3)
        if code is None or not (code.text(1) or code.text(2)):
            raise refusal(422, "required", "OBX-3 (observation identifier) is missing")
        key = (code.text(1) or code.text(2), code.text(3).upper(), read_text(result.obx, 4))
        if key not in groups:
            groups[key] = (result, [])
        elif read_text(result.obx, 2).upper() in TEXT_TYPES and read_text(groups[key][0].obx, 2).upper() in TEXT_TYPES:
            groups[key][1].append(result)
        else:
            sub_id = f"the sub-id `{key[2][:20]}`" if key[2] else "no sub-id (OBX-4)"
            reason = f"two OBX have the code `{key[0][:60]}` and {sub_id}: they cannot be distinguished"
            raise refusal(422, "duplicate", reason)
    return list(groups.values())


def read_observation_numbers(filing: Filing, obx: Segment, context: ReportContext) -> list[Hl7Identifier]:
    """Return the number of an Observation: OBX-21, else a number of the report with the code and the sub-id."""
    own, code = read_repetition(obx, 21), read_repetition(obx, 3)
    numbers = [parse_ei(own, filing.authorities, "FILL")] if own is not None and own.text() else []
    suffix = f"{code.text(1) or code.text(2)}/{read_text(obx, 4) or '1'}" if code is not None else ""
    return [*numbers, *(each._replace(value=f"{each.value}/{suffix}", type="FILL") for each in context.numbers)]


def build_observation(
    filing: Filing,
    result: ObservationResult,
    continuation: list[ObservationResult],
    existing: Resource | None,
    context: ReportContext,
) -> Resource:
    """Build the Observation of an OBX, or update the one that the chart has."""
    obx = result.obx
    code = read_text(obx, 11).upper()
    status = map_code(STATUSES, read_repetition(obx, 11), "result status") or "final"
    if existing is not None and existing.get("status") in FINAL_STATUSES and status in _PRELIMINARY_STATUSES:
        detail = f"{get_key(existing)} is {existing.get('status')} and OBX-11 is {status}"
        raise refusal(409, "conflict", f"{detail}: an outdated result is not filed")
    value = convert_value(obx, filing.zone)
    for line in continuation:
        value["valueString"] = "\n".join(
            filter(None, (value.get("valueString"), *convert_value(line.obx, filing.zone).values()))
        )
    keeps_value = not value and code in _WITHOUT_VALUE
    if existing is not None and _has_value(existing) and not value and not keeps_value and not is_null(obx, 5):
        detail = f"OBX-5 is missing, OBX-11 is {status}, and {get_key(existing)} has a value"
        raise refusal(422, "required", f'{detail}: send D, W or X to keep it, `""` to remove it')
    base = {name: item for name, item in (existing or {}).items() if keeps_value or not _is_replaced(name)}
    at = read_time(read_repetition(obx, 14), filing.zone)
    numbers = read_observation_numbers(filing, obx, context)
    resource = {
        **base,
        **context.common,
        "resourceType": "Observation",
        "id": existing["id"] if existing is not None else filing.new_id("Observation"),
        "identifier": base.get("identifier") or [number.to_identifier() for number in numbers[:1]],
        "status": status,
        "code": to_concept(read_repetition(obx, 3)),
        "effectiveDateTime": at.text if at is not None else context.effective or base.get("effectiveDateTime"),
        "performer": _performers(filing, obx) or base.get("performer"),
        **value,
        **_build_interpretation(obx, [result, *continuation]),
    }
    if status in FINAL_STATUSES and not _has_value(resource):  # R4: a reason is required
        resource["dataAbsentReason"] = build_hl7_concept("data-absent-reason", "unknown", "Unknown")
    return drop_empty(resource)


def _has_value(resource: Resource) -> bool:
    return any(name.startswith("value") for name in resource)


def _is_replaced(name: str) -> bool:
    return name in _REPLACED or name.startswith(_REPLACED_PREFIXES)


def _build_interpretation(obx: Segment, results: list[ObservationResult]) -> dict[str, Any]:
    """Build the elements that describe a value: interpretation, reference range and notes."""
    notes = "\n".join(filter(None, (join_notes(each.notes) for each in results)))
    return drop_empty(
        {
            "interpretation": [_interpretation(each) for each in read_repetitions(obx, 8)],
            "referenceRange": convert_reference_range(obx),
            "note": [{"text": notes}] if notes else [],
        }
    )


def _interpretation(repetition: Repetition) -> dict[str, Any]:
    code = repetition.text().upper()
    if code in _FLAGS:
        return build_hl7_concept("v3-ObservationInterpretation", code, _FLAGS[code])
    return to_concept(repetition) or {"text": repetition.whole}


def _performers(filing: Filing, obx: Segment) -> list[dict[str, Any]]:
    """Build the performers: the organization (OBX-23, else OBX-15) and the responsible observer (OBX-16)."""
    name = read_text(obx, 23)
    producer = read_repetition(obx, 15)
    if not name and producer is not None:
        name = producer.text(2) or producer.text(1)
    return [*([build_organization(filing, name)] if name else []), *build_practitioners(filing, obx, 16)]
