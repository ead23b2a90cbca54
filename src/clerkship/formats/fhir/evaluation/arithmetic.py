"""FHIRPath's operators for numbers, text, quantities and dates (FHIRPath 2.0, 6.6)."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from clerkship.formats.fhir.evaluation.collection import EvaluationError, is_number
from clerkship.formats.fhir.evaluation.compare import to_quantity
from clerkship.formats.fhir.evaluation.date_time import DateTimeValue
from clerkship.formats.fhir.evaluation.quantity import Quantity


def add(one: Any, other: Any) -> Any:
    """Add numbers or quantities, join texts, or move a date by a duration."""
    if isinstance(one, str) and isinstance(other, str):
        return one + other
    return _add_signed(one, other, "+", 1)


def subtract(one: Any, other: Any) -> Any:
    """Subtract numbers or quantities, or move a date back by a duration."""
    return _add_signed(one, other, "-", -1)


def _add_signed(one: Any, other: Any, sign: str, direction: int) -> Any:
    if is_number(one) and is_number(other):
        return one + direction * other
    if isinstance(one, DateTimeValue) and isinstance(other, Quantity):
        return _move_date(one, other, direction)
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        converted = one.convert(other)
        return None if converted is None else Quantity(one.value + direction * converted, one.unit, one.is_calendar)
    raise _build_type_error(one, sign, other)


def _move_date(moment: DateTimeValue, duration: Quantity, direction: int) -> DateTimeValue:
    if duration.duration is None:
        raise EvaluationError(f"a date cannot be moved by {duration}; write a calendar duration, such as 1 month")
    try:
        return moment.add(direction * int(duration.value), duration.duration)
    except (OverflowError, ValueError):
        raise EvaluationError(f"{moment} moved by {duration} is not a date") from None


def multiply(one: Any, other: Any) -> Any:
    """Multiply numbers or quantities."""
    if is_number(one) and is_number(other):
        return one * other
    return _combine_quantities(one, "*", other, Quantity.multiply)


def divide(one: Any, other: Any) -> Any:
    """Divide numbers or quantities; None for a division by zero."""
    if is_number(one) and is_number(other):
        return Decimal(one) / Decimal(other) if other else None
    return (
        _combine_quantities(one, "/", other, Quantity.divide)
        if not isinstance(other, Quantity) or other.value
        else None
    )


def _combine_quantities(one: Any, sign: str, other: Any, combine: Callable[[Quantity, Quantity], Quantity]) -> Quantity:
    left, right = to_quantity(one), to_quantity(other)
    if left is None or right is None:
        raise _build_type_error(one, sign, other)
    return combine(left, right)


def divide_to_integer(one: Any, other: Any) -> int | None:
    """Divide and cut off the decimals (`div`); None for a division by zero."""
    _expect_numbers(one, "div", other)
    return int(Decimal(one) // Decimal(other)) if other else None


def compute_remainder(one: Any, other: Any) -> int | Decimal | None:
    """Return what `div` leaves (`mod`); None for a division by zero."""
    _expect_numbers(one, "mod", other)
    if not other:
        return None
    rest = Decimal(one) % Decimal(other)
    return int(rest) if isinstance(one, int) and isinstance(other, int) else rest


def _expect_numbers(one: Any, sign: str, other: Any) -> None:
    if not (is_number(one) and is_number(other)):
        raise _build_type_error(one, sign, other)


def _build_type_error(one: Any, sign: str, other: Any) -> EvaluationError:
    return EvaluationError(f"cannot evaluate `{one} {sign} {other}`: the types do not fit")
