"""ORM: file orders of tests and services as ServiceRequests."""

from typing import Any

from clerkship.formats.fhir.resource import Resource, get_key
from clerkship.reactions.hl7_to_fhir.fields import (
    TERMINOLOGY,
    Repetition,
    code_table,
    read_repetition,
    read_repetitions,
    read_text,
    read_time,
    to_concept,
)
from clerkship.reactions.hl7_to_fhir.filing import Filing, drop_empty, map_triggers
from clerkship.reactions.hl7_to_fhir.identifiers import add_identifiers, find_by_identifiers, parse_ei
from clerkship.reactions.hl7_to_fhir.orders import Order, group_orders, join_notes
from clerkship.reactions.hl7_to_fhir.people import (
    build_practitioners,
    build_subject,
    require_patient,
    require_same_patient,
)
from clerkship.reactions.hl7_to_fhir.visit import build_visit_reference
from clerkship.simulators.fhir.outcome import refusal

_CONTROLS = code_table("0119")
"""HL7 table 0119 and the status that each code leads to; empty where ORC-5 decides, or the status stays."""
_STATUSES = code_table("0038")
"""HL7 table 0038."""
_CLOSED = ("revoked", "completed", "entered-in-error")
_PRIORITIES = code_table("0027")
"""HL7 tables 0027 and 0485."""


def file_orders(filing: Filing) -> None:
    """O01: file all orders of a message, or none."""
    orders = group_orders(filing.message)
    if not orders:
        raise refusal(422, "required", "the message has no ORC segment (order)")
    for order in orders:
        _file_order(filing, order)


def _file_order(filing: Filing, order: Order) -> None:
    if order.others:
        name = order.others[0].name
        raise refusal(501, "not-supported", f"unsupported segment {name} in the order (expected: OBR)")
    control = read_text(order.orc, 1).upper()
    if control not in _CONTROLS:
        known = ", ".join(_CONTROLS)
        raise refusal(501, "not-supported", f"unsupported ORC-1 `{control[:10]}` (expected: {known})")
    patient = require_patient(filing, order.pid)
    existing = _find_order(filing, patient, order)
    if existing is None and control != "NW":
        numbers = " or ".join(str(each) for each in (order.placer(filing), order.filler(filing)) if each is not None)
        raise refusal(
            404, "not-found", f"{get_key(patient)} has no order {numbers}: ORC-1 {control} requires an existing order"
        )
    status = _choose_status(order, control, existing)
    _refuse_closed(existing, status, control)
    filing.write(_build_request(filing, order, patient, existing, status))


def _refuse_closed(existing: Resource | None, status: str, control: str) -> None:
    """Refuse to change an order that is completed or revoked."""
    before = existing.get("status", "") if existing is not None else ""
    if before not in _CLOSED or status == "entered-in-error":
        return
    if existing is not None and (status != before or control in ("XO", "XX", "RO")):
        detail = f"{get_key(existing)} is {before}"
        raise refusal(409, "conflict", f"{detail}: ORC-1 {control} cannot change it")


def _find_order(filing: Filing, patient: Resource, order: Order) -> Resource | None:
    placer, filler = order.placer(filing), order.filler(filing)
    if placer is None and filler is None:
        raise refusal(422, "required", "ORC-2 and ORC-3 (order numbers) are missing")
    existing = find_by_identifiers(filing, "ServiceRequest", [placer]) if placer is not None else None
    if existing is None and filler is not None:
        existing = find_by_identifiers(filing, "ServiceRequest", [filler])
    return require_same_patient(patient, existing, f"order {placer or filler}")


def _choose_status(order: Order, control: str, existing: Resource | None) -> str:
    implied = _CONTROLS[control]
    stated = _STATUSES.get(read_text(order.orc, 5).upper(), "")
    if implied and control != "NW":
        return implied
    return stated or implied or (str(existing.get("status")) if existing is not None else "active")


def _build_request(filing: Filing, order: Order, patient: Resource, existing: Resource | None, status: str) -> Resource:
    orc, obr = order.orc, order.obr
    base: Resource = existing or {
        "resourceType": "ServiceRequest",
        "id": filing.new_id("ServiceRequest"),
        "intent": "order",
    }
    code = to_concept(read_repetition(obr, 4)) or base.get("code")
    if code is None:
        raise refusal(422, "required", "OBR-4 (ordered service) is missing")
    numbers = [
        each for each in (order.placer(filing), order.filler(filing)) if each is not None and each.value != base["id"]
    ]
    authored = read_time(read_repetition(orc, 9), filing.zone)
    requesters = build_practitioners(filing, orc, 12) or build_practitioners(filing, obr, 16)
    group, section, notes = (
        read_repetition(orc, 4),
        to_concept(read_repetition(obr, 24), f"{TERMINOLOGY}v2-0074"),
        join_notes(order.notes),
    )
    return drop_empty(
        {
            **base,
            "identifier": add_identifiers(base, numbers),
            "requisition": parse_ei(group, filing.authorities).to_identifier()
            if group is not None
            else base.get("requisition"),
            "status": status,
            "code": code,
            "category": [section] if section is not None else base.get("category"),
            "priority": _read_priority(order) or base.get("priority"),
            "subject": base.get("subject") or build_subject(patient),
            "encounter": build_visit_reference(filing, patient, order.pv1) or base.get("encounter"),
            **_read_occurrence(filing, order, base),
            "authoredOn": base.get("authoredOn") or (authored.text if authored is not None else None),
            "requester": requesters[0] if requesters else base.get("requester"),
            "reasonCode": _read_reasons(order) or base.get("reasonCode"),
            "note": [{"text": notes}] if notes else base.get("note"),
        }
    )


def _read_priority(order: Order) -> str:
    """Read the priority: TQ1-9, or OBR-27.6 and OBR-5 as before version 2.5."""
    timing = read_repetition(order.obr, 27) or read_repetition(order.orc, 7)
    repetitions = [read_repetition(each, 9) for each in order.times]
    codes = [each.text() for each in repetitions if each is not None]
    codes += [timing.text(6) if timing is not None else "", read_text(order.obr, 5)]
    return next((_PRIORITIES[code.upper()] for code in codes if code.upper() in _PRIORITIES), "")


def _read_occurrence(filing: Filing, order: Order, base: Resource) -> Resource:
    """Read when the order is to be carried out: TQ1-7, OBR-27.4, ORC-7.4, OBR-36, OBR-6."""
    candidates: list[tuple[Repetition | None, int]] = [(read_repetition(each, 7), 1) for each in order.times]
    candidates += [
        (read_repetition(order.obr, 27), 4),
        (read_repetition(order.orc, 7), 4),
        (read_repetition(order.obr, 36), 1),
        (read_repetition(order.obr, 6), 1),
    ]
    for repetition, component in candidates:
        when = read_time(repetition, filing.zone, component)
        if when is not None:
            others = [name for name in base if name.startswith("occurrence") and name != "occurrenceDateTime"]
            return {**dict.fromkeys(others), "occurrenceDateTime": when.text}
    return {}


def _read_reasons(order: Order) -> list[dict[str, Any]]:
    """Read the reasons: OBR-31, and the DG1 segments of the order."""
    repetitions = [
        *read_repetitions(order.obr, 31),
        *(each for diagnosis in order.diagnoses for each in read_repetitions(diagnosis, 3)[:1]),
    ]
    return [reason for each in repetitions if (reason := to_concept(each)) is not None]


ORM = map_triggers({file_orders: "O01"})
