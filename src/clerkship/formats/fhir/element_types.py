"""The possible types of an element, and the codes it is bound to, by the definitions."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

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
