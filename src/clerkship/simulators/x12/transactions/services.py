"""Services of a 278 (loop 2000F): what is requested, and what is decided."""

from typing import NamedTuple

from clerkship.formats.x12.loop import Loop
from clerkship.formats.x12.segment import X12Segment
from clerkship.formats.x12.writer import SetWriter, X12Element, decode_elements
from clerkship.payer.answer import DecidedService
from clerkship.payer.inquiry import RequestedService, Unit
from clerkship.simulators.x12.transactions.codes import CODES, find_procedure_qualifier
from clerkship.simulators.x12.transactions.text import parse_decimal, read_period, render_decimal

_UNITS: dict[str, Unit] = {code: unit for unit, code in CODES.service_units.items()}


class ServiceQuantity(NamedTuple):
    """How much of a service is requested."""

    amount: float
    unit: Unit


def find_service_segment(loop: Loop) -> X12Segment | None:
    """Return the segment with the procedure: SV1 professional, SV2 institutional or SV3 dental."""
    return next((segment for segment in loop.segments if segment.id in ("SV1", "SV2", "SV3")), None)


def read_service(loop: Loop, event: Loop) -> RequestedService:
    """Return a requested service. Performer and quantity may be stated for the whole event."""
    service = find_service_segment(loop)
    codes = _read_procedure(service)
    start, end = read_period(loop, "472")
    quantity = read_quantity(loop) or _read_delivery(event) or ServiceQuantity(1, "units")
    trace, review = loop.segment("TRN"), loop.segment("UM")
    return RequestedService(
        procedure_code=codes[0],
        modifiers=codes[1:],
        # The payer is not asked about a quantity that is not positive; see `read_authorization`.
        quantity=quantity.amount if quantity.amount > 0 else 1,
        unit=quantity.unit,
        start=start,
        end=end,
        performer_id=_read_performer(loop, "2010F") or _read_performer(event, "2010E"),
        place=read_place(review),
        trace=trace.raw(2) if trace else "",
    )


def read_place(review: X12Segment | None) -> str | None:
    """Return the place of service code of a UM segment; a bill type is translated."""
    if review is None or not review.value(4):
        return None
    code = review.value(4)
    return code if review.value(4, 2) != "A" else CODES.bill_type_places.get(code[:2])


def read_quantity(loop: Loop) -> ServiceQuantity | None:
    """Return the quantity of a service: that of HSD, which has a unit of its own, else that of SV1, SV2 or SV3."""
    service = find_service_segment(loop)
    if delivery := _read_delivery(loop):
        return delivery
    if service is None:
        return None
    unit_position, position = {"SV1": (3, 4), "SV2": (4, 5), "SV3": (0, 6)}[service.id]
    amount = parse_decimal(service.raw(position))
    unit: Unit = "days" if unit_position and service.raw(unit_position) == "DA" else "units"
    return None if amount is None else ServiceQuantity(amount, unit)


def _read_delivery(loop: Loop) -> ServiceQuantity | None:
    """Return the total that HSD asks for, such as 26 visits for 2 visits a week (HSD03, 04) for 3 months (05, 06)."""
    delivery = loop.segment("HSD")
    amount = parse_decimal(delivery.raw(2)) if delivery else None
    if delivery is None or amount is None:
        return None
    frequency = CODES.unit_days.get(delivery.raw(3), 0) * (parse_decimal(delivery.raw(4)) or 1)
    period = CODES.period_days.get(delivery.raw(5), 0) * (parse_decimal(delivery.raw(6)) or 1)
    if frequency and period:
        amount = max(round(amount * period / frequency), 1)
    return ServiceQuantity(amount, _UNITS.get(delivery.raw(1), "units"))


def _read_procedure(service: X12Segment | None) -> tuple[str, ...]:
    """Return the code and the modifiers; the revenue code of an institutional service that has no other."""
    if service is None:
        return ("",)
    position = 2 if service.id == "SV2" else 1
    codes = [service.value(position, component) for component in range(2, 7)]
    code = codes[0] or (service.raw(1) if service.id == "SV2" else "")
    return code, *(modifier for modifier in codes[1:] if modifier)


def _read_performer(loop: Loop, prefix: str) -> str | None:
    """Return the NPI of the first provider of a loop: the one that performs the service, or the facility."""
    providers = [each for each in loop.loops if each.id.startswith(prefix)]
    names = [name for each in providers if (name := each.segment("NM1")) and name.raw(1) in ("SJ", "FA", "72")]
    return next((name.raw(9) for name in names if name.raw(8) == "XX"), None)


def write_decided_service(writer: SetWriter, service: DecidedService, requested: X12Segment | None) -> None:
    """Write the service segment, in the kind of the request, and HSD if the quantity is not in units.

    Only approved services state a quantity: it is what may be performed.
    """
    is_approved = service.status in ("approved", "modified")
    has_units = is_approved and service.unit == "units"
    quantity = render_decimal(service.quantity) if has_units else ""
    is_dental = find_procedure_qualifier(service.procedure_code) == "AD"
    kind = requested.id if requested else "SV3" if is_dental else "SV1"
    procedure = _repeat_procedure(service, requested)
    if kind == "SV2":
        revenue_code = requested.raw(1) if requested else ""
        writer.add("SV2", revenue_code, procedure, "", "UN" if quantity else "", quantity)
    elif kind == "SV3":
        writer.add("SV3", procedure, "", "", "", "", quantity or "1")
    else:
        writer.add("SV1", procedure, "", "UN" if quantity else "", quantity)
    if is_approved and not has_units:
        writer.add("HSD", CODES.service_units[service.unit], render_decimal(service.quantity))


def _repeat_procedure(service: DecidedService, requested: X12Segment | None) -> X12Element:
    """Return the procedure with its qualifier and modifiers, as requested if the request has the service."""
    if requested is None:
        return (find_procedure_qualifier(service.procedure_code), service.procedure_code)
    elements = decode_elements(requested)
    position = 1 if requested.id == "SV2" else 0
    return elements[position] if position < len(elements) else ""
