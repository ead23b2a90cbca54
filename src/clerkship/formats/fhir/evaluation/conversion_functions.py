"""Conversions between types, and the time (FHIRPath 2.0, 5.5 and 5.9)."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from clerkship.formats.fhir.evaluation.collection import EvaluationError, is_number
from clerkship.formats.fhir.evaluation.date_time import DateTimeKind, DateTimeValue
from clerkship.formats.fhir.evaluation.function_call import FhirPathFunction, FunctionCall
from clerkship.formats.fhir.evaluation.quantity import CALENDAR_UNITS, Quantity

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
    return str(value) if isinstance(value, str | int | DateTimeValue | Quantity) else None


def _to_date_time(kind: DateTimeKind) -> Callable[[Any], DateTimeValue | None]:
    def convert(value: Any) -> DateTimeValue | None:
        if isinstance(value, DateTimeValue):
            return value.as_kind(kind) if (value.kind == "Time") == (kind == "Time") else None
        return DateTimeValue.parse(kind, value) if isinstance(value, str) else None

    return convert


def _to_quantity(value: Any) -> Quantity | None:
    if isinstance(value, Quantity):
        return value
    if isinstance(value, int | Decimal):
        return Quantity(Decimal(value), "1")
    return Quantity.parse(value) if isinstance(value, str) else None


def _convert_to_quantity(call: FunctionCall) -> Quantity | None:
    """Convert to a quantity, and to a unit if one is given."""
    quantity, unit = _to_quantity(call.value()), call.text(0)
    if quantity is None or unit is None:
        return quantity
    target = Quantity(Decimal(1), unit.strip("'"), is_calendar=unit in CALENDAR_UNITS)
    converted = target.convert(quantity)
    return None if converted is None else Quantity(converted, target.unit, target.is_calendar)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "Boolean": _to_boolean,
    "Integer": _to_integer,
    "Decimal": _to_decimal,
    "String": to_text,
    "Date": _to_date_time("Date"),
    "DateTime": _to_date_time("DateTime"),
    "Time": _to_date_time("Time"),
}


def _build_conversion(convert: Callable[[Any], Any]) -> FhirPathFunction:
    def evaluate(call: FunctionCall) -> Any:
        value = call.value()
        return None if value is None else convert(value)

    return FhirPathFunction(evaluate)


def _build_conversion_test(convert: Callable[[Any], Any]) -> FhirPathFunction:
    return _build_conversion(lambda value: convert(value) is not None)


def _build_clock_function(read: Callable[[DateTimeValue], DateTimeValue]) -> FhirPathFunction:
    def evaluate(call: FunctionCall) -> DateTimeValue:
        if call.now is None:
            raise EvaluationError(f"{call.label} has no clock here")
        return read(DateTimeValue.at(call.now))

    return FhirPathFunction(evaluate)


CONVERSION_FUNCTIONS = {
    **{f"to{name}": _build_conversion(convert) for name, convert in _CONVERSIONS.items()},
    **{f"convertsTo{name}": _build_conversion_test(convert) for name, convert in _CONVERSIONS.items()},
    "toQuantity": FhirPathFunction(_convert_to_quantity, (0, 1)),
    "convertsToQuantity": FhirPathFunction(
        lambda call: _convert_to_quantity(call) is not None if call.input else None, (0, 1)
    ),
    "now": _build_clock_function(lambda now: now),
    "today": _build_clock_function(lambda now: now.as_kind("Date")),
    "timeOfDay": _build_clock_function(lambda now: DateTimeValue("Time", now.parts[3:], now.fraction)),
}
CLOCK_FUNCTIONS = frozenset({"now", "today", "timeOfDay"})
