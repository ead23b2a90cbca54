"""Functions on collections: existence, filtering, subsetting, combining, aggregates, navigation (FHIRPath 2.0, 5)."""

from collections.abc import Callable
from decimal import Decimal
from functools import cmp_to_key, reduce
from typing import Any

from clerkship.fhir.evaluation.arithmetic import add, divide
from clerkship.fhir.evaluation.call import Argument, Call, Function
from clerkship.fhir.evaluation.collection import Collection, Item, Node, PathError, single, system_value, truth
from clerkship.fhir.evaluation.compare import Seen, contains, distinct, order

MAX_ITEMS = 10_000
"""How many items `repeat()` may find."""


def _where(call: Call) -> Collection:
    criteria = call.arguments[0]
    return [item for index, item in enumerate(call.input) if truth(criteria.on([item], index), call.where)]


def _exists(call: Call) -> bool:
    return bool(_where(call) if call.arguments else call.input)


def _all(call: Call) -> bool:
    criteria = call.arguments[0]
    return all(truth(criteria.on([item], index), call.where) for index, item in enumerate(call.input))


def _select(call: Call) -> Collection:
    return [found for index, item in enumerate(call.input) for found in call.arguments[0].on([item], index)]


def _repeat(call: Call) -> Collection:
    kept, seen = list[Item](), Seen()
    level = call.input
    while level:
        level = [found for item in level for found in call.arguments[0].on([item]) if seen.add(found)]
        kept += level
        if len(kept) > MAX_ITEMS:
            raise PathError(f"`repeat()` found more than {MAX_ITEMS} items")
    return kept


def _booleans(call: Call) -> list[bool]:
    values = [system_value(item) for item in call.input]
    if not all(isinstance(value, bool) for value in values):
        raise PathError(f"{call.where} expects true and false alone")
    return values


def _not(call: Call) -> bool | None:
    value = truth(call.input, call.where)
    return None if value is None else not value


def _is_subset(part: Collection, whole: Collection) -> bool:
    return all(contains(whole, item) for item in part)


def _single(call: Call) -> Collection:
    single(call.input, call.where)
    return call.input


def _skip(call: Call) -> Collection:
    return call.input[max(0, call.integer(0) or 0) :]


def _take(call: Call) -> Collection:
    return call.input[: max(0, call.integer(0) or 0)]


def _intersect(call: Call) -> Collection:
    other = call.arguments[0].collection()
    return distinct(item for item in call.input if contains(other, item))


def _exclude(call: Call) -> Collection:
    other = call.arguments[0].collection()
    return [item for item in call.input if not contains(other, item)]


def _iif(call: Call) -> Collection:
    if len(call.input) > 1:
        raise PathError("`iif()` expects at most one item")
    criterion = single(call.arguments[0].on(call.input), "the criterion of `iif()`")
    if criterion is not None and not isinstance(criterion, bool):
        raise PathError(f"the criterion of `iif()` is {criterion!r}, which is not true or false")
    if criterion:
        return call.arguments[1].on(call.input)
    return call.arguments[2].on(call.input) if len(call.arguments) > 2 else []


def _coalesce(call: Call) -> Collection:
    found = (argument.on(call.input) for argument in call.arguments)
    return next((collection for collection in found if collection), [])


def _aggregate(call: Call) -> Collection:
    total = call.arguments[1].collection() if len(call.arguments) > 1 else []
    for index, item in enumerate(call.input):
        total = call.arguments[0].on([item], index, total)
    return total


def _sum(call: Call) -> Any:
    return reduce(add, (system_value(item) for item in call.input)) if call.input else 0


def _average(call: Call) -> Any:
    return divide(_sum(call), Decimal(len(call.input))) if call.input else None


def _extreme(direction: int) -> Callable[[Call], Any]:
    def find(call: Call) -> Any:
        values = [system_value(item) for item in call.input]
        return reduce(lambda one, other: other if order(one, other) == direction else one, values) if values else None

    return find


