"""Types in FHIRPath expressions: `is`, `as`, `ofType()` and `type()` (FHIRPath 2.0, 6.3)."""

from functools import cache

from clerkship.formats.fhir.evaluation.collection import (
    Collection,
    EvaluationError,
    Item,
    Node,
    get_single,
    get_system_type,
    load_r4_model,
)
from clerkship.formats.fhir.evaluation.function_call import FhirPathFunction, FunctionCall

_SYSTEM = frozenset({"Boolean", "String", "Integer", "Decimal", "Date", "DateTime", "Time", "Quantity"})


@cache
def list_known_types() -> frozenset[str]:
    """List the types that an expression may name without a namespace."""
    model = load_r4_model()
    names = {*model["type2Parent"], *model["type2Parent"].values(), *model["path2Type"].values()}
    return frozenset(name for name in names if "." not in name) | _SYSTEM


def is_known_type(name: str) -> bool:
    """Whether there is a type of this name; names in the namespace `System` are not checked."""
    namespace, _, rest = name.rpartition(".")
    return namespace == "System" or (namespace in ("", "FHIR") and rest in list_known_types())


def has_type(item: Item, name: str) -> bool:
    """Whether an item is of a type, or of a type derived from it."""
    namespace, _, type_name = name.rpartition(".")
    item_namespace, actual = item.type_name if isinstance(item, Node) else ("System", get_system_type(item))
    if namespace and namespace != item_namespace:
        return False
    parents = load_r4_model()["type2Parent"]
    while item_namespace == "FHIR" and actual and actual != type_name:
        actual = parents.get(actual)
    return actual == type_name


def can_cast(item: Item, name: str) -> bool:
    """Whether `as` and `ofType()` keep an item. A primitive must be of that very type: a code is no string."""
    type_name = name.rpartition(".")[2]
    if isinstance(item, Node) and type_name[:1].islower():
        return has_type(item, name) and item.type_name[1] == type_name
    return has_type(item, name)


def is_type(collection: Collection, name: str) -> bool | None:
    """Evaluate `is`."""
    get_single(collection, "`is`")
    return has_type(collection[0], name) if collection else None


def as_type(collection: Collection, name: str) -> Collection:
    """Evaluate `as`."""
    get_single(collection, "`as`")
    return [item for item in collection if can_cast(item, name)]


def _of_type(call: FunctionCall) -> Collection:
    return [item for item in call.input if can_cast(item, call.arguments[0].type_name)]


def _type(call: FunctionCall) -> Collection:
    named = [item.type_name if isinstance(item, Node) else ("System", get_system_type(item)) for item in call.input]
    return [Node({"namespace": namespace, "name": name}, "System.TypeInfo") for namespace, name in named]


TYPE_FUNCTIONS = {
    "is": FhirPathFunction(lambda call: is_type(call.input, call.arguments[0].type_name), (1,)),
    "as": FhirPathFunction(lambda call: as_type(call.input, call.arguments[0].type_name), (1,)),
    "ofType": FhirPathFunction(_of_type, (1,)),
    "type": FhirPathFunction(_type),
}
TYPE_ARGUMENT_FUNCTIONS = frozenset({"is", "as", "ofType"})
"""Functions whose argument is the name of a type."""


def check_type(name: str) -> None:
    """Refuse the name of a type that does not exist."""
    if not is_known_type(name):
        raise EvaluationError(f"unknown type `{name}`")
