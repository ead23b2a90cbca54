"""Convert OBX to an Observation; a correction updates the same resource."""

from typing import Any, NamedTuple

from clerkship.fhir.resource import Resource, get_key
from clerkship.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.codes import concept, hl7, mapped
from clerkship.reactions.hl7_to_fhir.filing import Filing, trimmed
from clerkship.reactions.hl7_to_fhir.numbers import Number, of_ei
from clerkship.reactions.hl7_to_fhir.orders import Result, remarks
from clerkship.reactions.hl7_to_fhir.parts import Part, is_null, part, parts, text
from clerkship.reactions.hl7_to_fhir.people import organization, practitioners
from clerkship.reactions.hl7_to_fhir.tables import code_table
from clerkship.reactions.hl7_to_fhir.times import read_time
from clerkship.reactions.hl7_to_fhir.values import TEXTS, ranges, value_of
from clerkship.simulators.fhir.outcome import refusal

STATUSES = code_table("0085")
"""HL7 table 0085. N (not asked) is not filed."""
_WITHOUT_VALUE = ("U", "D", "W", "X")
"""Statuses with which OBX-5 may be empty; the value in the chart is kept."""
SETTLED = ("final", "amended", "corrected")
_UNSETTLED = ("registered", "partial", "preliminary")
_FLAGS = code_table("0078")
"""HL7 table 0078; FHIR's v3-ObservationInterpretation has the same codes."""
_SAID = ("value", "effective")
_REPLACED = frozenset({"dataAbsentReason", "interpretation", "note", "referenceRange"})


class Context(NamedTuple):
    """The parts of a report that its Observations use."""

    numbers: tuple[Number, ...]
    """The numbers of the report; new Observations are identified by the first."""
    common: dict[str, Any]
    """Elements that all Observations of the report have."""
    effective: str
    """The time of the specimen, for an OBX without a time."""


def gathered(results: list[Result]) -> list[tuple[Result, list[Result]]]:
    """Group each result with the OBX that continue its text, one line each. Any other two OBX with the same code and
    sub-id are refused (HL7 chapter 7, OBX-4: the sub-id distinguishes them)."""
    found: dict[tuple[str, str, str], tuple[Result, list[Result]]] = {}
    for result in results:
        code = part(result.obx, 3)
        if code is None or not (code.text(1) or code.text(2)):
            raise refusal(422, "required", "OBX-3 is empty: nobody can know what was observed")
        key = (code.text(1) or code.text(2), code.text(3).upper(), text(result.obx, 4))
        if key not in found:
            found[key] = (result, [])
        elif text(result.obx, 2).upper() in TEXTS and text(found[key][0].obx, 2).upper() in TEXTS:
            found[key][1].append(result)
        else:
            told = f"the sub-id `{key[2][:20]}`" if key[2] else "no sub-id (OBX-4)"
            reason = f"two OBX have the code `{key[0][:60]}` and {told}: nobody can tell them apart"
            raise refusal(422, "duplicate", reason)
    return list(found.values())


def numbers_of(filing: Filing, obx: Segment, context: Context) -> list[Number]:
    """Return the number of an Observation: OBX-21, else a number of the report with the code and the sub-id."""
    own, code = part(obx, 21), part(obx, 3)
    found = [of_ei(own, filing.authorities, "FILL")] if own is not None and own.text() else []
    rest = f"{code.text(1) or code.text(2)}/{text(obx, 4) or '1'}" if code is not None else ""
    return [*found, *(each._replace(value=f"{each.value}/{rest}", type="FILL") for each in context.numbers)]


def observation(
    filing: Filing, result: Result, more: list[Result], held: Resource | None, context: Context
) -> Resource:
    """Build the Observation of an OBX, or update the one that the chart has."""
    obx = result.obx
    code = text(obx, 11).upper()
    status = mapped(STATUSES, part(obx, 11), "result status (OBX-11)") or "final"
    if held is not None and held.get("status") in SETTLED and status in _UNSETTLED:
        told = f"{get_key(held)} is {held.get('status')} already, and OBX-11 says {status}"
        raise refusal(409, "conflict", f"{told}: a result that came late changes nothing")
    value = value_of(obx, filing.zone)
    for line in more:
        value["valueString"] = "\n".join(
            filter(None, (value.get("valueString"), *value_of(line.obx, filing.zone).values()))
        )
    keeps = not value and code in _WITHOUT_VALUE
    if held is not None and _has_value(held) and not value and not keeps and not is_null(obx, 5):
        told = f"OBX-5 is empty, OBX-11 says {status}, and {get_key(held)} has a value"
        raise refusal(422, "required", f'{told}: D, W and X leave it there, `""` takes it away')
    base = {name: item for name, item in (held or {}).items() if keeps or not _is_replaced(name)}
    at = read_time(part(obx, 14), filing.zone)
    numbers = numbers_of(filing, obx, context)
    made = {
        **base,
        **context.common,
        "resourceType": "Observation",
        "id": held["id"] if held is not None else filing.new_id("Observation"),
        "identifier": base.get("identifier") or [number.identifier() for number in numbers[:1]],
        "status": status,
        "code": concept(part(obx, 3)),
        "effectiveDateTime": at.text if at is not None else context.effective or base.get("effectiveDateTime"),
        "performer": _performers(filing, obx) or base.get("performer"),
        **value,
        **_judged(obx, [result, *more]),
    }
    if status in SETTLED and not _has_value(made):  # R4: then it is said why
        made["dataAbsentReason"] = hl7("data-absent-reason", "unknown", "Unknown")
    return trimmed(made)


def _has_value(resource: Resource) -> bool:
    return any(name.startswith("value") for name in resource)


def _is_replaced(name: str) -> bool:
    return name in _REPLACED or name.startswith(_SAID)


def _judged(obx: Segment, results: list[Result]) -> dict[str, Any]:
    """Build the elements that describe a value: interpretation, reference range and notes."""
    said = "\n".join(filter(None, (remarks(each.notes) for each in results)))
    return trimmed(
        {
            "interpretation": [_interpretation(each) for each in parts(obx, 8)],
            "referenceRange": ranges(obx),
            "note": [{"text": said}] if said else [],
        }
    )


def _interpretation(found: Part) -> dict[str, Any]:
    code = found.text().upper()
    if code in _FLAGS:
        return hl7("v3-ObservationInterpretation", code, _FLAGS[code])
    return concept(found) or {"text": found.whole}


def _performers(filing: Filing, obx: Segment) -> list[dict[str, Any]]:
    """Build the performers: the organization (OBX-23, else OBX-15) and the responsible observer (OBX-16)."""
    name = text(obx, 23)
    producer = part(obx, 15)
    if not name and producer is not None:
        name = producer.text(2) or producer.text(1)
    return [*([organization(filing, name)] if name else []), *practitioners(filing, obx, 16)]
