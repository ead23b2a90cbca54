"""ORU: file each OBR as a DiagnosticReport and each OBX as an Observation; later messages update them."""

from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.formats.hl7.message import Segment
from clerkship.reactions.hl7_to_fhir.fields import (
    TERMINOLOGY,
    MessageTime,
    Repetition,
    build_hl7_concept,
    code_table,
    is_null,
    map_code,
    parse_instant,
    read_repetition,
    read_repetitions,
    read_text,
    read_time,
    to_concept,
)
from clerkship.reactions.hl7_to_fhir.filing import Filing, drop_empty, map_triggers
from clerkship.reactions.hl7_to_fhir.identifiers import Hl7Identifier, add_identifiers, find_by_identifiers, parse_ei
from clerkship.reactions.hl7_to_fhir.orders import ObservationResult, Order, group_orders, join_notes
from clerkship.reactions.hl7_to_fhir.people import (
    build_organization,
    build_practitioners,
    build_subject,
    require_patient,
    require_same_patient,
)
from clerkship.reactions.hl7_to_fhir.report import ReportKey, find_report, is_same_code, parent_number, read_report_key
from clerkship.reactions.hl7_to_fhir.values import (
    DOCUMENT_TYPES,
    TEXT_TYPES,
    build_attachment,
    convert_reference_range,
    convert_value,
)
from clerkship.reactions.hl7_to_fhir.visit import build_visit_reference
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
        "performer": _build_performers(filing, obx) or base.get("performer"),
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


def _build_performers(filing: Filing, obx: Segment) -> list[dict[str, Any]]:
    """Build the performers: the organization (OBX-23, else OBX-15) and the responsible observer (OBX-16)."""
    name = read_text(obx, 23)
    producer = read_repetition(obx, 15)
    if not name and producer is not None:
        name = producer.text(2) or producer.text(1)
    return [*([build_organization(filing, name)] if name else []), *build_practitioners(filing, obx, 16)]


_STATUSES = code_table("0123")
"""HL7 table 0123."""
_ORIGINAL_TEXT = "http://hl7.org/fhir/StructureDefinition/originalText"
_RANKS = {"registered": 0, "partial": 1, "preliminary": 1, "final": 2, "amended": 3, "corrected": 3}
_LABORATORY = frozenset(
    ["BG", "BLB", "CG", "CH", "CP", "GE", "HM", "IMM", "LAB", "MB", "MCB", "MYC", "OSL", "SP", "SR", "TX", "VR"]
)
_IMAGING = frozenset({"CT", "CUS", "IMG", "NMR", "NMS", "OUS", "RAD", "RUS", "RX", "VUS", "XRC"})
"""Of HL7 table 0074."""


def file_results(filing: Filing) -> None:
    """R01, R30 to R32: file all reports of a message, or none."""
    orders = [order for order in group_orders(filing.message) if order.obr is not None]
    if not orders:
        raise refusal(422, "required", "the message has no OBR segment (report)")
    report_key = [read_report_key(filing, order) for order in orders]
    counts = Counter(each.key for each in report_key)
    written: set[str] = set()
    for order, each in zip(orders, report_key, strict=True):
        written.add(get_key(_file_report(filing, order, each, written, alone=counts[each.key] == 1)))


