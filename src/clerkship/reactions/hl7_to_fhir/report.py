"""Find the report of an OBR by number, code, parent result and time of the specimen."""

from collections.abc import Collection
from typing import Any, NamedTuple

from clerkship.fhir.resource import Resource, get_key
from clerkship.reactions.hl7_to_fhir.codes import concept
from clerkship.reactions.hl7_to_fhir.filing import Filing
from clerkship.reactions.hl7_to_fhir.numbers import TYPES, Number
from clerkship.reactions.hl7_to_fhir.orders import Order
from clerkship.reactions.hl7_to_fhir.parts import part
from clerkship.reactions.hl7_to_fhir.times import Time, moment, read_time
from clerkship.simulators.fhir.outcome import refusal

_CORRECTIONS = ("corrected", "amended", "cancelled")
"""Statuses that may change the time of the specimen."""


class Asked(NamedTuple):
    """What identifies the report of an OBR."""

    numbers: tuple[Number, ...]
    """The filler's number, then the placer's."""
    code: dict[str, Any]
    parent: str
    """The parent result (OBR-26), and its report if that is another one (OBR-29). The organisms of a culture have a
    susceptibility panel each, all with the same number and code."""
    start: Time | None

    @property
    def key(self) -> tuple[str, ...]:
        """Return what is the same for OBR of one message that differ only in time."""
        return (*(number.value for number in self.numbers[:1]), _named(self.code), self.parent)

    @property
    def when(self) -> str:
        """Return when the specimen was taken."""
        return self.start.text if self.start is not None else ""


def asked_of(filing: Filing, order: Order) -> Asked:
    """Read what identifies the report of an order."""
    code = concept(part(order.obr, 4))
    if code is None:
        raise refusal(422, "required", "OBR-4 is empty: nobody can know what was asked for")
    numbers = tuple(number for number in (order.filler(filing), order.placer(filing)) if number is not None)
    return Asked(numbers, code, _parent(order, numbers), read_time(part(order.obr, 7), filing.zone))


def parent_number(order: Order, own: str) -> str:
    """Return the number of the parent report (OBR-29), the filler's or else the placer's; without one, its own."""
    found = part(order.obr, 29)
    return (found.text(2, 1) or found.text(1, 1) if found is not None else "") or own


def _parent(order: Order, numbers: tuple[Number, ...]) -> str:
    result = part(order.obr, 26)
    above = parent_number(order, "")
    said = [above if above not in {number.value for number in numbers} else ""]
    if result is not None:
        said += [result.text(1, 1) or result.text(1, 2), result.text(2) or result.text(3)]
    return "/".join(filter(None, said)).replace("@", " ")


def find_report(
    filing: Filing, patient: Resource, asked: Asked, status: str, made: Collection[str], *, alone: bool
) -> tuple[Resource | None, tuple[Number, ...]]:
    """Find the report in the chart, if any, and the numbers of its results; new results get the first.

    `made` has the reports that this message has written; `alone` is whether it has only one OBR with this key."""
    mine = _of_parent(_candidates(filing, patient, asked), asked)
    same = [each for each in mine if _is_then(_when(each), asked.start)]
    if not same:
        same = [each for each in mine if _may_be(each, asked, status, get_key(each) not in made and alone)]
    keys = ", ".join(get_key(each) for each in same)
    told = f"{' or '.join(map(str, asked.numbers)) or 'no number'}, `{_named(asked.code)[:60]}`"
    if len(same) > 1:
        raise refusal(409, "multiple-matches", f"{told} means several reports: {keys}; OBR-7 or OBR-26 tells which")
    if same and keys in made:
        raise refusal(422, "duplicate", f"two OBR have {told} and no OBR-7 or OBR-26 that tells them apart")
    if same:
        return same[0], tuple(_known(same[0], number, asked.code) for number in asked.numbers)
    mark = f"{asked.parent}@{asked.when}" if mine else asked.parent
    return None, tuple(_marked(number, asked.code, mark) for number in asked.numbers[:1])


