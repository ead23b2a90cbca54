"""Check that a path exists in a resource type and that an expectation can match.

A misspelt path finds nothing, so that an expectation that denies something would always hold.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from clerkship.formats.fhir.definitions import RESOURCE_TYPES, get_value_set, is_structure
from clerkship.formats.fhir.expression import parse_expression
from clerkship.formats.fhir.fhirpath import parse_plain_path
from clerkship.formats.fhir.search_parameters import get_parameters
from clerkship.formats.fhir.type_inference import (
    ROOTS,
    ElementTypes,
    UnknownElement,
    get_child_types,
    infer_types,
    single_type,
)
from clerkship.model.matcher import is_matcher, is_number, to_datetime
from clerkship.model.names import did_you_mean

_NUMBERS = frozenset({"decimal", "integer", "positiveInt", "unsignedInt"})
_TIMES = frozenset({"date", "dateTime", "instant"})
_TEXTS = _TIMES | {"string", "code", "id", "uri", "url", "canonical", "oid", "uuid", "markdown", "time", "xhtml"}
_BOUNDS = ("gt", "gte", "lt", "lte")


def find_path_error(type: str, path: str) -> str:
    """Return the error of a path in a resource type; empty if it is valid, or its types are unknown."""
    try:
        infer_path_types(type, path)
    except UnknownElement as error:
        message = str(error)
        return f"`{path}`{message}" if message.startswith(":") else f"`{path}` {message}"
    return ""


def find_path_error_in_all_types(path: str) -> str:
    """Return an error if no resource type has the path."""
    if all(find_path_error(type, path) for type in RESOURCE_TYPES):
        return f"`{path}`: no resource type has such an element"
    return ""


@lru_cache(maxsize=4096)
def infer_path_types(type: str, path: str) -> ElementTypes:
    """Return the possible types at a path; raises UnknownElement if it does not exist."""
    steps = parse_plain_path(path)
    if steps is None:
        return infer_types(parse_expression(path), type)
    names = [step for step in steps if isinstance(step, str)]
    if names and names[0][0].isupper():
        if names[0] != type and names[0] not in ROOTS:
            raise UnknownElement(f"is a path in a {names[0]}, not in a {type}")
        names = names[1:]
    element_types = single_type(type)
    if names == ["resourceType"]:
        return single_type("code")
    for name in names:
        element_types = get_child_types(element_types, name)
    return element_types


def find_expectation_error(type: str, path: str, expected: Any) -> str:
    """Return why no value at a path can be as expected; empty if one can."""
    element_types = _infer_known_types(type, path)
    return next(_iter_expectation_errors(element_types, expected), "") if element_types else ""


def find_value_error(type: str, path: str, value: Any) -> str:
    """Return why a value cannot be set at a path: it is of another type, or not a code that R4 allows."""
    element_types = _infer_known_types(type, path)
    return next(_iter_value_errors(element_types, value), "") if element_types and value is not None else ""


def _infer_known_types(type: str, path: str) -> ElementTypes:
    """Return the possible types at a path; None for an invalid path too, which is reported elsewhere."""
    try:
        return infer_path_types(type, path)
    except UnknownElement:
        return None


def _iter_value_errors(element_types: ElementTypes, value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from (error for each in value for error in _iter_value_errors(element_types, each))
        return
    made_of_parts = {is_structure(kind.type) for kind in element_types or ()}
    if made_of_parts == {True} and not isinstance(value, Mapping):
        yield f"{value!r} cannot be set: the element has child elements"
    elif made_of_parts == {False} and isinstance(value, Mapping):
        yield "the element is a single value without child elements"
    else:
        yield from _iter_literal_errors(element_types, value)


def _iter_expectation_errors(element_types: ElementTypes, expected: Any) -> Iterator[str]:
    if not is_matcher(expected):
        yield from _iter_literal_errors(element_types, expected)
        return
    types = {kind.type for kind in element_types or ()}
    for name, argument in expected.items():
        if name == "not":
            yield from _iter_expectation_errors(element_types, argument)
        elif name == "equals":
            yield from _iter_literal_errors(element_types, argument)
        elif name == "in":
            yield from (error for each in argument for error in _iter_literal_errors(element_types, each))
        elif name in _BOUNDS and is_number(argument) and types <= _TIMES:
            yield f"a date is compared with the number {argument}; write a date, such as '1950-01-01'"
        elif name in _BOUNDS and to_datetime(argument) is not None and types <= _NUMBERS:
            yield f"a number is compared with the date {argument}"


def _iter_literal_errors(element_types: ElementTypes, literal: Any) -> Iterator[str]:
    types = {kind.type for kind in element_types or ()}
    expected_kind = "true or false" if types == {"boolean"} else "a number" if types <= _NUMBERS else ""
    expected_kind = expected_kind or ("text" if types <= _TEXTS else "")
    if literal is None or isinstance(literal, list | tuple | Mapping) or not expected_kind:
        return
    literal_kind = "true or false" if isinstance(literal, bool) else "a number" if is_number(literal) else "text"
    if literal_kind != expected_kind:
        yield f"{literal!r} can never match: the value is {expected_kind}"
        return
    sets = [kind.codes for kind in element_types or ()]
    if types == {"code"} and all(sets):
        yield from _iter_code_errors({code for name in sets if name for code in _iter_codes(name)}, str(literal))


def _iter_code_errors(codes: set[str], literal: str) -> Iterator[str]:
    if literal not in codes:
        hint = did_you_mean(literal, codes)
        some = ", ".join(sorted(codes)[:12]) + (", …" if len(codes) > 12 else "")
        yield f"`{literal}` is not a code that R4 allows here; " + (
            hint if hint.startswith("did") else f"allowed: {some}"
        )


def _iter_codes(name: str) -> Iterator[str]:
    return (code for codes in get_value_set(name).values() for code in codes)


def find_token_error(type: str, parameter: str, text: str) -> str:
    """Return why a token can never be found: a code that is not in the value set."""
    name, _, modifier = parameter.partition(":")
    search_parameter = get_parameters(type).get(name)
    if search_parameter is None or search_parameter.type != "token" or modifier not in ("", "not") or "\\" in text:
        return ""
    codes: set[str] = set()
    for path in search_parameter.paths:
        element_types = single_type(type)
        try:
            for step in path.steps:
                element_types = get_child_types(element_types, step.name)
        except UnknownElement:
            return ""
        if not element_types or any(kind.type != "code" or kind.codes is None for kind in element_types):
            return ""
        codes.update(code for kind in element_types if kind.codes for code in _iter_codes(kind.codes))
    values = [value.rpartition("|")[2] for value in text.split(",")]
    return next((error for value in values if value for error in _iter_code_errors(codes, value)), "") if codes else ""
