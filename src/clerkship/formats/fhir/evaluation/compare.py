"""Equality, equivalence and order of values (FHIRPath 2.0, 6.1 and 6.2)."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from clerkship.formats.fhir.evaluation.collection import (
    Collection,
    EvaluationError,
    Item,
    Node,
    is_number,
    to_decimal,
    to_system_value,
)
from clerkship.formats.fhir.evaluation.date_time import DateTimeValue
from clerkship.formats.fhir.evaluation.quantity import Quantity


def are_equal(left: Collection, right: Collection) -> bool | None:
    """Compare two collections in order; None if that is not known."""
    if not left or not right:
        return None
    if len(left) != len(right):
        return False
    results = [items_equal(one, other) for one, other in zip(left, right, strict=True)]
    return False if False in results else None if None in results else True


def items_equal(one: Item, other: Item) -> bool | None:
    """Compare two items."""
    if isinstance(one, Node) and isinstance(other, Node) and one.value is None and other.value is None:
        return one.extra == other.extra
    return values_equal(to_system_value(one), to_system_value(other))


def values_equal(one: Any, other: Any) -> bool | None:
    """Compare two System values, or two JSON objects."""
    if isinstance(one, DateTimeValue) and isinstance(other, DateTimeValue):
        if (one.kind == "Time") != (other.kind == "Time"):
            return False
        order = one.compare(other)
        return None if order is None else order == 0
    if isinstance(one, Quantity) or isinstance(other, Quantity):
        return _quantities_equal(to_quantity(one), to_quantity(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(values_equal(one[key], other[key]) is True for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(values_equal(*pair) is True for pair in zip(one, other, strict=True))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(to_decimal(one) == to_decimal(other))


def to_quantity(value: Any) -> Quantity | None:
    """Convert a number to a quantity of unit 1; None for other types."""
    if is_number(value):
        return Quantity(Decimal(value), "1")
    return value if isinstance(value, Quantity) else None


def _quantities_equal(one: Quantity | None, other: Quantity | None) -> bool | None:
    if one is None or other is None:
        return False
    order = one.compare(other)
    if order is None:
        return False if one.is_known_to_differ_in_kind(other) else None
    return order == 0


def are_equivalent(left: Collection, right: Collection) -> bool:
    """Compare two collections in any order, less strictly than `are_equal`; never unknown."""
    return _same_items([to_system_value(item) for item in left], [to_system_value(item) for item in right])


def _same_items(left: Sequence[Any], right: Sequence[Any]) -> bool:
    rest = list(right)
    for value in left:
        place = next((place for place, other in enumerate(rest) if values_equivalent(value, other)), None)
        if place is None:
            return False
        del rest[place]
    return not rest


def values_equivalent(one: Any, other: Any) -> bool:
    """Compare two values less strictly: text without case, numbers to the lesser precision."""
    one, other = to_decimal(one), to_decimal(other)
    if isinstance(one, str) and isinstance(other, str):
        return one.casefold().split() == other.casefold().split()
    if is_number(one) and is_number(other):
        return _numbers_equivalent(Decimal(one), Decimal(other))
    if isinstance(one, Quantity) or isinstance(other, Quantity):
        quantities = to_quantity(one), to_quantity(other)
        pair = quantities[0].to_common_unit(quantities[1], definite=True) if quantities[0] and quantities[1] else None
        return pair is not None and _numbers_equivalent(*pair)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        keys = one.keys() - {"id"}
        return keys == other.keys() - {"id"} and all(values_equivalent(one[key], other[key]) for key in keys)
    if isinstance(one, list) and isinstance(other, list):
        return _same_items(one, other)
    return values_equal(one, other) is True


def _numbers_equivalent(one: Decimal, other: Decimal) -> bool:
    places = min(_count_decimals(one), _count_decimals(other))
    step = Decimal(1).scaleb(-places)
    try:
        return one.quantize(step, ROUND_HALF_UP) == other.quantize(step, ROUND_HALF_UP)
    except InvalidOperation:  # more digits than the decimal context has
        return one == other


def _count_decimals(value: Decimal) -> int:
    """Count the decimals of a number, without zeros at the end."""
    exponent = value.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def compare_values(one: Any, other: Any) -> int | None:
    """Return -1, 0 or 1 for two System values; None if unknown; raises EvaluationError if they have no order."""
    if isinstance(one, Quantity) or isinstance(other, Quantity):
        quantities = to_quantity(one), to_quantity(other)
        if quantities[0] and quantities[1]:
            return quantities[0].compare(quantities[1])
    if (
        isinstance(one, DateTimeValue)
        and isinstance(other, DateTimeValue)
        and (one.kind == "Time") == (other.kind == "Time")
    ):
        return one.compare(other)
    if (is_number(one) and is_number(other)) or (isinstance(one, str) and isinstance(other, str)):
        return int(one > other) - int(one < other)
    raise EvaluationError(f"cannot compare {_quote(one)} with {_quote(other)}")


def _quote(value: Any) -> str:
    return "an element that has elements of its own" if isinstance(value, Mapping) else f"`{value}`"


def contains(collection: Collection, item: Item) -> bool:
    """Return whether an item is in a collection."""
    return any(items_equal(item, other) is True for other in collection)


class DistinctItems:
    """The items found so far. Texts, numbers and booleans are looked up by hash instead of compared with each item."""

    def __init__(self) -> None:
        self._simple: set[tuple[bool, Any]] = set()
        self._others: Collection = []

    def add(self, item: Item) -> bool:
        """Add an item; return whether it is new."""
        value = to_system_value(item)
        if isinstance(value, str | int | Decimal):
            key = (isinstance(value, bool), value)
            is_new = key not in self._simple
            self._simple.add(key)
            return is_new
        if contains(self._others, item):
            return False
        self._others.append(item)
        return True


def remove_duplicates(items: Iterable[Item]) -> Collection:
    """Return the items without duplicates, in order."""
    seen = DistinctItems()
    return [item for item in items if seen.add(item)]
