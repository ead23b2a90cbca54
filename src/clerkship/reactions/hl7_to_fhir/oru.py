"""ORU: file each OBR as a DiagnosticReport and each OBX as an Observation; later messages update them."""

from collections import Counter
from collections.abc import Collection
from typing import Any

from clerkship.fhir.resource import Resource, get_key
from clerkship.reactions.hl7_to_fhir.attached import attachment
from clerkship.reactions.hl7_to_fhir.codes import TERMINOLOGY, concept, hl7, mapped
from clerkship.reactions.hl7_to_fhir.filing import Filing, by_trigger, trimmed
from clerkship.reactions.hl7_to_fhir.numbers import numbered, with_numbers
from clerkship.reactions.hl7_to_fhir.observation import (
    SETTLED,
    STATUSES,
    Context,
    gathered,
    numbers_of,
    observation,
)
from clerkship.reactions.hl7_to_fhir.orders import Order, Result, orders_of, remarks
from clerkship.reactions.hl7_to_fhir.parts import part, text
from clerkship.reactions.hl7_to_fhir.people import must_be_of, patient_of, practitioners, subject
from clerkship.reactions.hl7_to_fhir.report import Asked, asked_of, find_report, is_same_code, parent_number
from clerkship.reactions.hl7_to_fhir.tables import code_table
from clerkship.reactions.hl7_to_fhir.times import Time, moment, read_time
from clerkship.reactions.hl7_to_fhir.values import DOCUMENTS
from clerkship.reactions.hl7_to_fhir.visit import visit_reference
from clerkship.simulators.fhir.outcome import refusal

_STATUSES = code_table("0123")
"""HL7 table 0123."""
_AS_SAID = "http://hl7.org/fhir/StructureDefinition/originalText"
_RANKS = {"registered": 0, "partial": 1, "preliminary": 1, "final": 2, "amended": 3, "corrected": 3}
_LABORATORY = frozenset(
    ["BG", "BLB", "CG", "CH", "CP", "GE", "HM", "IMM", "LAB", "MB", "MCB", "MYC", "OSL", "SP", "SR", "TX", "VR"]
)
_IMAGING = frozenset({"CT", "CUS", "IMG", "NMR", "NMS", "OUS", "RAD", "RUS", "RX", "VUS", "XRC"})
"""Of HL7 table 0074."""


def results(filing: Filing) -> None:
    """R01, R30 to R32: file all reports of a message, or none."""
    found = [order for order in orders_of(filing.message) if order.obr is not None]
    if not found:
        raise refusal(422, "required", "the message has no OBR: there is nothing to report")
    asked = [asked_of(filing, order) for order in found]
    often = Counter(each.key for each in asked)
    made: set[str] = set()
    for order, each in zip(found, asked, strict=True):
        made.add(get_key(_report(filing, order, each, made, alone=often[each.key] == 1)))


def _report(filing: Filing, order: Order, asked: Asked, made: Collection[str], *, alone: bool) -> Resource:
    patient = patient_of(filing, order.pid)
    status = _status(order)
    held, numbers = find_report(filing, patient, asked, status, made, alone=alone)
    report = held or {"resourceType": "DiagnosticReport", "id": filing.new_id("DiagnosticReport")}
    issued = read_time(part(order.obr, 22), filing.zone)
    if held is not None:
        _still_news(held, status, issued)
    request = _request(filing, patient, order)
    common = trimmed(
        {
            "subject": subject(patient),
            "encounter": visit_reference(filing, patient, order.pv1),
            "basedOn": [{"reference": get_key(request)}] if request is not None else [],
            "issued": issued.text if issued is not None and issued.is_exact else "",
        }
    )
    if issued is not None and not issued.is_exact:
        common["issued"] = None  # what it was before is no more
    section = part(order.obr, 24)
    every = {**common, **_category(section), **_derived(filing, patient, order, asked)}
    observed = _observed(filing, order, report, Context(numbers, every, asked.when))
    section_of_it = concept(section, f"{TERMINOLOGY}v2-0074")
    forms = [attachment(each.obx) for each in order.results if _is_document(each)]
    made_of_it = {
        **{name: value for name, value in report.items() if not name.startswith("effective")},
        **common,
        "_issued": _day_of(issued) if issued is not None else report.get("_issued"),
        "identifier": with_numbers(report, [*asked.numbers, *numbers]),
        "status": status,
        "code": asked.code,
        "category": [section_of_it] if section_of_it is not None else report.get("category"),
        **_effective(order, asked.start, filing, report),
        "performer": _performers(observed) or report.get("performer"),
        "resultsInterpreter": practitioners(filing, order.obr, 32) or report.get("resultsInterpreter"),
        "result": _with(report.get("result", []), observed),
        "conclusion": remarks(order.notes) or report.get("conclusion"),
        "presentedForm": forms or report.get("presentedForm"),
    }
    return filing.write(trimmed(made_of_it))