def _sort(call: Call) -> Collection:
    def compare(one: Item, other: Item) -> int:
        for argument in call.arguments:
            if found := _sort_order(argument, one, other):
                return found
        return 0 if call.arguments else order(system_value(one), system_value(other)) or 0

    return sorted(call.input, key=cmp_to_key(compare))


def _sort_order(argument: Argument, one: Item, other: Item) -> int:
    """Compare two items by one key; a minus before it means descending. An empty key comes first either way."""
    tree, direction = argument.tree, 1
    if tree["type"] == "PolarityExpression":
        direction = -1 if tree["terminalNodeText"][0] == "-" else 1
        argument = Argument(tree["children"][0], argument.scope, argument.run)
    keys = [single(argument.on([item]), "a key of `sort()`") for item in (one, other)]
    if None in keys:
        return int(keys[0] is not None) - int(keys[1] is not None)
    return direction * (order(*keys) or 0)


def _children(call: Call) -> Collection:
    return [child for item in call.input if isinstance(item, Node) for child in item.all_children()]


def _descendants(call: Call) -> Collection:
    kept: Collection = []
    level = _children(call)
    while level:
        kept += level
        level = _children(Call("children", level))
    return kept


def _extension(call: Call) -> Collection:
    url = call.text(0)
    nodes = (item for item in call.input if isinstance(item, Node))
    found = (extension for node in nodes for extension in node.children("extension"))
    return [extension for extension in found if isinstance(extension.value, dict) and extension.value.get("url") == url]


def _has_value(call: Call) -> bool:
    value = call.input[0] if len(call.input) == 1 else None
    return value is not None and (not isinstance(value, Node) or not isinstance(value.value, dict | None))


COLLECTION_FUNCTIONS = {
    "empty": Function(lambda call: not call.input),
    "exists": Function(_exists, (0, 1)),
    "all": Function(_all, (1,)),
    "allTrue": Function(lambda call: all(_booleans(call))),
    "anyTrue": Function(lambda call: any(_booleans(call))),
    "allFalse": Function(lambda call: not any(_booleans(call))),
    "anyFalse": Function(lambda call: not all(_booleans(call))),
    "not": Function(_not),
    "subsetOf": Function(lambda call: _is_subset(call.input, call.arguments[0].collection()), (1,)),
    "supersetOf": Function(lambda call: _is_subset(call.arguments[0].collection(), call.input), (1,)),
    "count": Function(lambda call: len(call.input)),
    "distinct": Function(lambda call: distinct(call.input)),
    "isDistinct": Function(lambda call: len(distinct(call.input)) == len(call.input)),
    "where": Function(_where, (1,)),
    "select": Function(_select, (1,)),
    "repeat": Function(_repeat, (1,)),
    "single": Function(_single),
    "first": Function(lambda call: call.input[:1]),
    "last": Function(lambda call: call.input[-1:]),
    "tail": Function(lambda call: call.input[1:]),
    "skip": Function(_skip, (1,)),
    "take": Function(_take, (1,)),
    "intersect": Function(_intersect, (1,)),
    "exclude": Function(_exclude, (1,)),
    "union": Function(lambda call: distinct([*call.input, *call.arguments[0].collection()]), (1,)),
    "combine": Function(lambda call: [*call.input, *call.arguments[0].collection()], (1,)),
    "coalesce": Function(_coalesce, tuple(range(1, 11))),
    "iif": Function(_iif, (2, 3)),
    "aggregate": Function(_aggregate, (1, 2)),
    "sum": Function(_sum),
    "avg": Function(_average),
    "min": Function(_extreme(1)),
    "max": Function(_extreme(-1)),
    "sort": Function(_sort, tuple(range(6))),
    "children": Function(_children),
    "descendants": Function(_descendants),
    "extension": Function(_extension, (1,)),
    "hasValue": Function(_has_value),
    "getValue": Function(lambda call: system_value(call.input[0]) if _has_value(call) else None),
}
