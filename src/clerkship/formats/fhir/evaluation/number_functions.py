"""Functions on numbers, and on how exact a value is (FHIRPath 2.0, 5.7; boundaries and precision of FHIRPath 3.0)."""

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from clerkship.formats.fhir.evaluation.collection import EvaluationError, is_number
from clerkship.formats.fhir.evaluation.date_time import DateTimeValue
from clerkship.formats.fhir.evaluation.function_call import FhirPathFunction, FunctionCall
from clerkship.formats.fhir.evaluation.quantity import Quantity

MAX_DECIMALS = 31
_DEFAULT_DIGITS = {"Date": 8, "DateTime": 17, "Time": 9}


def _get_number(call: FunctionCall) -> Decimal | None:
    value = call.value()
    if value is not None and not is_number(value):
        raise EvaluationError(f"{call.label} expects a number, not `{value}`")
    return None if value is None else Decimal(value)


def _on_number(evaluate: Callable[[Decimal], Any]) -> FhirPathFunction:
    def checked(call: FunctionCall) -> Any:
        value = _get_number(call)
        return None if value is None else evaluate(value)

    return FhirPathFunction(checked)


def _to_integer(rounding: str) -> FhirPathFunction:
    return _on_number(lambda value: int(value.to_integral_value(rounding)))


def _abs(call: FunctionCall) -> Any:
    value = call.value()
    if isinstance(value, Quantity):
        return Quantity(abs(value.value), value.unit, value.is_calendar)
    _get_number(call)
    return None if value is None else abs(value)


def _round(call: FunctionCall) -> Decimal | None:
    value, places = _get_number(call), call.integer(0) or 0
    if places < 0:
        raise EvaluationError("`round()` expects a precision of 0 or more")
    return None if value is None else value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def _power(call: FunctionCall) -> int | Decimal | None:
    value, exponent = call.value(), call.number(0)
    base = _get_number(call)
    if base is None or exponent is None:
        return None
    try:
        result = base ** Decimal(exponent)
    except InvalidOperation:
        return None
    is_whole = isinstance(value, int) and isinstance(exponent, int) and exponent >= 0 and result.adjusted() < 28
    return int(result) if is_whole else result


def _log(call: FunctionCall) -> Decimal | None:
    value, base = _get_number(call), call.number(0)
    if value is None or base is None or value <= 0 or base <= 0 or base == 1:
        return None
    return (value.ln() / Decimal(base).ln()).quantize(Decimal("1e-15")).normalize()


def _count_decimals(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _precision(call: FunctionCall) -> int | None:
    value = call.value()
    if isinstance(value, DateTimeValue):
        return value.precision
    number = value.value if isinstance(value, Quantity) else _get_number(call)
    return None if number is None else _count_decimals(number)


def _boundary(*, high: bool) -> FhirPathFunction:
    def evaluate(call: FunctionCall) -> Any:
        value, digits = call.value(), call.integer(0)
        if isinstance(value, DateTimeValue):
            return value.get_boundary(_DEFAULT_DIGITS[value.kind] if digits is None else digits, high=high)
        if isinstance(value, Quantity):
            bound = _compute_boundary(value.value, digits, high=high)
            return None if bound is None else Quantity(bound, value.unit, value.is_calendar)
        number = _get_number(call)
        return None if number is None else _compute_boundary(number, digits, high=high)

    return FhirPathFunction(evaluate, (0, 1))


def _compute_boundary(value: Decimal, digits: int | None, *, high: bool) -> Decimal | None:
    """Return the least or greatest number that is written like this one when it is rounded."""
    digits = 8 if digits is None else digits
    if not 0 <= digits <= MAX_DECIMALS:
        return None
    half = Decimal(5).scaleb(-_count_decimals(value) - 1)
    bound = value + half if high else value - half
    try:
        return bound.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING if high else ROUND_FLOOR)
    except InvalidOperation:
        return None


def _comparable(call: FunctionCall) -> bool | None:
    one, other = call.value(), call.argument(0)
    if not isinstance(one, Quantity) or not isinstance(other, Quantity):
        return None
    return one.to_common_unit(other) is not None


NUMBER_FUNCTIONS = {
    "abs": FhirPathFunction(_abs),
    "ceiling": _to_integer(ROUND_CEILING),
    "floor": _to_integer(ROUND_FLOOR),
    "truncate": _to_integer(ROUND_DOWN),
    "round": FhirPathFunction(_round, (0, 1)),
    "exp": _on_number(Decimal.exp),
    "ln": _on_number(lambda value: value.ln() if value > 0 else None),
    "log": FhirPathFunction(_log, (1,)),
    "power": FhirPathFunction(_power, (1,)),
    "sqrt": _on_number(lambda value: value.sqrt() if value >= 0 else None),
    "precision": FhirPathFunction(_precision),
    "lowBoundary": _boundary(high=False),
    "highBoundary": _boundary(high=True),
    "comparable": FhirPathFunction(_comparable, (1,)),
}
