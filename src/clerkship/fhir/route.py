"""Whether a plain path can lead anywhere in a type: a misspelt one would find nothing, and what denies something would
hold for ever."""

from collections.abc import Iterable

from clerkship.fhir.definitions import Element, is_structure, structure
from clerkship.fhir.fhirpath import plain_steps
from clerkship.model.names import did_you_mean

_OF_ANY_KIND = ("Resource", "Element")
_ROOTS = ("Resource", "DomainResource")


def misstep(type: str, path: str) -> str:
    """What is wrong with a path in a resource of a type; empty where it is right, or more than a plain path."""
    names = [step for step in plain_steps(path) or () if isinstance(step, str)]
    if names and names[0][0].isupper():
        if names[0] != type and names[0] not in _ROOTS:
            return f"`{path}` is a path in a {names[0]}, not in a {type}"
        names = names[1:]
    if names == ["resourceType"]:
        return ""
    here = [type]
    for name in names:
        known = [element for place in here for element in _elements(place)]
        here = sorted({kind for element in known for kind in _kinds(element, name)})
        if not known or not here:
            return _told(path, name, known)
        if any(kind in _OF_ANY_KIND for kind in here):
            return ""
    return ""


def _elements(type: str) -> Iterable[Element]:
    return structure(type).elements if is_structure(type) else ()


def _kinds(element: Element, name: str) -> Iterable[str]:
    """What types it may be of, by the name that is used: all of a choice by its short one."""
    if name == element.name:
        return element.spellings.values()
    if name.startswith("_") and name[1:] in element.spellings:
        return _OF_ANY_KIND[1:]  # the id and extensions of a value alone
    return [element.spellings[name]] if name in element.spellings else ()


def _told(path: str, name: str, known: Iterable[Element]) -> str:
    names = {spelt for element in known for spelt in (element.name, *element.spellings)}
    if not names:
        return f"`{path}` goes on at `{name}`, below a value that has no elements"
    hint = did_you_mean(name, names)
    return f"`{path}`: there is no element `{name}`" + (f"; {hint}" if hint.startswith("did") else "")
