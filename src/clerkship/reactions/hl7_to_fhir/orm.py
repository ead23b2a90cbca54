"""ORM: file orders of tests and services as ServiceRequests."""

from typing import Any

from clerkship.fhir.resource import Resource, get_key
from clerkship.reactions.hl7_to_fhir.codes import TERMINOLOGY, concept
from clerkship.reactions.hl7_to_fhir.filing import Filing, by_trigger, trimmed
from clerkship.reactions.hl7_to_fhir.numbers import numbered, of_ei, with_numbers
from clerkship.reactions.hl7_to_fhir.orders import Order, orders_of, remarks
from clerkship.reactions.hl7_to_fhir.parts import Part, part, parts, text
from clerkship.reactions.hl7_to_fhir.people import must_be_of, patient_of, practitioners, subject
from clerkship.reactions.hl7_to_fhir.tables import code_table
from clerkship.reactions.hl7_to_fhir.times import read_time
from clerkship.reactions.hl7_to_fhir.visit import visit_reference
from clerkship.simulators.fhir.outcome import refusal

_CONTROLS = code_table("0119")
"""HL7 table 0119 and the status that each code leads to; empty where ORC-5 decides, or the status stays."""
_STATUSES = code_table("0038")
"""HL7 table 0038."""
_ENDED = ("revoked", "completed", "entered-in-error")
_PRIORITIES = code_table("0027")
"""HL7 tables 0027 and 0485."""


def orders(filing: Filing) -> None:
    """O01: file all orders of a message, or none."""
    found = orders_of(filing.message)
    if not found:
        raise refusal(422, "required", "the message has no ORC: there is no order in it")
    for order in found:
        _order(filing, order)


def _order(filing: Filing, order: Order) -> None:
    if order.others:
        name = order.others[0].name
        raise refusal(501, "not-supported", f"the order has an {name}: only orders with an OBR are filed in this chart")
    control = text(order.orc, 1).upper()
    if control not in _CONTROLS:
        known = ", ".join(_CONTROLS)
        raise refusal(501, "not-supported", f"ORC-1 `{control[:10]}` is not filed in this chart; {known} are")
    patient = patient_of(filing, order.pid)
    held = _held(filing, patient, order)
    if held is None and control != "NW":
        numbers = " or ".join(str(each) for each in (order.placer(filing), order.filler(filing)) if each is not None)
        raise refusal(
            404, "not-found", f"{get_key(patient)} has no order {numbers}, and ORC-1 {control} is about one there is"
        )
    status = _status(order, control, held)
    _still_open(held, status, control)
    filing.write(_request(filing, order, patient, held, status))


def _still_open(held: Resource | None, status: str, control: str) -> None:
    """Refuse to change an order that is completed or revoked."""
    before = held.get("status", "") if held is not None else ""
    if before not in _ENDED or status == "entered-in-error":
        return
    if held is not None and (status != before or control in ("XO", "XX", "RO")):
        told = f"{get_key(held)} is {before}"
        raise refusal(409, "conflict", f"{told}: it is neither changed nor {status} again by ORC-1 {control}")


def _held(filing: Filing, patient: Resource, order: Order) -> Resource | None:
    placer, filler = order.placer(filing), order.filler(filing)
    if placer is None and filler is None:
        raise refusal(422, "required", "ORC-2 and ORC-3 are empty: an order without a number is nobody's to change")
    held = numbered(filing, "ServiceRequest", [placer]) if placer is not None else None
    if held is None and filler is not None:
        held = numbered(filing, "ServiceRequest", [filler])
    return must_be_of(patient, held, f"order {placer or filler}")


def _status(order: Order, control: str, held: Resource | None) -> str:
    said = _CONTROLS[control]
    stated = _STATUSES.get(text(order.orc, 5).upper(), "")
    if said and control != "NW":
        return said
    return stated or said or (str(held.get("status")) if held is not None else "active")


def _request(filing: Filing, order: Order, patient: Resource, held: Resource | None, status: str) -> Resource:
    orc, obr = order.orc, order.obr
    base: Resource = held or {
        "resourceType": "ServiceRequest",
        "id": filing.new_id("ServiceRequest"),
        "intent": "order",
    }
    code = concept(part(obr, 4)) or base.get("code")
    if code is None:
        raise refusal(422, "required", "OBR-4 is empty: nobody can know what is ordered")
    numbers = [
        each for each in (order.placer(filing), order.filler(filing)) if each is not None and each.value != base["id"]
    ]
    authored = read_time(part(orc, 9), filing.zone)
    requesters = practitioners(filing, orc, 12) or practitioners(filing, obr, 16)
    group, section, said = part(orc, 4), concept(part(obr, 24), f"{TERMINOLOGY}v2-0074"), remarks(order.notes)
    return trimmed(
        {
            **base,
            "identifier": with_numbers(base, numbers),
            "requisition": of_ei(group, filing.authorities).identifier()
            if group is not None
            else base.get("requisition"),
            "status": status,
            "code": code,
            "category": [section] if section is not None else base.get("category"),
            "priority": _priority(order) or base.get("priority"),
            "subject": base.get("subject") or subject(patient),
            "encounter": visit_reference(filing, patient, order.pv1) or base.get("encounter"),
            **_occurrence(filing, order, base),
            "authoredOn": base.get("authoredOn") or (authored.text if authored is not None else None),
            "requester": requesters[0] if requesters else base.get("requester"),
            "reasonCode": _reasons(order) or base.get("reasonCode"),
            "note": [{"text": said}] if said else base.get("note"),
        }
    )


def _priority(order: Order) -> str:
    """Read the priority: TQ1-9, or OBR-27.6 and OBR-5 as before version 2.5."""
    timing = part(order.obr, 27) or part(order.orc, 7)
    said = [part(each, 9) for each in order.times]
    codes = [each.text() for each in said if each is not None]
    codes += [timing.text(6) if timing is not None else "", text(order.obr, 5)]
    return next((_PRIORITIES[code.upper()] for code in codes if code.upper() in _PRIORITIES), "")


def _occurrence(filing: Filing, order: Order, base: Resource) -> Resource:
    """Read when the order is to be carried out: TQ1-7, OBR-27.4, ORC-7.4, OBR-36, OBR-6."""
    asked: list[tuple[Part | None, int]] = [(part(each, 7), 1) for each in order.times]
    asked += [(part(order.obr, 27), 4), (part(order.orc, 7), 4), (part(order.obr, 36), 1), (part(order.obr, 6), 1)]
    for found, component in asked:
        when = read_time(found, filing.zone, component)
        if when is not None:
            rest = [name for name in base if name.startswith("occurrence") and name != "occurrenceDateTime"]
            return {**dict.fromkeys(rest), "occurrenceDateTime": when.text}
    return {}


def _reasons(order: Order) -> list[dict[str, Any]]:
    """Read the reasons: OBR-31, and the DG1 segments of the order."""
    found = [*parts(order.obr, 31), *(each for one in order.diagnoses for each in parts(one, 3)[:1])]
    return [reason for each in found if (reason := concept(each)) is not None]


ORM = by_trigger({orders: "O01"})
