"""Infer the types of a FHIRPath expression from the definitions, as far as they are known.

A misspelt element finds nothing, so that an expectation that denies something would always hold.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from clerkship.formats.fhir.definitions import ElementDefinition, get_structure, is_structure
from clerkship.model.names import did_you_mean

_ANY_TYPES = ("Resource", "Element")


class ElementType(NamedTuple):
    """A type, and its value set if it has a required binding whose codes can be listed."""

    type: str
    codes: str | None = None


ElementTypes = frozenset[ElementType] | None
"""Possible types; None if the definitions do not tell."""


class UnknownElement(ValueError):
    """A path names an element that does not exist."""


def single_type(name: str) -> ElementTypes:
    """Return a set with one element type."""
    return frozenset({ElementType(name)})


def get_child_types(parents: ElementTypes, name: str) -> ElementTypes:
    """Return the possible types of a child element; raises UnknownElement if none of the parents has it."""
    if parents is None:
        return None
    elements = [element for kind in parents for element in _list_elements(kind.type)]
    types = frozenset(kind for element in elements for kind in _iter_element_types(element, name))
    if not types:
        raise UnknownElement(_describe_unknown_element(name, elements))
    return None if any(kind.type in _ANY_TYPES for kind in types) else types


def _list_elements(type: str) -> Iterable[ElementDefinition]:
    return get_structure(type).elements if is_structure(type) else ()


def _iter_element_types(element: ElementDefinition, name: str) -> Iterator[ElementType]:
    """Yield the types of an element by the name in use: the short name of a choice has all its types."""
    if name == element.name:
        yield from (ElementType(type, element.codes) for type in element.spellings.values())
    elif name.startswith("_") and name[1:] in element.spellings:
        yield ElementType(_ANY_TYPES[1])  # the id and extensions of a primitive
    elif name in element.spellings:
        yield ElementType(element.spellings[name], element.codes)


def _describe_unknown_element(name: str, elements: Iterable[ElementDefinition]) -> str:
    names = {spelling for element in elements for spelling in (element.name, *element.spellings)}
    if not names:
        return f"continues with `{name}` after a value that has no elements"
    hint = did_you_mean(name, names)
    return f": there is no element `{name}`" + (f"; {hint}" if hint.startswith("did") else "")


SyntaxNode = Mapping[str, Any]
_PRIMITIVE_CHILDREN = ("id", "extension")
ROOTS = ("Resource", "DomainResource")
_KEEPING_TYPE = frozenset(
    {"where", "first", "last", "tail", "skip", "take", "single", "distinct", "exclude", "intersect"}
)
_KEEPING_TYPE |= {"sort"}
"""Functions that return items of their input."""
_ITERATING = frozenset({"where", "all", "exists", "select", "repeat", "any", "iif", "sort"})
"""Functions whose arguments are evaluated for each item."""
_BOOLEAN_FUNCTIONS = frozenset(
    {"exists", "empty", "not", "all", "allTrue", "anyTrue", "allFalse", "anyFalse", "contains"}
)
_BOOLEAN_FUNCTIONS |= {"startsWith", "endsWith", "matches", "is", "hasValue"}
_INTEGER_FUNCTIONS = frozenset({"count", "length", "indexOf"})
_COMPARISONS = ("EqualityExpression", "InequalityExpression")
_BOOLEAN_EXPRESSIONS = (*_COMPARISONS, "AndExpression", "OrExpression", "ImpliesExpression", "MembershipExpression")
_LITERALS = {
    "BooleanLiteral": "boolean",
    "StringLiteral": "string",
    "NumberLiteral": "decimal",
    "DateTimeLiteral": "dateTime",
    "DateLiteral": "date",
    "TimeLiteral": "time",
    "QuantityLiteral": "Quantity",
}


def infer_types(tree: SyntaxNode, type: str) -> ElementTypes:
    """Return the possible types of an expression on a resource type; raises UnknownElement."""
    return _TypeInference(type).infer(_get_first_child(tree), single_type(type))


def _get_first_child(node: SyntaxNode) -> SyntaxNode:
    child: SyntaxNode = node["children"][0]
    return child


class _TypeInference:
    """Infers the types of one expression."""

    def __init__(self, type: str) -> None:
        self.root = single_type(type)
        self.type = type
        self._by_type: dict[str, Callable[[SyntaxNode, ElementTypes], ElementTypes]] = {
            "InvocationExpression": self._infer_invocation,
            "IndexerExpression": self._infer_indexer,
            "UnionExpression": self._infer_union,
            "TypeExpression": self._infer_type_expression,
            "ExternalConstantTerm": lambda node, here: None,
            "LiteralTerm": lambda node, here: single_type(_LITERALS.get(_get_first_child(node)["type"], "")),
        }

    def infer(self, node: SyntaxNode, here: ElementTypes) -> ElementTypes:
        """Return the possible types of a node; `here` are the types it starts from."""
        node_type = node.get("type")
        if node_type in self._by_type:
            return self._by_type[node_type](node, here)
        if node_type in ("TermExpression", "InvocationTerm", "ParenthesizedTerm"):
            inner = _get_first_child(node)
            invoked = inner.get("type") in ("MemberInvocation", "FunctionInvocation", "ThisInvocation")
            return self._infer_member(inner, here, here, first=True) if invoked else self.infer(inner, here)
        operands = [self.infer(child, here) for child in node.get("children", ())]
        if node_type in _COMPARISONS and len(operands) == 2:
            _check_comparable(*operands)
        return single_type("boolean") if node_type in _BOOLEAN_EXPRESSIONS else None

    def _infer_invocation(self, node: SyntaxNode, here: ElementTypes) -> ElementTypes:
        left, right = node["children"]
        return self._infer_member(right, self.infer(left, here), here, first=False)

    def _infer_indexer(self, node: SyntaxNode, here: ElementTypes) -> ElementTypes:
        return self.infer(_get_first_child(node), here)

    def _infer_union(self, node: SyntaxNode, here: ElementTypes) -> ElementTypes:
        operands = [self.infer(child, here) for child in node["children"]]
        return frozenset[ElementType]().union(*(kinds for kinds in operands if kinds)) if None not in operands else None

    def _infer_type_expression(self, node: SyntaxNode, here: ElementTypes) -> ElementTypes:
        self.infer(_get_first_child(node), here)
        if "as" not in (node.get("terminalNodeText") or ()):
            return single_type("boolean")
        return _parse_type_specifier(node["children"][1])

    def _infer_member(self, node: SyntaxNode, base: ElementTypes, here: ElementTypes, *, first: bool) -> ElementTypes:
        """Return the types of a member or a function invoked on `base`."""
        if node["type"] == "FunctionInvocation":
            return self._infer_function(_get_first_child(node), base, here)
        if node["type"] != "MemberInvocation":
            return here if node["type"] == "ThisInvocation" else None
        name = _get_identifier(node)
        if first and name[:1].isupper():  # `Patient.name`
            if name != self.type and name not in ROOTS:
                raise UnknownElement(f"is a path in a {name}, not in a {self.type}")
            return self.root
        if name == "resourceType" and base == self.root:
            return single_type("code")
        if name in _PRIMITIVE_CHILDREN and base and not any(is_structure(kind.type) for kind in base):
            return None  # FHIRPath also finds id and extensions of primitives
        if (choice := _find_choice(base, name)) is not None:
            raise UnknownElement(f": `{name}` is not an element in FHIRPath; write `{choice}`")
        return get_child_types(base, name)

    def _infer_function(self, node: SyntaxNode, base: ElementTypes, here: ElementTypes) -> ElementTypes:
        name, *argument_list = node["children"]
        function = _get_identifier(name)
        arguments = argument_list[0].get("children", ()) if argument_list else ()
        if function in ("ofType", "as"):
            return _parse_type_specifier(arguments[0]) if arguments else None
        if function == "is":
            return single_type("boolean")
        argument_types = [self.infer(each, base if function in _ITERATING else here) for each in arguments]
        if function in _KEEPING_TYPE:
            return base
        if function == "select":
            return argument_types[0] if argument_types else None
        if function == "extension":
            return single_type("Extension")
        return (
            single_type("boolean")
            if function in _BOOLEAN_FUNCTIONS
            else single_type("integer")
            if function in _INTEGER_FUNCTIONS
            else None
        )


def _find_choice(here: ElementTypes, spelling: str) -> str | None:
    """Return the choice element of a JSON name: `value` for `valueQuantity`."""
    types = [kind.type for kind in here or () if is_structure(kind.type)]
    choices = (element for type in types for element in get_structure(type).elements if element.choice)
    return next((element.name for element in choices if spelling in element.spellings), None)


def _get_identifier(node: SyntaxNode) -> str:
    while node.get("children") and node["type"] != "Identifier":
        node = _get_first_child(node)
    return str(node["text"]).strip("`")


def _parse_type_specifier(node: SyntaxNode) -> ElementTypes:
    """Return the type named `Quantity` or `FHIR.Quantity`; None for types of System."""
    names: list[str] = []

    def gather(part: SyntaxNode) -> None:
        names.extend([str(part["text"])] if part.get("type") == "Identifier" else ())
        for child in part.get("children", ()):
            gather(child)

    gather(node)
    return single_type(names[-1]) if names and is_structure(names[-1]) else None


def _check_comparable(one: ElementTypes, other: ElementTypes) -> None:
    """Raise UnknownElement if a number is compared with a Quantity: they are never equal, and have no order."""
    types = [{kind.type for kind in kinds} if kinds else set() for kinds in (one, other)]
    for side, other_side in (types, types[::-1]):
        if side and side <= {"decimal", "integer"} and other_side & {"Quantity", "SimpleQuantity", "Age", "Duration"}:
            raise UnknownElement(
                ": a number is compared with what may be a Quantity; compare its `.value`, or write a unit"
            )
