"""ORU: for each OBR a DiagnosticReport, for each OBX an Observation; a later message about one changes that one."""

from collections.abc import Mapping
from typing import Any

from clerkship.fhir.resource import Resource, key_of
from clerkship.simulators.fhir.outcome import refusal
from clerkship.simulators.fhir.reactions.attached import attachment
from clerkship.simulators.fhir.reactions.codes import TERMINOLOGY, concept, hl7, mapped
from clerkship.simulators.fhir.reactions.filing import File, Filing, escaped, trimmed
from clerkship.simulators.fhir.reactions.numbers import Number, numbered, with_numbers
from clerkship.simulators.fhir.reactions.observation import (
    SETTLED,
    STATUSES,
    Context,
    gathered,
    number_of,
    observation,
)
from clerkship.simulators.fhir.reactions.orders import Order, Result, orders_of, remarks
from clerkship.simulators.fhir.reactions.parts import part, text
from clerkship.simulators.fhir.reactions.people import patient_of, practitioners, subject
from clerkship.simulators.fhir.reactions.times import Time, moment, read_time
from clerkship.simulators.fhir.reactions.values import DOCUMENTS
from clerkship.simulators.fhir.reactions.visit import visit_reference

_STATUSES = {
    "O": "registered",
    "I": "registered",
    "S": "registered",
    "N": "registered",
    "A": "partial",
    "R": "preliminary",
    "P": "preliminary",
    "F": "final",
    "C": "corrected",
    "M": "amended",
    "X": "cancelled",
}
"""HL7 table 0123."""
_RANKS = {"registered": 0, "partial": 1, "preliminary": 1, "final": 2, "amended": 3, "corrected": 3}
_LABORATORY = frozenset(
    ["BG", "BLB", "CG", "CH", "CP", "GE", "HM", "IMM", "LAB", "MB", "MCB", "MYC", "OSL", "SP", "SR", "TX", "VR"]
)
_IMAGING = frozenset({"CT", "CUS", "IMG", "NMR", "NMS", "OUS", "RAD", "RUS", "RX", "VUS", "XRC"})
"""Of HL7 table 0074."""


def results(filing: Filing) -> None:
    """R01, R30 to R32: all of a message's reports, or none."""
    found = [order for order in orders_of(filing.message) if order.obr is not None]
    if not found:
        raise refusal(422, "required", "the message has no OBR: there is nothing to report")
    for order in found:
        _report(filing, order)


def _report(filing: Filing, order: Order) -> None:
    patient = patient_of(filing, order.pid)
    code = concept(part(order.obr, 4))
    if code is None:
        raise refusal(422, "required", "OBR-4 is empty: nobody can know what was asked for")
    numbers = [number for number in (order.filler(filing), order.placer(filing)) if number is not None]
    start = read_time(part(order.obr, 7), filing.zone)
    held = _held(filing, patient, numbers, code, start)
    report = held or {"resourceType": "DiagnosticReport", "id": filing.new_id("DiagnosticReport")}
    issued = read_time(part(order.obr, 22), filing.zone)
    status = _status(order)
    if held is not None:
        _still_news(held, status, issued)
    request = _request(filing, patient, order)
    common = trimmed(
        {
            "subject": subject(patient),
            "encounter": visit_reference(filing, patient, order.pv1),
            "basedOn": [{"reference": key_of(request)}] if request is not None else [],
            "issued": issued.text if issued is not None and issued.is_exact else "",
        }
    )
    section = part(order.obr, 24)
    context = Context(numbers[0] if numbers else None, {**common, **_category(section)}, start.text if start else "")
    observed = _observed(filing, order, report, context)
    section_of_it = concept(section, f"{TERMINOLOGY}v2-0074")
    forms = [attachment(each.obx) for each in order.results if _is_document(each)]
    made = {
        **{name: value for name, value in report.items() if not name.startswith("effective")},
        **common,
        "identifier": with_numbers(report, numbers),
        "status": status,
        "code": code,
        "category": [section_of_it] if section_of_it is not None else report.get("category"),
        **_effective(order, start, filing, report),
        "performer": _performers(observed) or report.get("performer"),
        "resultsInterpreter": practitioners(filing, order.obr, 32) or report.get("resultsInterpreter"),
        "result": _with(report.get("result", []), observed),
        "conclusion": remarks(order.notes) or report.get("conclusion"),
        "presentedForm": forms or report.get("presentedForm"),
    }
    filing.write(trimmed(made))


def _is_document(result: Result) -> bool:
    return text(result.obx, 2).upper() in DOCUMENTS


def _held(
    filing: Filing, patient: Resource, numbers: list[Number], code: dict[str, Any], start: Time | None
) -> Resource | None:
    """The report that a message is about: by the filler's number, else the placer's, and what was asked for. One number
    may stand for several reports, each with a code of its own. Without a number: by when the specimen was taken."""
    if not numbers:
        mine = filing.find("DiagnosticReport", ("patient", key_of(patient)))
        when = start.text if start is not None else None
        same = [each for each in mine if when and _when(each) == when and not each.get("identifier")]
        return next((each for each in same if _asked(each.get("code", {}), code)), None)
    found = filing.find("DiagnosticReport", ("identifier", escaped(numbers[0].value)))
    found = [each for each in found if numbers[0].is_in(each) and _asked(each.get("code", {}), code)]
    own = filing.there("DiagnosticReport", numbers[0].value)
    report = next(iter(found), own)
    if report is not None and report.get("subject", {}).get("reference") != key_of(patient):
        whose = report.get("subject", {}).get("reference", "nobody")
        told = f"report {numbers[0]} is {whose}'s {key_of(report)}, and PID-3 names {key_of(patient)}"
        raise refusal(409, "conflict", f"{told}: a result is not moved from one patient to another")
    return report


