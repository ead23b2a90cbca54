"""Conversions between types, and the time (FHIRPath 2.0, 5.5 and 5.9)."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from clerkship.fhir.evaluation.call import Call, Function
from clerkship.fhir.evaluation.collection import PathError, is_number
from clerkship.fhir.evaluation.moment import Kind, Moment
from clerkship.fhir.evaluation.quantity import CALENDAR_UNITS, Quantity

_TRUE = frozenset({"true", "t", "yes", "y", "1", "1.0"})
_FALSE = frozenset({"false", "f", "no", "n", "0", "0.0"})
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_DECIMAL = re.compile(r"[+-]?\d+(?:\.\d+)?")


def _to_boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if is_number(value):
        return {1: True, 0: False}.get(value)
    word = value.lower() if isinstance(value, str) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def _to_integer(value: Any) -> int | None:
    if isinstance(value, int):
        return int(value)
    return int(value) if isinstance(value, str) and _INTEGER.fullmatch(value) else None


def _to_decimal(value: Any) -> Decimal | None:
    if isinstance(value, int | Decimal):
        return Decimal(value)
    return Decimal(value) if isinstance(value, str) and _DECIMAL.fullmatch(value) else None


def to_text(value: Any) -> str | None:
    """Convert a System value to text; None for a JSON object."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return f"{value:f}"
    return str(value) if isinstance(value, str | int | Moment | Quantity) else None


def _to_moment(kind: Kind) -> Callable[[Any], Moment | None]:
    def convert(value: Any) -> Moment | None:
        if isinstance(value, Moment):
            return value.as_kind(kind) if (value.kind == "Time") == (kind == "Time") else None
        return Moment.parse(kind, value) if isinstance(value, str) else None

    return convert


def _to_quantity(value: Any) -> Quantity | None:
    if isinstance(value, Quantity):
        return value
    if isinstance(value, int | Decimal):
        return Quantity(Decimal(value), "1")
    return Quantity.parse(value) if isinstance(value, str) else None


def _quantity(call: Call) -> Quantity | None:
    """Convert to a quantity, and to a unit if one is given."""
    quantity, unit = _to_quantity(call.value()), call.text(0)
    if quantity is None or unit is None:
        return quantity
    target = Quantity(Decimal(1), unit.strip("'"), is_calendar=unit in CALENDAR_UNITS)
    converted = target.converted(quantity)
    return None if converted is None else Quantity(converted, target.unit, target.is_calendar)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "Boolean": _to_boolean,
    "Integer": _to_integer,
    "Decimal": _to_decimal,
    "String": to_text,
    "Date": _to_moment("Date"),
    "DateTime": _to_moment("DateTime"),
    "Time": _to_moment("Time"),
}


def _converting(convert: Callable[[Any], Any]) -> Function:
    def evaluate(call: Call) -> Any:
        value = call.value()
        return None if value is None else convert(value)

    return Function(evaluate)


def _testing(convert: Callable[[Any], Any]) -> Function:
    return _converting(lambda value: convert(value) is not None)


def _clock(read: Callable[[Moment], Moment]) -> Function:
    def evaluate(call: Call) -> Moment:
        if call.now is None:
            raise PathError(f"{call.where} has no clock here")
        return read(Moment.at(call.now))

    return Function(evaluate)


CONVERSION_FUNCTIONS = {
    **{f"to{name}": _converting(convert) for name, convert in _CONVERSIONS.items()},
    **{f"convertsTo{name}": _testing(convert) for name, convert in _CONVERSIONS.items()},
    "toQuantity": Function(_quantity, (0, 1)),
    "convertsToQuantity": Function(lambda call: _quantity(call) is not None if call.input else None, (0, 1)),
    "now": _clock(lambda now: now),
    "today": _clock(lambda now: now.as_kind("Date")),
    "timeOfDay": _clock(lambda now: Moment("Time", now.parts[3:], now.fraction)),
}
READING_THE_CLOCK = frozenset({"now", "today", "timeOfDay"})
