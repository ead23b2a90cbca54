"""Functions on numbers, and on how exact a value is (FHIRPath 2.0, 5.7; boundaries and precision of FHIRPath 3.0)."""

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from clerkship.fhir.evaluation.call import Call, Function
from clerkship.fhir.evaluation.collection import PathError, is_number
from clerkship.fhir.evaluation.moment import Moment
from clerkship.fhir.evaluation.quantity import Quantity

MAX_DECIMALS = 31
_DEFAULT_DIGITS = {"Date": 8, "DateTime": 17, "Time": 9}


def _number(call: Call) -> Decimal | None:
    value = call.value()
    if value is not None and not is_number(value):
        raise PathError(f"{call.where} expects a number, not `{value}`")
    return None if value is None else Decimal(value)


def _on_number(evaluate: Callable[[Decimal], Any]) -> Function:
    def checked(call: Call) -> Any:
        value = _number(call)
        return None if value is None else evaluate(value)

    return Function(checked)


def _to_integer(rounding: str) -> Function:
    return _on_number(lambda value: int(value.to_integral_value(rounding)))


def _abs(call: Call) -> Any:
    value = call.value()
    if isinstance(value, Quantity):
        return Quantity(abs(value.value), value.unit, value.is_calendar)
    _number(call)
    return None if value is None else abs(value)


def _round(call: Call) -> Decimal | None:
    value, places = _number(call), call.integer(0) or 0
    if places < 0:
        raise PathError("`round()` expects a precision of 0 or more")
    return None if value is None else value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


def _power(call: Call) -> int | Decimal | None:
    value, exponent = call.value(), call.number(0)
    base = _number(call)
    if base is None or exponent is None:
        return None
    try:
        result = base ** Decimal(exponent)
    except InvalidOperation:
        return None
    is_whole = isinstance(value, int) and isinstance(exponent, int) and exponent >= 0 and result.adjusted() < 28
    return int(result) if is_whole else result


def _log(call: Call) -> Decimal | None:
    value, base = _number(call), call.number(0)
    if value is None or base is None or value <= 0 or base <= 0 or base == 1:
        return None
    return (value.ln() / Decimal(base).ln()).quantize(Decimal("1e-15")).normalize()


def _decimals(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _precision(call: Call) -> int | None:
    value = call.value()
    if isinstance(value, Moment):
        return value.precision
    number = value.value if isinstance(value, Quantity) else _number(call)
    return None if number is None else _decimals(number)


def _boundary(*, high: bool) -> Function:
    def evaluate(call: Call) -> Any:
        value, digits = call.value(), call.integer(0)
        if isinstance(value, Moment):
            return value.bound(_DEFAULT_DIGITS[value.kind] if digits is None else digits, high=high)
        if isinstance(value, Quantity):
            bound = _bound(value.value, digits, high=high)
            return None if bound is None else Quantity(bound, value.unit, value.is_calendar)
        number = _number(call)
        return None if number is None else _bound(number, digits, high=high)

    return Function(evaluate, (0, 1))


def _bound(value: Decimal, digits: int | None, *, high: bool) -> Decimal | None:
    """Return the least or greatest number that is written like this one when it is rounded."""
    digits = 8 if digits is None else digits
    if not 0 <= digits <= MAX_DECIMALS:
        return None
    half = Decimal(5).scaleb(-_decimals(value) - 1)
    bound = value + half if high else value - half
    try:
        return bound.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING if high else ROUND_FLOOR)
    except InvalidOperation:
        return None


def _comparable(call: Call) -> bool | None:
    one, other = call.value(), call.argument(0)
    if not isinstance(one, Quantity) or not isinstance(other, Quantity):
        return None
    return one.in_common(other) is not None


NUMBER_FUNCTIONS = {
    "abs": Function(_abs),
    "ceiling": _to_integer(ROUND_CEILING),
    "floor": _to_integer(ROUND_FLOOR),
    "truncate": _to_integer(ROUND_DOWN),
    "round": Function(_round, (0, 1)),
    "exp": _on_number(Decimal.exp),
    "ln": _on_number(lambda value: value.ln() if value > 0 else None),
    "log": Function(_log, (1,)),
    "power": Function(_power, (1,)),
    "sqrt": _on_number(lambda value: value.sqrt() if value >= 0 else None),
    "precision": Function(_precision),
    "lowBoundary": _boundary(high=False),
    "highBoundary": _boundary(high=True),
    "comparable": Function(_comparable, (1,)),
}
