"""Functions on collections: existence, filtering, subsetting, combining, aggregates, navigation (FHIRPath 2.0, 5)."""

from collections.abc import Callable
from decimal import Decimal
from functools import cmp_to_key, reduce
from typing import Any

from clerkship.formats.fhir.evaluation.arithmetic import add, divide
from clerkship.formats.fhir.evaluation.collection import (
    Collection,
    EvaluationError,
    Item,
    Node,
    get_single,
    to_boolean,
    to_system_value,
)
from clerkship.formats.fhir.evaluation.compare import DistinctItems, compare_values, contains, remove_duplicates
from clerkship.formats.fhir.evaluation.function_call import FhirPathFunction, FunctionArgument, FunctionCall

MAX_ITEMS = 10_000
"""The maximum number of items of `repeat()`."""


def _where(call: FunctionCall) -> Collection:
    criteria = call.arguments[0]
    return [
        item for index, item in enumerate(call.input) if to_boolean(criteria.evaluate_on([item], index), call.label)
    ]


def _exists(call: FunctionCall) -> bool:
    return bool(_where(call) if call.arguments else call.input)


def _all(call: FunctionCall) -> bool:
    criteria = call.arguments[0]
    return all(to_boolean(criteria.evaluate_on([item], index), call.label) for index, item in enumerate(call.input))


def _select(call: FunctionCall) -> Collection:
    return [result for index, item in enumerate(call.input) for result in call.arguments[0].evaluate_on([item], index)]


def _repeat(call: FunctionCall) -> Collection:
    items, seen = list[Item](), DistinctItems()
    level = call.input
    while level:
        level = [result for item in level for result in call.arguments[0].evaluate_on([item]) if seen.add(result)]
        items += level
        if len(items) > MAX_ITEMS:
            raise EvaluationError(f"`repeat()` found more than {MAX_ITEMS} items")
    return items


def _booleans(call: FunctionCall) -> list[bool]:
    values = [to_system_value(item) for item in call.input]
    if not all(isinstance(value, bool) for value in values):
        raise EvaluationError(f"{call.label} expects true and false alone")
    return values


def _not(call: FunctionCall) -> bool | None:
    value = to_boolean(call.input, call.label)
    return None if value is None else not value


def _is_subset(part: Collection, whole: Collection) -> bool:
    return all(contains(whole, item) for item in part)


def _single(call: FunctionCall) -> Collection:
    get_single(call.input, call.label)
    return call.input


def _skip(call: FunctionCall) -> Collection:
    return call.input[max(0, call.integer(0) or 0) :]


def _take(call: FunctionCall) -> Collection:
    return call.input[: max(0, call.integer(0) or 0)]


def _intersect(call: FunctionCall) -> Collection:
    other = call.arguments[0].evaluate()
    return remove_duplicates(item for item in call.input if contains(other, item))


def _exclude(call: FunctionCall) -> Collection:
    other = call.arguments[0].evaluate()
    return [item for item in call.input if not contains(other, item)]


def _iif(call: FunctionCall) -> Collection:
    if len(call.input) > 1:
        raise EvaluationError("`iif()` expects at most one item")
    criterion = get_single(call.arguments[0].evaluate_on(call.input), "the criterion of `iif()`")
    if criterion is not None and not isinstance(criterion, bool):
        raise EvaluationError(f"the criterion of `iif()` is {criterion!r}, which is not true or false")
    if criterion:
        return call.arguments[1].evaluate_on(call.input)
    return call.arguments[2].evaluate_on(call.input) if len(call.arguments) > 2 else []


def _coalesce(call: FunctionCall) -> Collection:
    collections = (argument.evaluate_on(call.input) for argument in call.arguments)
    return next((collection for collection in collections if collection), [])


def _aggregate(call: FunctionCall) -> Collection:
    total = call.arguments[1].evaluate() if len(call.arguments) > 1 else []
    for index, item in enumerate(call.input):
        total = call.arguments[0].evaluate_on([item], index, total)
    return total


def _sum(call: FunctionCall) -> Any:
    return reduce(add, (to_system_value(item) for item in call.input)) if call.input else 0


def _average(call: FunctionCall) -> Any:
    return divide(_sum(call), Decimal(len(call.input))) if call.input else None


def _extreme(direction: int) -> Callable[[FunctionCall], Any]:
    def find(call: FunctionCall) -> Any:
        values = [to_system_value(item) for item in call.input]
        return (
            reduce(lambda one, other: other if compare_values(one, other) == direction else one, values)
            if values
            else None
        )

    return find


