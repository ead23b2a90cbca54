"""Evaluate the tree of a FHIRPath expression on a resource."""

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from clerkship.formats.fhir.evaluation.arithmetic import (
    add,
    compute_remainder,
    divide,
    divide_to_integer,
    multiply,
    subtract,
)
from clerkship.formats.fhir.evaluation.collection import (
    UCUM,
    Collection,
    EvaluationError,
    Node,
    build_node,
    get_single,
    is_number,
    to_boolean,
)
from clerkship.formats.fhir.evaluation.collection_functions import COLLECTION_FUNCTIONS
from clerkship.formats.fhir.evaluation.compare import (
    are_equal,
    are_equivalent,
    compare_values,
    contains,
    remove_duplicates,
)
from clerkship.formats.fhir.evaluation.conversion_functions import CONVERSION_FUNCTIONS, to_text
from clerkship.formats.fhir.evaluation.date_time import DateTimeValue
from clerkship.formats.fhir.evaluation.function_call import (
    EvaluationScope,
    FhirPathFunction,
    FunctionArgument,
    FunctionCall,
    Tree,
    to_collection,
)
from clerkship.formats.fhir.evaluation.number_functions import NUMBER_FUNCTIONS
from clerkship.formats.fhir.evaluation.quantity import Quantity
from clerkship.formats.fhir.evaluation.text_functions import TEXT_FUNCTIONS, unquote
from clerkship.formats.fhir.evaluation.type_functions import TYPE_FUNCTIONS, as_type, has_type, is_type

FUNCTIONS: dict[str, FhirPathFunction] = {
    **COLLECTION_FUNCTIONS,
    **TEXT_FUNCTIONS,
    **NUMBER_FUNCTIONS,
    **CONVERSION_FUNCTIONS,
    **TYPE_FUNCTIONS,
}
VARIABLES = {"ucum": UCUM, "sct": "http://snomed.info/sct", "loinc": "http://loinc.org"}
_RESOURCES = ("resource", "rootResource", "context")
_PREFIXES = {"vs-": "http://hl7.org/fhir/ValueSet/", "ext-": "http://hl7.org/fhir/StructureDefinition/"}
VARIABLE_NAMES = (*_RESOURCES, *VARIABLES)
_ORDERS: dict[str, Callable[[int], bool]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "div": divide_to_integer,
    "mod": compute_remainder,
}


def is_variable(name: str) -> bool:
    """Return whether an expression may use `%name`."""
    return name in VARIABLE_NAMES or name.startswith(tuple(_PREFIXES))


def evaluate(tree: Tree, resource: Mapping[str, Any], now: datetime | None = None) -> Collection:
    """Evaluate an expression; raises EvaluationError if it cannot be."""
    root: Collection = [build_node(resource, str(resource.get("resourceType", "")))]
    return _Evaluation(root, now).run(tree["children"][0], root, EvaluationScope(root))