def _when(report: Resource) -> str | None:
    found: str | None = report.get("effectiveDateTime") or report.get("effectivePeriod", {}).get("start")
    return found


def _asked(held: dict[str, Any], code: dict[str, Any]) -> bool:
    """Whether two concepts have a code in common; without codes, their text."""
    one, other = (
        {(each.get("system"), each.get("code")) for each in concept.get("coding", ())} for concept in (held, code)
    )
    return bool(one & other) if one and other else held.get("text") == code.get("text")


def _status(order: Order) -> str:
    """OBR-25; where it is empty, the least settled of what is in it."""
    said = mapped(_STATUSES, part(order.obr, 25), "report status (OBR-25)")
    if said is not None:
        return said
    found = {STATUSES.get(text(each.obx, 11).upper(), "final") for each in order.results}
    for status in ("preliminary", "registered", "corrected", "amended", "final"):
        if status in found:
            return "partial" if status == "registered" and len(found) > 1 else status
    return "unknown"


def _still_news(held: Resource, status: str, issued: Time | None) -> None:
    """A message that was overtaken changes nothing: a preliminary result never replaces a final one, nor one that was
    reported before what the chart has."""
    before = held.get("status", "")
    late = status in _RANKS and before in SETTLED and _RANKS[status] < _RANKS[before]
    if issued is not None and issued.is_exact and held.get("issued"):
        if issued.at < moment(held["issued"]):
            told = f"{key_of(held)} was reported at {held['issued']}, and OBR-22 is before that ({issued.text})"
            raise refusal(409, "conflict", f"{told}: a result that came late changes nothing")
        late = late and _RANKS[status] < _RANKS["final"]
    if late:
        raise refusal(
            409,
            "conflict",
            f"{key_of(held)} is {before} already, and this is {status}: a result that came late changes nothing",
        )


def _request(filing: Filing, patient: Resource, order: Order) -> Resource | None:
    """The order that is answered, if the chart has it."""
    placer = order.placer(filing)
    found = numbered(filing, "ServiceRequest", [placer]) if placer is not None else None
    if found is not None and found.get("subject", {}).get("reference") != key_of(patient):
        whose = found.get("subject", {}).get("reference", "nobody")
        raise refusal(
            409, "conflict", f"order {placer} is {whose}'s {key_of(found)}, and PID-3 names {key_of(patient)}"
        )
    return found


def _category(section: Any) -> dict[str, Any]:
    code = section.text().upper() if section is not None else ""
    if code in _LABORATORY:
        return {"category": [hl7("observation-category", "laboratory", "Laboratory")]}
    if code in _IMAGING:
        return {"category": [hl7("observation-category", "imaging", "Imaging")]}
    return {}


def _observed(filing: Filing, order: Order, report: Resource, context: Context) -> list[Resource]:
    """Its Observations, written; those that the report has already are the same ones."""
    keys = [each.get("reference", "") for each in report.get("result", ())]
    held = [found for key in keys if (found := filing.draft.resource(key)) is not None]
    wanted = [each for each in order.results if not _is_document(each) and text(each.obx, 11).upper() != "N"]
    made = []
    for result, more in gathered(wanted):
        number = number_of(filing, result.obx, context)
        same = [each for each in held if number is not None and number.is_in(each)]
        if not same:  # one that came another way has no such number; its code will do, where it is the only one
            code = concept(part(result.obx, 3)) or {}
            same = [each for each in held if not each.get("identifier") and _asked(each.get("code", {}), code)]
            same = same if len(same) == 1 else []
        made.append(filing.write(observation(filing, result, more, same[0] if same else None, context)))
    return made


def _effective(order: Order, start: Time | None, filing: Filing, report: Resource) -> dict[str, Any]:
    end = read_time(part(order.obr, 8), filing.zone)
    if start is not None and end is not None and end.text != start.text:
        return {"effectivePeriod": {"start": start.text, "end": end.text}}
    if start is not None:
        return {"effectiveDateTime": start.text}
    return {name: value for name, value in report.items() if name.startswith("effective")}


def _performers(observed: list[Resource]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for each in observed:
        found += [one for one in each.get("performer", ()) if one not in found]
    return found


def _with(held: list[dict[str, Any]], observed: list[Resource]) -> list[dict[str, Any]]:
    keys = {each.get("reference") for each in held}
    new = [each for each in observed if key_of(each) not in keys]
    return [*held, *(trimmed({"reference": key_of(each), "display": each["code"].get("text")}) for each in new)]


ORU: Mapping[str, File] = {"R01": results, "R30": results, "R31": results, "R32": results}