def _candidates(filing: Filing, patient: Resource, asked: Asked) -> list[Resource]:
    """Return the reports with the number and the code; without a number, those of the patient at that time."""
    if not asked.numbers:
        found = filing.find("DiagnosticReport", ("patient", get_key(patient))) if asked.start is not None else []
        found = [each for each in found if not each.get("identifier") and _is_then(_when(each), asked.start)]
        return [each for each in found if is_same_code(each.get("code", {}), asked.code)]
    found = _with_number(filing, asked)
    for each in found:
        whose = each.get("subject", {}).get("reference", "nobody")
        if whose != get_key(patient):
            told = f"report {asked.numbers[0]} is {whose}'s {get_key(each)}, and PID-3 names {get_key(patient)}"
            raise refusal(409, "conflict", f"{told}: a result is not moved from one patient to another")
    return found


def _with_number(filing: Filing, asked: Asked) -> list[Resource]:
    """Find reports by the filler's number, then by the placer's if they have no filler's, then by id."""
    for number in asked.numbers:
        found = filing.with_number("DiagnosticReport", number.value)
        found = [each for each in found if number.is_in(each) and is_same_code(each.get("code", {}), asked.code)]
        if number is not asked.numbers[0]:
            found = [each for each in found if not _has_filler(each)]
        if found:
            return found
    own = filing.there("DiagnosticReport", asked.numbers[0].value)
    return [own] if own is not None else []


def _has_filler(report: Resource) -> bool:
    codes = (code for each in report.get("identifier", ()) for code in each.get("type", {}).get("coding", ()))
    return any((code.get("system"), code.get("code")) == (TYPES, "FILL") for code in codes)


def _of_parent(found: list[Resource], asked: Asked) -> list[Resource]:
    """Return the reports with the same parent result; all of them if the OBR names no parent. The parent is kept in the
    number of a report, so reports without a number are not distinguished by it."""
    if not asked.numbers:
        return found
    same = [each for each in found if _mark(each, asked).partition("@")[0] == asked.parent]
    return same if same or asked.parent else found


def _may_be(report: Resource, asked: Asked, status: str, has_moved: bool) -> bool:
    """Return whether a report with another time can be the one that is meant: if one of the times is missing or less
    precise, or if the report may have moved and is only registered or is being corrected."""
    one, other = _when(report), asked.when
    if one.startswith(other) or other.startswith(one):
        return True
    return has_moved and (status in _CORRECTIONS or report.get("status") == "registered")


def _is_then(when: str, start: Time | None) -> bool:
    if start is None or not start.is_exact or "T" not in when:
        return when == (start.text if start is not None else "")
    return moment(when) == start.at


def _when(report: Resource) -> str:
    return str(report.get("effectiveDateTime") or report.get("effectivePeriod", {}).get("start", ""))


def _named(code: dict[str, Any]) -> str:
    return str(next((each["code"] for each in code.get("coding", ()) if each.get("code")), code.get("text", "")))


def _marked(number: Number, code: dict[str, Any], mark: str) -> Number:
    return number._replace(value=f"{number.value}/{_named(code)}/{mark}") if mark else number


def _known(report: Resource, number: Number, code: dict[str, Any]) -> Number:
    """Return a number with the suffix of a report."""
    start = _marked(number, code, " ").value.rstrip(" ")
    values = [str(each.get("value", "")) for each in report.get("identifier", ())]
    return number._replace(value=next((value for value in values if value.startswith(start)), number.value))


def _mark(report: Resource, asked: Asked) -> str:
    for number in asked.numbers:
        known = _known(report, number, asked.code).value
        if known != number.value:
            return known.removeprefix(_marked(number, asked.code, " ").value.rstrip(" "))
    return ""


def is_same_code(held: dict[str, Any], code: dict[str, Any]) -> bool:
    """Return whether two concepts have a code in common, or without codes the same text."""
    one, other = (
        {(each.get("system"), each.get("code")) for each in concept.get("coding", ())} for concept in (held, code)
    )
    return bool(one & other) if one and other else held.get("text") == code.get("text")