class _Evaluation:
    """One evaluation, on one resource."""

    def __init__(self, root: Collection, now: datetime | None) -> None:
        self._root = root
        self._now = now

    def run(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate a part of the expression on a collection."""
        return _EVALUATORS[tree["type"]](self, tree, focus, scope)

    def pair(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> tuple[Collection, Collection]:
        """Evaluate both sides of an operator."""
        left, right = tree["children"]
        return self.run(left, focus, scope), self.run(right, focus, scope)

    def inner(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate the content of a term."""
        return self.run(tree["children"][0], focus, scope)

    def first_step(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate the first step of a path, which may name the type of the resource."""
        step = tree["children"][0]
        if step["type"] == "MemberInvocation" and (name := _get_name(step))[:1].isupper():
            resources = (item for item in focus if isinstance(item, Node) and isinstance(item.value, Mapping))
            return [item for item in resources if "resourceType" in item.value and has_type(item, name)]
        return self.run(step, focus, scope)

    def member(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate a step to elements."""
        name = _get_name(tree)
        return [child for item in focus for child in _get_members(item, name)]

    def step(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate `left.right`."""
        left, right = tree["children"]
        return self.run(right, self.run(left, focus, scope), scope)

    def function(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate a call."""
        name, *rest = tree["children"][0]["children"]
        arguments = rest[0]["children"] if rest else ()
        arguments = [FunctionArgument(argument, scope, self.run) for argument in arguments]
        called = name["text"].strip("`")
        return to_collection(FUNCTIONS[called].evaluate(FunctionCall(called, focus, arguments, self._now)))

    def index(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate `left[index]`."""
        collection, place = tree["children"]
        items = self.run(collection, focus, scope)
        index = get_single(self.run(place, scope.this, scope), "an index")
        if index is None:
            return []
        if isinstance(index, bool) or not isinstance(index, int):
            raise EvaluationError(f"an index must be an integer, not `{index}`")
        return items[index : index + 1] if index >= 0 else []

    def constant(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate `%name`."""
        name = tree["children"][0]["children"][0]["text"].strip("`'")
        if name in _RESOURCES:
            return self._root
        value = VARIABLES.get(name)
        return [value or next(url + name[len(start) :] for start, url in _PREFIXES.items() if name.startswith(start))]

    def polarity(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate unary `+` and `-`."""
        sign = tree["terminalNodeText"][0]
        value = get_single(self.inner(tree, focus, scope), f"unary `{sign}`")
        if isinstance(value, Quantity):
            return [Quantity(-value.value, value.unit, value.is_calendar) if sign == "-" else value]
        if value is not None and not is_number(value):
            raise EvaluationError(f"unary `{sign}` expects a number, not `{value}`")
        return [] if value is None else [-value if sign == "-" else value]

    def type_test(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate `is` and `as`."""
        items = self.inner(tree, focus, scope)
        name = tree["children"][1]["text"].replace("`", "")
        return to_collection((is_type if tree["terminalNodeText"][0] == "is" else as_type)(items, name))

    def equality(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate `=`, `!=`, `~` and `!~`."""
        sign = tree["terminalNodeText"][0]
        is_equal = (are_equivalent if "~" in sign else are_equal)(*self.pair(tree, focus, scope))
        return [] if is_equal is None else [is_equal != sign.startswith("!")]

    def inequality(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate `<`, `<=`, `>` and `>=`."""
        sign = tree["terminalNodeText"][0]
        values = [get_single(side, f"`{sign}`") for side in self.pair(tree, focus, scope)]
        order = None if None in values else compare_values(*values)
        return [] if order is None else [_ORDERS[sign](order)]

    def arithmetic(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate the operators on numbers, and `&`."""
        sign = tree["terminalNodeText"][0]
        values = [get_single(side, f"`{sign}`") for side in self.pair(tree, focus, scope)]
        if sign == "&":
            return ["".join("" if value is None else to_text(value) or "" for value in values)]
        return [] if None in values else to_collection(_ARITHMETIC[sign](*values))

    def union(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate `|`."""
        left, right = self.pair(tree, focus, scope)
        return remove_duplicates([*left, *right])

    def membership(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate `in` and `contains`."""
        sign = tree["terminalNodeText"][0]
        left, right = self.pair(tree, focus, scope)
        items, collection = (left, right) if sign == "in" else (right, left)
        get_single(items, f"`{sign}`")
        return [contains(collection, items[0])] if items else []

    def logic(self, tree: Tree, focus: Collection, scope: EvaluationScope) -> Collection:
        """Evaluate `and`, `or`, `xor` and `implies`, with None for unknown."""
        sign = tree["terminalNodeText"][0]
        one, other = (to_boolean(side, f"`{sign}`") for side in self.pair(tree, focus, scope))
        if sign == "implies":
            sign, one = "or", None if one is None else not one
        if sign == "xor":
            return [] if one is None or other is None else [one != other]
        decisive = sign == "or"
        if decisive in (one, other):
            return [decisive]
        return [] if None in (one, other) else [not decisive]


EvaluateNode = Callable[[_Evaluation, Tree, Collection, EvaluationScope], Collection]


def _get_name(tree: Tree) -> str:
    return str(tree["children"][0]["text"]).strip("`")


def _get_members(item: Any, name: str) -> Collection:
    if isinstance(item, Node):
        return list(item.children(name))
    if isinstance(item, Quantity) and name in ("value", "unit"):
        return [item.value if name == "value" else item.unit]
    return []


def parse_literal(tree: Tree) -> Collection:
    """Read a literal; raises EvaluationError for a date or a time that does not exist."""
    kind, text = tree["type"], tree.get("text", "")
    if kind == "NullLiteral":
        return []
    if kind == "BooleanLiteral":
        return [text == "true"]
    if kind == "NumberLiteral":
        return [Decimal(text) if "." in text else int(text)]
    if kind == "StringLiteral":
        return [unquote(text)]
    if kind == "QuantityLiteral":
        return [_parse_quantity(tree["children"][0])]
    return [_parse_date_time(text)]


def _parse_quantity(tree: Tree) -> Quantity:
    unit = tree["children"][0]
    word = unit["children"][0]["terminalNodeText"][0] if unit.get("children") else ""
    code = word or unquote(unit["terminalNodeText"][0])
    return Quantity(Decimal(tree["terminalNodeText"][0]), code, is_calendar=bool(word))


def _parse_date_time(text: str) -> DateTimeValue:
    kind = "Time" if text.startswith("@T") else "DateTime" if "T" in text else "Date"
    moment = DateTimeValue.parse(kind, text.lstrip("@").removeprefix("T"))  # type: ignore[arg-type]
    if moment is None:
        raise EvaluationError(f"`{text}` is not a date or a time")
    return moment


_EVALUATORS: dict[str, EvaluateNode] = {
    "TermExpression": _Evaluation.inner,
    "ParenthesizedTerm": _Evaluation.inner,
    "LiteralTerm": lambda self, tree, focus, scope: parse_literal(tree["children"][0]),
    "InvocationTerm": _Evaluation.first_step,
    "ExternalConstantTerm": _Evaluation.constant,
    "InvocationExpression": _Evaluation.step,
    "IndexerExpression": _Evaluation.index,
    "MemberInvocation": _Evaluation.member,
    "FunctionInvocation": _Evaluation.function,
    "ThisInvocation": lambda self, tree, focus, scope: scope.this,
    "IndexInvocation": lambda self, tree, focus, scope: to_collection(scope.index),
    "TotalInvocation": lambda self, tree, focus, scope: scope.total or [],
    "PolarityExpression": _Evaluation.polarity,
    "TypeExpression": _Evaluation.type_test,
    "EqualityExpression": _Evaluation.equality,
    "InequalityExpression": _Evaluation.inequality,
    "AdditiveExpression": _Evaluation.arithmetic,
    "MultiplicativeExpression": _Evaluation.arithmetic,
    "UnionExpression": _Evaluation.union,
    "MembershipExpression": _Evaluation.membership,
    "AndExpression": _Evaluation.logic,
    "OrExpression": _Evaluation.logic,
    "ImpliesExpression": _Evaluation.logic,
}