def _file_report(
    filing: Filing, order: Order, report_key: ReportKey, written: Collection[str], *, alone: bool
) -> Resource:
    patient = require_patient(filing, order.pid)
    status = _choose_status(order)
    existing, numbers = find_report(filing, patient, report_key, status, written, alone=alone)
    report = existing or {"resourceType": "DiagnosticReport", "id": filing.new_id("DiagnosticReport")}
    issued = read_time(read_repetition(order.obr, 22), filing.zone)
    if existing is not None:
        _refuse_outdated(existing, status, issued)
    request = _find_order(filing, patient, order)
    common = drop_empty(
        {
            "subject": build_subject(patient),
            "encounter": build_visit_reference(filing, patient, order.pv1),
            "basedOn": [{"reference": get_key(request)}] if request is not None else [],
            "issued": issued.text if issued is not None and issued.is_exact else "",
        }
    )
    if issued is not None and not issued.is_exact:
        common["issued"] = None  # removes the former value
    section = read_repetition(order.obr, 24)
    shared = {**common, **_build_category(section), **_find_parent_result(filing, patient, order, report_key)}
    observed = _file_observations(filing, order, report, ReportContext(numbers, shared, report_key.when))
    category = to_concept(section, f"{TERMINOLOGY}v2-0074")
    forms = [build_attachment(each.obx) for each in order.results if _is_document(each)]
    updated = {
        **{name: value for name, value in report.items() if not name.startswith("effective")},
        **common,
        "_issued": _build_date_extension(issued) if issued is not None else report.get("_issued"),
        "identifier": add_identifiers(report, [*report_key.numbers, *numbers]),
        "status": status,
        "code": report_key.code,
        "category": [category] if category is not None else report.get("category"),
        **_build_effective(order, report_key.start, filing, report),
        "performer": _performers(observed) or report.get("performer"),
        "resultsInterpreter": build_practitioners(filing, order.obr, 32) or report.get("resultsInterpreter"),
        "result": _add_results(report.get("result", []), observed),
        "conclusion": join_notes(order.notes) or report.get("conclusion"),
        "presentedForm": forms or report.get("presentedForm"),
    }
    return filing.write(drop_empty(updated))


def _find_parent_result(filing: Filing, patient: Resource, order: Order, report_key: ReportKey) -> dict[str, Any]:
    """Find the result that OBR-26 names, such as the organism of a culture that a panel is about."""
    parent = read_repetition(order.obr, 26)
    number = parent_number(order, report_key.numbers[0].value if report_key.numbers else "")
    if parent is None or not number or not parent.text(1, 1):
        return {}
    value = "/".join((number, parent.text(1, 1), parent.text(2) or "1"))
    parents = filing.find_by_identifier("Observation", value)
    parents = [each for each in parents if each.get("subject", {}).get("reference") == get_key(patient)]
    return {"derivedFrom": [{"reference": get_key(parents[0])}]} if len(parents) == 1 else {}


def _is_document(result: ObservationResult) -> bool:
    return read_text(result.obx, 2).upper() in DOCUMENT_TYPES


def _choose_status(order: Order) -> str:
    """Return the status: OBR-25, else the least final status of the results."""
    stated = map_code(_STATUSES, read_repetition(order.obr, 25), "report status")
    if stated is not None:
        return stated
    statuses = {STATUSES.get(read_text(each.obx, 11).upper(), "final") for each in order.results}
    for status in ("preliminary", "registered", "corrected", "amended", "final"):
        if status in statuses:
            return "partial" if status == "registered" and len(statuses) > 1 else status
    return "unknown"


def _build_date_extension(issued: MessageTime) -> dict[str, Any]:
    """Return an extension with the date, if it has no time and so cannot be `issued`, which is an instant."""
    return {} if issued.is_exact else {"extension": [{"url": _ORIGINAL_TEXT, "valueString": issued.text}]}


def _refuse_outdated(existing: Resource, status: str, issued: MessageTime | None) -> None:
    """Refuse an outdated message.

    A message is outdated if it is preliminary after a final one, or was reported before what the chart has. A final
    result replaces a corrected one only if it was reported later.
    """
    before = existing.get("status", "")
    reported_at = _read_issued(existing)
    order = _compare_times(issued, reported_at) if issued is not None and reported_at else 0
    if issued is not None and order < 0:
        detail = f"{get_key(existing)} was reported at {reported_at}, which is after OBR-22 ({issued.text})"
        raise refusal(409, "conflict", f"{detail}: an outdated result is not filed")
    is_less = status in _RANKS and before in FINAL_STATUSES and _RANKS[status] < _RANKS[before]
    if is_less and (order <= 0 or _RANKS[status] < _RANKS["final"]):
        raise refusal(
            409,
            "conflict",
            f"{get_key(existing)} is {before} and this is {status}: an outdated result is not filed",
        )


