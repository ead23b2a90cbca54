"""Whether a path can lead anywhere in a type, and to what is expected there: a misspelt one would find nothing, and
what denies something would hold for ever."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from clerkship.fhir.definitions import RESOURCE_TYPES, is_structure, value_set
from clerkship.fhir.expression import tree_of
from clerkship.fhir.fhirpath import plain_steps
from clerkship.fhir.kinds import Kinds, Misstep, below, of_type
from clerkship.fhir.members import ROOTS, follow
from clerkship.fhir.parameters import parameters_of
from clerkship.model.matcher import is_matcher, is_number, to_datetime
from clerkship.model.names import did_you_mean

_NUMBERS = frozenset({"decimal", "integer", "positiveInt", "unsignedInt"})
_TIMES = frozenset({"date", "dateTime", "instant"})
_TEXTS = _TIMES | {"string", "code", "id", "uri", "url", "canonical", "oid", "uuid", "markdown", "time", "xhtml"}
_BOUNDS = ("gt", "gte", "lt", "lte")


def misstep(type: str, path: str) -> str:
    """What is wrong with a path in a resource of a type; empty where it is right, or nothing is known of it."""
    try:
        kinds_at(type, path)
    except Misstep as wrong:
        said = str(wrong)
        return f"`{path}`{said}" if said.startswith(":") else f"`{path}` {said}"
    return ""


def misstep_anywhere(path: str) -> str:
    """What is wrong with a path in a resource of whatever type; empty where there is a type that has it."""
    if all(misstep(type, path) for type in RESOURCE_TYPES):
        return f"`{path}`: no resource type has such an element"
    return ""


@lru_cache(maxsize=4096)
def kinds_at(type: str, path: str) -> Kinds:
    """What a path in a resource of a type may lead to; raises Misstep where it leads nowhere."""
    steps = plain_steps(path)
    if steps is None:
        return follow(tree_of(path), type)
    names = [step for step in steps if isinstance(step, str)]
    if names and names[0][0].isupper():
        if names[0] != type and names[0] not in ROOTS:
            raise Misstep(f"is a path in a {names[0]}, not in a {type}")
        names = names[1:]
    here = of_type(type)
    if names == ["resourceType"]:
        return of_type("code")
    for name in names:
        here = below(here, name)
    return here


def unfit(type: str, path: str, expected: Any) -> str:
    """Why nothing at a path can ever be what is expected there; empty where something can."""
    here = _known_kinds(type, path)
    return next(_unfit(here, expected), "") if here else ""


def unfit_value(type: str, path: str, value: Any) -> str:
    """Why a value cannot be put at a path: it is of another sort than what is there, or of no code that R4 allows."""
    here = _known_kinds(type, path)
    return next(_unlike_value(here, value), "") if here and value is not None else ""


def _known_kinds(type: str, path: str) -> Kinds:
    """Return what a path may lead to; None for a wrong path too, which is reported elsewhere."""
    try:
        return kinds_at(type, path)
    except Misstep:
        return None


def _unlike_value(here: Kinds, value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from (wrong for each in value for wrong in _unlike_value(here, each))
        return
    made_of_parts = {is_structure(kind.type) for kind in here or ()}
    if made_of_parts == {True} and not isinstance(value, Mapping):
        yield f"{value!r} cannot be there: it has elements of its own"
    elif made_of_parts == {False} and isinstance(value, Mapping):
        yield "what is there is one value, without elements of its own"
    else:
        yield from _unlike(here, value)


def _unfit(here: Kinds, expected: Any) -> Iterator[str]:
    if not is_matcher(expected):
        yield from _unlike(here, expected)
        return
    types = {kind.type for kind in here or ()}
    for name, argument in expected.items():
        if name == "not":
            yield from _unfit(here, argument)
        elif name == "equals":
            yield from _unlike(here, argument)
        elif name == "in":
            yield from (wrong for each in argument for wrong in _unlike(here, each))
        elif name in _BOUNDS and is_number(argument) and types <= _TIMES:
            yield f"a date is compared with the number {argument}; write a date, such as '1950-01-01'"
        elif name in _BOUNDS and to_datetime(argument) is not None and types <= _NUMBERS:
            yield f"a number is compared with the date {argument}"


def _unlike(here: Kinds, literal: Any) -> Iterator[str]:
    types = {kind.type for kind in here or ()}
    wanted = "true or false" if types == {"boolean"} else "a number" if types <= _NUMBERS else ""
    wanted = wanted or ("text" if types <= _TEXTS else "")
    if literal is None or isinstance(literal, list | tuple | Mapping) or not wanted:
        return
    sort = "true or false" if isinstance(literal, bool) else "a number" if is_number(literal) else "text"
    if sort != wanted:
        yield f"{literal!r} can never be there: it is {wanted}"
        return
    sets = [kind.codes for kind in here or ()]
    if types == {"code"} and all(sets):
        yield from _uncoded({code for name in sets if name for code in _codes(name)}, str(literal))


def _uncoded(codes: set[str], literal: str) -> Iterator[str]:
    if literal not in codes:
        hint = did_you_mean(literal, codes)
        some = ", ".join(sorted(codes)[:12]) + (", …" if len(codes) > 12 else "")
        yield f"`{literal}` is no code that R4 allows there; " + (hint if hint.startswith("did") else f"it has {some}")


def _codes(name: str) -> Iterator[str]:
    return (code for codes in value_set(name).values() for code in codes)


def unfit_token(type: str, parameter: str, text: str) -> str:
    """Why a token that is searched for can never be found: a code outside the one list that R4 allows."""
    name, _, modifier = parameter.partition(":")
    found = parameters_of(type).get(name)
    if found is None or found.type != "token" or modifier not in ("", "not") or "\\" in text:
        return ""
    codes: set[str] = set()
    for arm in found.arms:
        here = of_type(type)
        try:
            for step in arm.steps:
                here = below(here, step.name)
        except Misstep:
            return ""
        if not here or any(kind.type != "code" or kind.codes is None for kind in here):
            return ""
        codes.update(code for kind in here if kind.codes for code in _codes(kind.codes))
    values = [value.rpartition("|")[2] for value in text.split(",")]
    return next((wrong for value in values if value for wrong in _uncoded(codes, value)), "") if codes else ""
