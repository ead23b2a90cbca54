"""Find the report of an OBR by number, code, parent result and time of the specimen."""

from collections.abc import Collection
from typing import Any, NamedTuple

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.reactions.hl7_to_fhir.fields import MessageTime, parse_instant, read_repetition, read_time, to_concept
from clerkship.reactions.hl7_to_fhir.filing import Filing
from clerkship.reactions.hl7_to_fhir.identifiers import IDENTIFIER_TYPES, Hl7Identifier
from clerkship.reactions.hl7_to_fhir.orders import Order
from clerkship.simulators.fhir.outcome import refusal

_CORRECTIONS = ("corrected", "amended", "cancelled")
"""Statuses that may change the time of the specimen."""


class ReportKey(NamedTuple):
    """What identifies the report of an OBR."""

    numbers: tuple[Hl7Identifier, ...]
    """The filler's number, then the placer's."""
    code: dict[str, Any]
    parent: str
    """The parent result (OBR-26), and its report if that is another one (OBR-29). The organisms of a culture have a
    susceptibility panel each, all with the same number and code."""
    start: MessageTime | None

    @property
    def key(self) -> tuple[str, ...]:
        """Return the part of the key without the time, equal for OBR that differ only in time."""
        return (*(number.value for number in self.numbers[:1]), _first_code(self.code), self.parent)

    @property
    def when(self) -> str:
        """Return when the specimen was taken."""
        return self.start.text if self.start is not None else ""


def read_report_key(filing: Filing, order: Order) -> ReportKey:
    """Read what identifies the report of an order."""
    code = to_concept(read_repetition(order.obr, 4))
    if code is None:
        raise refusal(422, "required", "OBR-4 (service) is missing")
    numbers = tuple(number for number in (order.filler(filing), order.placer(filing)) if number is not None)
    start = read_time(read_repetition(order.obr, 7), filing.zone)
    if not numbers and start is None:
        # Without either, a repeated message would be filed twice, because nothing identifies its report.
        raise refusal(422, "required", "OBR-2, OBR-3 (numbers) and OBR-7 (time) are missing; send one of them")
    return ReportKey(numbers, code, _parent(order, numbers), start)


def parent_number(order: Order, own: str) -> str:
    """Return the number of the parent report (OBR-29), the filler's or else the placer's; without one, its own."""
    repetition = read_repetition(order.obr, 29)
    return (repetition.text(2, 1) or repetition.text(1, 1) if repetition is not None else "") or own


def _parent(order: Order, numbers: tuple[Hl7Identifier, ...]) -> str:
    result = read_repetition(order.obr, 26)
    above = parent_number(order, "")
    names = [above if above not in {number.value for number in numbers} else ""]
    if result is not None:
        names += [result.text(1, 1) or result.text(1, 2), result.text(2) or result.text(3)]
    return "/".join(filter(None, names)).replace("@", " ")


def find_report(
    filing: Filing, patient: Resource, report_key: ReportKey, status: str, written: Collection[str], *, alone: bool
) -> tuple[Resource | None, tuple[Hl7Identifier, ...]]:
    """Find the report in the chart, if any, and the numbers of its results; new results get the first.

    `written` has the reports that this message has written; `alone` is whether it has only one OBR with this key.
    """
    candidates = _filter_by_parent(_find_candidates(filing, patient, report_key), report_key)
    matches = [each for each in candidates if _is_at(_specimen_time(each), report_key.start)]
    if not matches:
        matches = [
            each
            for each in candidates
            if _can_be_same(each, report_key, status, get_key(each) not in written and alone)
        ]
    keys = ", ".join(get_key(each) for each in matches)
    description = f"{' or '.join(map(str, report_key.numbers)) or 'no number'}, `{_first_code(report_key.code)[:60]}`"
    if len(matches) > 1:
        raise refusal(409, "multiple-matches", f"{description} matches several reports: {keys}; send OBR-7 or OBR-26")
    if matches and keys in written:
        raise refusal(422, "duplicate", f"two OBR have {description}, and no OBR-7 or OBR-26 that distinguishes them")
    if matches:
        return matches[0], tuple(_copy_suffix(matches[0], number, report_key.code) for number in report_key.numbers)
    suffix = f"{report_key.parent}@{report_key.when}" if candidates else report_key.parent
    return None, tuple(_add_suffix(number, report_key.code, suffix) for number in report_key.numbers[:1])


