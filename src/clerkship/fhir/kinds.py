"""What may stand at a place of a resource, by the definitions: the types of it, and the codes it is bound to."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clerkship.fhir.definitions import Element, is_structure, structure
from clerkship.model.names import did_you_mean

_OF_ANY_KIND = ("Resource", "Element")


class Kind(NamedTuple):
    """A type, and the value set of a required binding where its codes can be listed."""

    type: str
    codes: str | None = None


Kinds = frozenset[Kind] | None
"""What something may be; None where the definitions do not say."""


class Misstep(ValueError):
    """An element that is not there."""


def of_type(name: str) -> Kinds:
    """One type alone."""
    return frozenset({Kind(name)})


def below(here: Kinds, name: str) -> Kinds:
    """What an element of these may be; raises Misstep where none of them has one of that name."""
    if here is None:
        return None
    known = [element for kind in here for element in _elements(kind.type)]
    found = frozenset(kind for element in known for kind in _of_element(element, name))
    if not found:
        raise Misstep(_told(name, known))
    return None if any(kind.type in _OF_ANY_KIND for kind in found) else found


def _elements(type: str) -> Iterable[Element]:
    return structure(type).elements if is_structure(type) else ()


def _of_element(element: Element, name: str) -> Iterator[Kind]:
    """By the name that is used: all of a choice by its short one."""
    if name == element.name:
        yield from (Kind(type, element.codes) for type in element.spellings.values())
    elif name.startswith("_") and name[1:] in element.spellings:
        yield Kind(_OF_ANY_KIND[1])  # the id and extensions of a value alone
    elif name in element.spellings:
        yield Kind(element.spellings[name], element.codes)


def _told(name: str, known: Iterable[Element]) -> str:
    names = {spelt for element in known for spelt in (element.name, *element.spellings)}
    if not names:
        return f"goes on at `{name}`, below a value that has no elements"
    hint = did_you_mean(name, names)
    return f": there is no element `{name}`" + (f"; {hint}" if hint.startswith("did") else "")