def _sort(call: FunctionCall) -> Collection:
    def compare(one: Item, other: Item) -> int:
        for argument in call.arguments:
            if order := _sort_order(argument, one, other):
                return order
        return 0 if call.arguments else compare_values(to_system_value(one), to_system_value(other)) or 0

    return sorted(call.input, key=cmp_to_key(compare))


def _sort_order(argument: FunctionArgument, one: Item, other: Item) -> int:
    """Compare two items by one key; a minus before it means descending. An empty key comes first either way."""
    tree, direction = argument.tree, 1
    if tree["type"] == "PolarityExpression":
        direction = -1 if tree["terminalNodeText"][0] == "-" else 1
        argument = FunctionArgument(tree["children"][0], argument.scope, argument.run)
    keys = [get_single(argument.evaluate_on([item]), "a key of `sort()`") for item in (one, other)]
    if None in keys:
        return int(keys[0] is not None) - int(keys[1] is not None)
    return direction * (compare_values(*keys) or 0)


def _children(call: FunctionCall) -> Collection:
    return [child for item in call.input if isinstance(item, Node) for child in item.all_children()]


def _descendants(call: FunctionCall) -> Collection:
    items: Collection = []
    level = _children(call)
    while level:
        items += level
        level = _children(FunctionCall("children", level))
    return items


def _extension(call: FunctionCall) -> Collection:
    url = call.text(0)
    nodes = (item for item in call.input if isinstance(item, Node))
    extensions = (extension for node in nodes for extension in node.children("extension"))
    return [
        extension for extension in extensions if isinstance(extension.value, dict) and extension.value.get("url") == url
    ]


def _has_value(call: FunctionCall) -> bool:
    value = call.input[0] if len(call.input) == 1 else None
    return value is not None and (not isinstance(value, Node) or not isinstance(value.value, dict | None))


COLLECTION_FUNCTIONS = {
    "empty": FhirPathFunction(lambda call: not call.input),
    "exists": FhirPathFunction(_exists, (0, 1)),
    "all": FhirPathFunction(_all, (1,)),
    "allTrue": FhirPathFunction(lambda call: all(_booleans(call))),
    "anyTrue": FhirPathFunction(lambda call: any(_booleans(call))),
    "allFalse": FhirPathFunction(lambda call: not any(_booleans(call))),
    "anyFalse": FhirPathFunction(lambda call: not all(_booleans(call))),
    "not": FhirPathFunction(_not),
    "subsetOf": FhirPathFunction(lambda call: _is_subset(call.input, call.arguments[0].evaluate()), (1,)),
    "supersetOf": FhirPathFunction(lambda call: _is_subset(call.arguments[0].evaluate(), call.input), (1,)),
    "count": FhirPathFunction(lambda call: len(call.input)),
    "distinct": FhirPathFunction(lambda call: remove_duplicates(call.input)),
    "isDistinct": FhirPathFunction(lambda call: len(remove_duplicates(call.input)) == len(call.input)),
    "where": FhirPathFunction(_where, (1,)),
    "select": FhirPathFunction(_select, (1,)),
    "repeat": FhirPathFunction(_repeat, (1,)),
    "single": FhirPathFunction(_single),
    "first": FhirPathFunction(lambda call: call.input[:1]),
    "last": FhirPathFunction(lambda call: call.input[-1:]),
    "tail": FhirPathFunction(lambda call: call.input[1:]),
    "skip": FhirPathFunction(_skip, (1,)),
    "take": FhirPathFunction(_take, (1,)),
    "intersect": FhirPathFunction(_intersect, (1,)),
    "exclude": FhirPathFunction(_exclude, (1,)),
    "union": FhirPathFunction(lambda call: remove_duplicates([*call.input, *call.arguments[0].evaluate()]), (1,)),
    "combine": FhirPathFunction(lambda call: [*call.input, *call.arguments[0].evaluate()], (1,)),
    "coalesce": FhirPathFunction(_coalesce, tuple(range(1, 11))),
    "iif": FhirPathFunction(_iif, (2, 3)),
    "aggregate": FhirPathFunction(_aggregate, (1, 2)),
    "sum": FhirPathFunction(_sum),
    "avg": FhirPathFunction(_average),
    "min": FhirPathFunction(_extreme(1)),
    "max": FhirPathFunction(_extreme(-1)),
    "sort": FhirPathFunction(_sort, tuple(range(6))),
    "children": FhirPathFunction(_children),
    "descendants": FhirPathFunction(_descendants),
    "extension": FhirPathFunction(_extension, (1,)),
    "hasValue": FhirPathFunction(_has_value),
    "getValue": FhirPathFunction(lambda call: to_system_value(call.input[0]) if _has_value(call) else None),
}