def _find_candidates(filing: Filing, patient: Resource, report_key: ReportKey) -> list[Resource]:
    """Return the reports with the number and the code; without a number, those of the patient at that time."""
    if not report_key.numbers:
        reports = filing.find("DiagnosticReport", ("patient", get_key(patient)))
        reports = [
            each for each in reports if not each.get("identifier") and _is_at(_specimen_time(each), report_key.start)
        ]
        return [each for each in reports if is_same_code(each.get("code", {}), report_key.code)]
    reports = _find_by_number(filing, report_key)
    for each in reports:
        owner = each.get("subject", {}).get("reference", "no patient")
        if owner != get_key(patient):
            detail = f"report {report_key.numbers[0]} is {owner}'s {get_key(each)}, and PID-3 names {get_key(patient)}"
            raise refusal(409, "conflict", f"{detail}: results are not moved between patients")
    return reports


def _find_by_number(filing: Filing, report_key: ReportKey) -> list[Resource]:
    """Find reports by the filler's number, then by the placer's if they have no filler's, then by id."""
    for number in report_key.numbers:
        reports = filing.find_by_identifier("DiagnosticReport", number.value)
        reports = [
            each for each in reports if number.is_in(each) and is_same_code(each.get("code", {}), report_key.code)
        ]
        if number is not report_key.numbers[0]:
            reports = [each for each in reports if not _has_filler(each)]
        if reports:
            return reports
    by_id = filing.find_by_id("DiagnosticReport", report_key.numbers[0].value)
    return [by_id] if by_id is not None else []


def _has_filler(report: Resource) -> bool:
    codes = (code for each in report.get("identifier", ()) for code in each.get("type", {}).get("coding", ()))
    return any((code.get("system"), code.get("code")) == (IDENTIFIER_TYPES, "FILL") for code in codes)


def _filter_by_parent(reports: list[Resource], report_key: ReportKey) -> list[Resource]:
    """Return the reports with the same parent result; all of them if the OBR names no parent.

    The parent is part of a report's number, so reports without a number are not distinguished by it.
    """
    if not report_key.numbers:
        return reports
    matching = [each for each in reports if _read_suffix(each, report_key).partition("@")[0] == report_key.parent]
    return matching if matching or report_key.parent else reports


def _can_be_same(report: Resource, report_key: ReportKey, status: str, has_moved: bool) -> bool:
    """Return whether a report with another time can be the same one.

    This is so if one of the times is missing or less precise, or if the report may have moved and is only registered
    or is being corrected.
    """
    stored, stated = _specimen_time(report), report_key.when
    if stored.startswith(stated) or stated.startswith(stored):
        return True
    return has_moved and (status in _CORRECTIONS or report.get("status") == "registered")


def _is_at(when: str, start: MessageTime | None) -> bool:
    if start is None or not start.is_exact or "T" not in when:
        return when == (start.text if start is not None else "")
    return parse_instant(when) == start.at


def _specimen_time(report: Resource) -> str:
    return str(report.get("effectiveDateTime") or report.get("effectivePeriod", {}).get("start", ""))


def _first_code(code: dict[str, Any]) -> str:
    return str(next((each["code"] for each in code.get("coding", ()) if each.get("code")), code.get("text", "")))


def _add_suffix(number: Hl7Identifier, code: dict[str, Any], suffix: str) -> Hl7Identifier:
    return number._replace(value=f"{number.value}/{_first_code(code)}/{suffix}") if suffix else number


def _copy_suffix(report: Resource, number: Hl7Identifier, code: dict[str, Any]) -> Hl7Identifier:
    prefix = _add_suffix(number, code, " ").value.rstrip(" ")
    values = [str(each.get("value", "")) for each in report.get("identifier", ())]
    return number._replace(value=next((value for value in values if value.startswith(prefix)), number.value))


def _read_suffix(report: Resource, report_key: ReportKey) -> str:
    for number in report_key.numbers:
        value = _copy_suffix(report, number, report_key.code).value
        if value != number.value:
            return value.removeprefix(_add_suffix(number, report_key.code, " ").value.rstrip(" "))
    return ""


def is_same_code(other_code: dict[str, Any], code: dict[str, Any]) -> bool:
    """Return whether two concepts have a code in common, or without codes the same text."""
    first, second = (
        {(each.get("system"), each.get("code")) for each in concept.get("coding", ())} for concept in (other_code, code)
    )
    return bool(first & second) if first and second else other_code.get("text") == code.get("text")
