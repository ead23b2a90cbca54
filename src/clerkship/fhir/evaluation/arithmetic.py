"""FHIRPath's operators for numbers, text, quantities and dates (FHIRPath 2.0, 6.6)."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from clerkship.fhir.evaluation.collection import PathError, is_number
from clerkship.fhir.evaluation.compare import as_quantity
from clerkship.fhir.evaluation.moment import Moment
from clerkship.fhir.evaluation.quantity import Quantity


def add(one: Any, other: Any) -> Any:
    """Add numbers or quantities, join texts, or move a date by a duration."""
    if isinstance(one, str) and isinstance(other, str):
        return one + other
    return _sum(one, other, "+", 1)


def subtract(one: Any, other: Any) -> Any:
    """Subtract numbers or quantities, or move a date back by a duration."""
    return _sum(one, other, "-", -1)


def _sum(one: Any, other: Any, sign: str, direction: int) -> Any:
    if is_number(one) and is_number(other):
        return one + direction * other
    if isinstance(one, Moment) and isinstance(other, Quantity):
        return _moved(one, other, direction)
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        converted = one.converted(other)
        return None if converted is None else Quantity(one.value + direction * converted, one.unit, one.is_calendar)
    raise _impossible(one, sign, other)


def _moved(moment: Moment, duration: Quantity, direction: int) -> Moment:
    if duration.duration is None:
        raise PathError(f"a date cannot be moved by {duration}; write a calendar duration, such as 1 month")
    try:
        return moment.plus(direction * int(duration.value), duration.duration)
    except (OverflowError, ValueError):
        raise PathError(f"{moment} moved by {duration} is not a date") from None


def multiply(one: Any, other: Any) -> Any:
    """Multiply numbers or quantities."""
    if is_number(one) and is_number(other):
        return one * other
    return _quantities(one, "*", other, Quantity.times)


def divide(one: Any, other: Any) -> Any:
    """Divide numbers or quantities; None for a division by zero."""
    if is_number(one) and is_number(other):
        return Decimal(one) / Decimal(other) if other else None
    return _quantities(one, "/", other, Quantity.over) if not isinstance(other, Quantity) or other.value else None


def _quantities(one: Any, sign: str, other: Any, combine: Callable[[Quantity, Quantity], Quantity]) -> Quantity:
    left, right = as_quantity(one), as_quantity(other)
    if left is None or right is None:
        raise _impossible(one, sign, other)
    return combine(left, right)


def whole_quotient(one: Any, other: Any) -> int | None:
    """Divide and cut off the decimals (`div`); None for a division by zero."""
    _expect_numbers(one, "div", other)
    return int(Decimal(one) // Decimal(other)) if other else None


def remainder(one: Any, other: Any) -> int | Decimal | None:
    """Return what `div` leaves (`mod`); None for a division by zero."""
    _expect_numbers(one, "mod", other)
    if not other:
        return None
    rest = Decimal(one) % Decimal(other)
    return int(rest) if isinstance(one, int) and isinstance(other, int) else rest


def _expect_numbers(one: Any, sign: str, other: Any) -> None:
    if not (is_number(one) and is_number(other)):
        raise _impossible(one, sign, other)


def _impossible(one: Any, sign: str, other: Any) -> PathError:
    return PathError(f"cannot evaluate `{one} {sign} {other}`: the types do not fit")
