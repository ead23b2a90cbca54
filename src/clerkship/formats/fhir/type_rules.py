"""Definitions compiled for fast validation: for each type, the rule of every name in its JSON."""

from collections.abc import Mapping
from functools import cache

from clerkship.formats.fhir.definitions import ElementDefinition, get_structure, get_value_set, is_structure
from clerkship.formats.fhir.invariants import Invariant, get_invariants
from clerkship.formats.fhir.primitives import PRIMITIVES, PrimitiveTest


class ElementRule:
    """The rule for one JSON name."""

    __slots__ = (
        "codes",
        "element",
        "has_extra_checks",
        "label",
        "many",
        "plain_rules",
        "single_test",
        "test",
        "type",
        "type_rules",
    )

    def __init__(self, element: ElementDefinition, type: str) -> None:
        self.element = element
        self.type = type
        self.label = element.name
        self.many = element.many
        self.codes: Mapping[str, tuple[str, ...]] | None = get_value_set(element.codes) if element.codes else None
        self.test: PrimitiveTest | None = self._test() if type in PRIMITIVES else None
        self.single_test = None if element.many else self.test
        """The test of a single primitive, the most common case; None for lists."""
        self.type_rules: TypeRules | None = get_type_rules(type) if type != "Resource" and is_structure(type) else None
        """None for a primitive, and for a resource, whose type is in its data."""
        self.has_extra_checks = type == "Reference" or (self.codes is not None and self.type_rules is not None)
        """Whether the target of a reference or the codes of a binding are checked after the elements."""
        self.plain_rules = None if self.has_extra_checks else self.type_rules
        """The rules of its type, if there are no extra checks."""

    def _test(self) -> PrimitiveTest:
        if self.codes is None:
            return PRIMITIVES[self.type].test
        codes = frozenset[str]().union(*self.codes.values())
        return lambda value: isinstance(value, str) and value in codes


class TypeRules:
    """The rules of a type or backbone element."""

    __slots__ = (
        "choices",
        "elements",
        "has_object_checks",
        "invariants",
        "is_resource",
        "is_single_object",
        "mandatory",
        "mandatory_choices",
        "name",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.elements: dict[str, ElementRule] = {}
        """Compiled on first use, because types contain one another."""
        self.is_resource = False
        self.has_object_checks = False
        """Whether there are mandatory elements, choices or invariants."""
        self.is_single_object = False
        """Whether it is one object; the extensions of a primitive (`_birthDate`) are not."""
        self.mandatory: tuple[str, ...] = ()
        self.choices: dict[str, str] = {}
        """The choice of each JSON name: `value` for `valueString`."""
        self.mandatory_choices: tuple[ElementDefinition, ...] = ()
        """The choices that must be rules."""

        self.invariants: tuple[Invariant, ...] = ()

    def compile(self) -> dict[str, ElementRule]:
        definition = get_structure(self.name)
        rules = {
            name: ElementRule(element, type)
            for element in definition.elements
            for name, type in element.spellings.items()
        }
        self.is_resource = definition.kind == "resource"
        self.is_single_object = not self.is_resource and self.name != "Element"
        self.mandatory = tuple(e.name for e in definition.elements if e.min and not e.choice)
        self.choices = {name: rule.label for name, rule in rules.items() if rule.element.choice}
        self.mandatory_choices = tuple(e for e in definition.elements if e.min and e.choice)
        self.invariants = get_invariants(definition)
        self.has_object_checks = bool(self.mandatory or self.choices or self.invariants)
        self.elements = rules  # set last, because other threads check it before they read the other attributes
        return rules


@cache
def get_type_rules(name: str) -> TypeRules:
    """Return the rules of a type, cached."""
    return TypeRules(name)