def _read_issued(report: Resource) -> str:
    days = [each.get("valueString", "") for each in report.get("_issued", {}).get("extension", ())]
    return str(report.get("issued") or next(iter(days), ""))


def _compare_times(issued: MessageTime, existing: str) -> int:
    """Compare the time of a report with that in the chart, as precisely as both allow; negative if it is before."""
    if issued.is_exact and "T" in existing:
        at = parse_instant(existing)
        return (issued.at > at) - (issued.at < at)
    length = min(len(issued.date), len(existing))
    reported, stored = issued.date[:length], existing[:length]
    return (reported > stored) - (reported < stored)


def _find_order(filing: Filing, patient: Resource, order: Order) -> Resource | None:
    """Find the order that the report answers."""
    placer = order.placer(filing)
    order_resource = find_by_identifiers(filing, "ServiceRequest", [placer]) if placer is not None else None
    return require_same_patient(patient, order_resource, f"order {placer}")


def _build_category(section: Any) -> dict[str, Any]:
    code = section.text().upper() if section is not None else ""
    if code in _LABORATORY:
        return {"category": [build_hl7_concept("observation-category", "laboratory", "Laboratory")]}
    if code in _IMAGING:
        return {"category": [build_hl7_concept("observation-category", "imaging", "Imaging")]}
    return {}


def _file_observations(filing: Filing, order: Order, report: Resource, context: ReportContext) -> list[Resource]:
    """Write the Observations of a report, and update those that it has."""
    keys = [each.get("reference", "") for each in report.get("result", ())]
    existing = filing.get_resources(keys)
    filed = [each for each in order.results if not _is_document(each) and read_text(each.obx, 11).upper() != "N"]
    observations: list[Resource] = []
    groups = group_results(filed)
    remaining = Counter(_observation_code(result) for result, _ in groups)
    for result, continuation in groups:
        match = _find_observation(filing, result, existing, context, remaining[_observation_code(result)])
        remaining[_observation_code(result)] -= 1
        if match is not None:
            existing.remove(match)  # another result of this message cannot match it too
        observations.append(filing.write(build_observation(filing, result, continuation, match, context)))
    return observations


def _observation_code(result: ObservationResult) -> str:
    return read_text(result.obx, 3)


def _find_observation(
    filing: Filing, result: ObservationResult, existing: list[Resource], context: ReportContext, remaining: int
) -> Resource | None:
    """Find the Observation of an OBX by its number, else by its code.

    Observations without a number come from other sources, or from reports without a number. They match by code if
    there is only one, or as many as results to come.
    """
    if not existing:
        return None
    code = to_concept(read_repetition(result.obx, 3)) or {}
    for number in read_observation_numbers(filing, result.obx, context):
        matches = [each for each in existing if number.is_in(each)]
        same_code = [each for each in matches if is_same_code(each.get("code", {}), code)]
        if matches:
            return (same_code or matches)[0]
    matches = [each for each in existing if not each.get("identifier") and is_same_code(each.get("code", {}), code)]
    return matches[0] if len(matches) in (1, remaining) and matches else None


def _build_effective(order: Order, start: MessageTime | None, filing: Filing, report: Resource) -> dict[str, Any]:
    end = read_time(read_repetition(order.obr, 8), filing.zone)
    if start is not None and end is not None and end.text != start.text:
        return {"effectivePeriod": {"start": start.text, "end": end.text}}
    if start is not None:
        return {"effectiveDateTime": start.text}
    return {name: value for name, value in report.items() if name.startswith("effective")}


def _performers(observed: list[Resource]) -> list[dict[str, Any]]:
    performers: list[dict[str, Any]] = []
    for each in observed:
        performers += [performer for performer in each.get("performer", ()) if performer not in performers]
    return performers


def _add_results(results: list[dict[str, Any]], observed: list[Resource]) -> list[dict[str, Any]]:
    keys = {each.get("reference") for each in results}
    new = [each for each in observed if get_key(each) not in keys]
    return [*results, *(drop_empty({"reference": get_key(each), "display": each["code"].get("text")}) for each in new)]


ORU = map_triggers({file_results: "R01 R30 R31 R32"})