def _derived(filing: Filing, patient: Resource, order: Order, asked: Asked) -> dict[str, Any]:
    """Find the result that OBR-26 names, such as the organism of a culture that a panel is about."""
    parent = part(order.obr, 26)
    number = parent_number(order, asked.numbers[0].value if asked.numbers else "")
    if parent is None or not number or not parent.text(1, 1):
        return {}
    value = "/".join((number, parent.text(1, 1), parent.text(2) or "1"))
    found = filing.with_number("Observation", value)
    found = [each for each in found if each.get("subject", {}).get("reference") == get_key(patient)]
    return {"derivedFrom": [{"reference": get_key(found[0])}]} if len(found) == 1 else {}


def _is_document(result: Result) -> bool:
    return text(result.obx, 2).upper() in DOCUMENTS


def _status(order: Order) -> str:
    """Return the status: OBR-25, else the least final status of the results."""
    said = mapped(_STATUSES, part(order.obr, 25), "report status (OBR-25)")
    if said is not None:
        return said
    found = {STATUSES.get(text(each.obx, 11).upper(), "final") for each in order.results}
    for status in ("preliminary", "registered", "corrected", "amended", "final"):
        if status in found:
            return "partial" if status == "registered" and len(found) > 1 else status
    return "unknown"


def _day_of(issued: Time) -> dict[str, Any]:
    """Return an extension with the date, if it has no time and so cannot be `issued`, which is an instant."""
    return {} if issued.is_exact else {"extension": [{"url": _AS_SAID, "valueString": issued.text}]}


def _still_news(held: Resource, status: str, issued: Time | None) -> None:
    """Refuse a message that is out of date: a preliminary result after a final one, or one that was reported before
    what the chart has. A final result replaces a corrected one only if it was reported later."""
    before = held.get("status", "")
    said = _reported(held)
    order = _compared(issued, said) if issued is not None and said else 0
    if issued is not None and order < 0:
        told = f"{get_key(held)} was reported at {said}, and OBR-22 is before that ({issued.text})"
        raise refusal(409, "conflict", f"{told}: a result that came late changes nothing")
    is_less = status in _RANKS and before in SETTLED and _RANKS[status] < _RANKS[before]
    if is_less and (order <= 0 or _RANKS[status] < _RANKS["final"]):
        raise refusal(
            409,
            "conflict",
            f"{get_key(held)} is {before} already, and this is {status}: a result that came late changes nothing",
        )


def _reported(held: Resource) -> str:
    days = [each.get("valueString", "") for each in held.get("_issued", {}).get("extension", ())]
    return str(held.get("issued") or next(iter(days), ""))


def _compared(issued: Time, held: str) -> int:
    """Compare the time of a report with that in the chart, as precisely as both allow; negative if it is before."""
    if issued.is_exact and "T" in held:
        at = moment(held)
        return (issued.at > at) - (issued.at < at)
    length = min(len(issued.date), len(held))
    one, other = issued.date[:length], held[:length]
    return (one > other) - (one < other)


def _request(filing: Filing, patient: Resource, order: Order) -> Resource | None:
    """Find the order that the report answers."""
    placer = order.placer(filing)
    found = numbered(filing, "ServiceRequest", [placer]) if placer is not None else None
    return must_be_of(patient, found, f"order {placer}")


def _category(section: Any) -> dict[str, Any]:
    code = section.text().upper() if section is not None else ""
    if code in _LABORATORY:
        return {"category": [hl7("observation-category", "laboratory", "Laboratory")]}
    if code in _IMAGING:
        return {"category": [hl7("observation-category", "imaging", "Imaging")]}
    return {}


def _observed(filing: Filing, order: Order, report: Resource, context: Context) -> list[Resource]:
    """Write the Observations of a report, and update those that it has."""
    keys = [each.get("reference", "") for each in report.get("result", ())]
    held = filing.resources(keys)
    wanted = [each for each in order.results if not _is_document(each) and text(each.obx, 11).upper() != "N"]
    made: list[Resource] = []
    rest = gathered(wanted)
    ahead = Counter(_named(result) for result, _ in rest)
    for result, more in rest:
        same = _same(filing, result, held, context, ahead[_named(result)])
        ahead[_named(result)] -= 1
        if same is not None:
            held.remove(same)  # no other of this message is that one too
        made.append(filing.write(observation(filing, result, more, same, context)))
    return made


def _named(result: Result) -> str:
    return text(result.obx, 3)


def _same(filing: Filing, result: Result, held: list[Resource], context: Context, ahead: int) -> Resource | None:
    """Find the Observation of an OBX by its number. An Observation without a number, written by other means or in a
    report without a number, is found by its code, if it is the only one or there are as many as results to come."""
    if not held:
        return None
    code = concept(part(result.obx, 3)) or {}
    for number in numbers_of(filing, result.obx, context):
        found = [each for each in held if number.is_in(each)]
        alike = [each for each in found if is_same_code(each.get("code", {}), code)]
        if found:
            return (alike or found)[0]
    found = [each for each in held if not each.get("identifier") and is_same_code(each.get("code", {}), code)]
    return found[0] if len(found) in (1, ahead) and found else None


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
    new = [each for each in observed if get_key(each) not in keys]
    return [*held, *(trimmed({"reference": get_key(each), "display": each["code"].get("text")}) for each in new)]


ORU = by_trigger({results: "R01 R30 R31 R32"})
