"""The elements that a FHIRPath expression names, followed through the definitions as far as the types are known.

A misspelt one finds nothing, and what denies something would hold for ever.
"""

from collections.abc import Callable, Mapping
from typing import Any

from clerkship.fhir.definitions import is_structure, structure
from clerkship.fhir.kinds import Kind, Kinds, Misstep, below, of_type

Node = Mapping[str, Any]
_OF_EVERY_VALUE = ("id", "extension")
ROOTS = ("Resource", "DomainResource")
_SAME = frozenset({"where", "first", "last", "tail", "skip", "take", "single", "distinct", "exclude", "intersect"})
_SAME |= {"sort"}
"""Functions that give of what they are given."""
_EACH = frozenset({"where", "all", "exists", "select", "repeat", "any", "iif", "sort"})
"""Functions whose arguments are about each item."""
_SAID = frozenset({"exists", "empty", "not", "all", "allTrue", "anyTrue", "allFalse", "anyFalse", "contains"})
_SAID |= {"startsWith", "endsWith", "matches", "is", "hasValue"}
_COUNTS = frozenset({"count", "length", "indexOf"})
_JUDGED = ("EqualityExpression", "InequalityExpression")
_YES_NO = (*_JUDGED, "AndExpression", "OrExpression", "ImpliesExpression", "MembershipExpression")
_LITERALS = {
    "BooleanLiteral": "boolean",
    "StringLiteral": "string",
    "NumberLiteral": "decimal",
    "DateTimeLiteral": "dateTime",
    "DateLiteral": "date",
    "TimeLiteral": "time",
    "QuantityLiteral": "Quantity",
}


def follow(tree: Node, type: str) -> Kinds:
    """What an expression on a resource of a type may lead to; raises Misstep where it names what is not there."""
    return _Walk(type).kinds(_only(tree), of_type(type))


def _only(node: Node) -> Node:
    found: Node = node["children"][0]
    return found


class _Walk:
    """Through one expression, from the type of the resource on."""

    def __init__(self, type: str) -> None:
        self.root = of_type(type)
        self.type = type
        self._by_type: dict[str, Callable[[Node, Kinds], Kinds]] = {
            "InvocationExpression": self._invoked,
            "IndexerExpression": self._indexed,
            "UnionExpression": self._either,
            "TypeExpression": self._typed,
            "ExternalConstantTerm": lambda node, here: None,
            "LiteralTerm": lambda node, here: of_type(_LITERALS.get(_only(node)["type"], "")),
        }

    def kinds(self, node: Node, here: Kinds) -> Kinds:
        """What a part of it may lead to, where `here` is what it starts from."""
        sort = node.get("type")
        if sort in self._by_type:
            return self._by_type[sort](node, here)
        if sort in ("TermExpression", "InvocationTerm", "ParenthesizedTerm"):
            inner = _only(node)
            invoked = inner.get("type") in ("MemberInvocation", "FunctionInvocation", "ThisInvocation")
            return self._invoke(inner, here, here, first=True) if invoked else self.kinds(inner, here)
        found = [self.kinds(child, here) for child in node.get("children", ())]
        if sort in _JUDGED and len(found) == 2:
            _comparable(*found)
        return of_type("boolean") if sort in _YES_NO else None

    def _invoked(self, node: Node, here: Kinds) -> Kinds:
        left, right = node["children"]
        return self._invoke(right, self.kinds(left, here), here, first=False)

    def _indexed(self, node: Node, here: Kinds) -> Kinds:
        return self.kinds(_only(node), here)

    def _either(self, node: Node, here: Kinds) -> Kinds:
        found = [self.kinds(child, here) for child in node["children"]]
        return frozenset[Kind]().union(*(kinds for kinds in found if kinds)) if None not in found else None

    def _typed(self, node: Node, here: Kinds) -> Kinds:
        self.kinds(_only(node), here)
        if "as" not in (node.get("terminalNodeText") or ()):
            return of_type("boolean")
        return _named(node["children"][1])

    def _invoke(self, node: Node, base: Kinds, here: Kinds, *, first: bool) -> Kinds:
        """A name, or a function, on something."""
        if node["type"] == "FunctionInvocation":
            return self._call(_only(node), base, here)
        if node["type"] != "MemberInvocation":
            return here if node["type"] == "ThisInvocation" else None
        name = _text(node)
        if first and name[:1].isupper():  # `Patient.name`
            if name != self.type and name not in ROOTS:
                raise Misstep(f"is a path in a {name}, not in a {self.type}")
            return self.root
        if name == "resourceType" and base == self.root:
            return of_type("code")
        if name in _OF_EVERY_VALUE and base and not any(is_structure(kind.type) for kind in base):
            return None  # FHIRPath finds these of a value too, where they stand beside it
        if (choice := _choice_of(base, name)) is not None:
            raise Misstep(f": `{name}` is not an element in FHIRPath; write `{choice}`")
        return below(base, name)

    def _call(self, node: Node, base: Kinds, here: Kinds) -> Kinds:
        name, *rest = node["children"]
        function = _text(name)
        given = rest[0].get("children", ()) if rest else ()
        if function in ("ofType", "as"):
            return _named(given[0]) if given else None
        if function == "is":
            return of_type("boolean")
        inside = [self.kinds(each, base if function in _EACH else here) for each in given]
        if function in _SAME:
            return base
        if function == "select":
            return inside[0] if inside else None
        if function == "extension":
            return of_type("Extension")
        return of_type("boolean") if function in _SAID else of_type("integer") if function in _COUNTS else None


def _choice_of(here: Kinds, spelling: str) -> str | None:
    """Return the choice that an element is a spelling of: `value` for `valueQuantity`."""
    types = [kind.type for kind in here or () if is_structure(kind.type)]
    choices = (element for type in types for element in structure(type).elements if element.choice)
    return next((element.name for element in choices if spelling in element.spellings), None)


def _text(node: Node) -> str:
    while node.get("children") and node["type"] != "Identifier":
        node = _only(node)
    return str(node["text"]).strip("`")


def _named(node: Node) -> Kinds:
    """The type that is meant by `Quantity` or `FHIR.Quantity`; System's own are not R4's."""
    names: list[str] = []

    def gather(part: Node) -> None:
        names.extend([str(part["text"])] if part.get("type") == "Identifier" else ())
        for child in part.get("children", ()):
            gather(child)

    gather(node)
    return of_type(names[-1]) if names and is_structure(names[-1]) else None


def _comparable(one: Kinds, other: Kinds) -> None:
    """Refuse to compare a number with what may be a Quantity: the two are never equal, and neither is greater."""
    types = [{kind.type for kind in kinds} if kinds else set() for kinds in (one, other)]
    for side, beside in (types, types[::-1]):
        if side and side <= {"decimal", "integer"} and beside & {"Quantity", "SimpleQuantity", "Age", "Duration"}:
            raise Misstep(": a number is compared with what may be a Quantity; compare its `.value`, or write a unit")
