"""Paths into resources. Plain dotted paths are followed here, with the same result as FHIRPath; all others are
FHIRPath.

A step into a list selects every item, and an index picks from all values found so far: `name.given[0]` is the first
given name of all names. `value` finds `valueQuantity` and the other names of the choice.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Annotated, Any

from pydantic import AfterValidator

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.definitions import NAMES
from clerkship.formats.fhir.expression import CompiledPath, InvalidFhirPath, compile_expression
from clerkship.formats.fhir.resource import Resource
from clerkship.model.matcher import equals, is_matcher, matches_expected

CHOICE_ELEMENTS = frozenset(NAMES["choices"])
CHOICE_TYPES = tuple(NAMES["choice_types"])
"""The types of choice elements: all of `Extension.value[x]` and `ElementDefinition.fixed[x]`."""


@lru_cache(maxsize=1024)
def list_choice_names(name: str) -> Sequence[str]:
    """Return the JSON names of a choice element, such as `valueQuantity` for `value`; none for any other element."""
    return tuple(name + datatype for datatype in CHOICE_TYPES) if name in CHOICE_ELEMENTS else ()


Steps = Sequence[str | int]
_NAME = r"(?:[A-Za-z_][A-Za-z0-9_]*|\*|\d{1,9})(?:\[(?:\d{1,9}|\*)\])*"
_PLAIN = re.compile(rf"{_NAME}(?:\.{_NAME})*")
_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d+")
_ROOTS = frozenset({"Resource", "DomainResource"})


def parse_plain_path(path: str) -> Steps | None:
    """Parse `name[0].family` to `name, 0, family`; None if it is not a plain path."""
    if _PLAIN.fullmatch(path) is None:
        return None
    return tuple(int(part) if part.isdigit() else part for part in _PART.findall(path))


@lru_cache(maxsize=4096)
def compile_path(path: str, *, has_clock: bool = False) -> CompiledPath:
    """Compile a path; raises InvalidFhirPath if it is invalid, or needs the time where there is no clock."""
    steps = parse_plain_path(path)
    if steps is None:
        return compile_expression(path, has_clock=has_clock)
    if not any(isinstance(step, str) for step in steps):
        raise InvalidFhirPath(f"`{path}` is not a path: it names no element")
    return partial(_follow_steps, steps)


def find_values(resource: Resource, path: str, now: datetime | None = None) -> list[Any]:
    """Return every value at a path as plain data. `now` is the time for an expression that needs it."""
    return compile_path(path, has_clock=now is not None)(resource, now)


def check_path(path: str) -> str:
    """Return the path; raises InvalidFhirPath. For fields of files."""
    compile_path(path)
    return path


def check_timed_path(path: str) -> str:
    """Return the path, which may use the clock; raises InvalidFhirPath. For fields of files."""
    compile_path(path, has_clock=True)
    return path


PathText = Annotated[str, AfterValidator(check_path)]
"""A path as the field of a file."""
TimedPathText = Annotated[str, AfterValidator(check_timed_path)]
"""A path as the field of a file, evaluated with a clock: it may use `now()`, `today()` and `timeOfDay()`."""


def _follow_steps(steps: Steps, resource: Resource, now: datetime | None = None) -> list[Any]:
    values: list[Any] = [resource]
    first = steps[0]
    if isinstance(first, str) and first[0].isupper():  # `Patient.name` finds nothing in a resource of another type
        if first != resource.get("resourceType") and first not in _ROOTS:
            return []
        steps = steps[1:]
    for step in steps:
        if isinstance(step, int):
            values = values[step : step + 1]
        else:
            values = [child for item in values if isinstance(item, dict) for child in _get_children(item, step)]
    return [exact.to_plain(value) for value in values]


def _get_children(item: dict[str, Any], name: str) -> Sequence[Any]:
    value = item.get(name)
    if value is None:
        value = next((item[spelt] for spelt in list_choice_names(name) if spelt in item), None)
    if isinstance(value, list):
        return [child for child in value if child is not None]
    return () if value is None else (value,)


_COLLECTION_MATCHERS = ("exists", "not")


def values_match(expected: Any, values: Sequence[Any]) -> bool:
    """Return whether the values of a path are as expected.

    A literal or a map of matchers must match one of the values; `not` must match none; `exists` tests whether there
    are any. A list, and `equals` with a list, is compared with all values together. `null` expects no value.
    """
    if expected is None:
        return not values
    if not is_matcher(expected):
        return _is_any_equal(expected, values)
    one = {name: argument for name, argument in expected.items() if name not in _COLLECTION_MATCHERS}
    return (
        ("exists" not in expected or bool(values) == expected["exists"])
        and ("not" not in expected or not values_match(expected["not"], values))
        and (not one or _does_any_value_match(one, values))
    )


def _is_any_equal(expected: Any, values: Sequence[Any]) -> bool:
    if isinstance(expected, list | tuple):
        return equals(expected, values)
    return any(equals(expected, value) for value in values)


def _does_any_value_match(expected: Mapping[str, Any], values: Sequence[Any]) -> bool:
    """Return whether one value matches all of the matchers."""
    whole = expected.get("equals")
    if "equals" in expected and (whole is None or isinstance(whole, list | tuple)):
        rest = {name: argument for name, argument in expected.items() if name != "equals"}
        return values_match(whole, values) and (not rest or _does_any_value_match(rest, values))
    return any(matches_expected(expected, value) for value in values) or (
        expected.keys() == {"contains"} and matches_expected(expected, values)
    )


def resource_matches(resource: Resource, where: Mapping[str, Any]) -> bool:
    """Return whether the values of every path are as expected."""
    return all(values_match(expected, find_values(resource, path)) for path, expected in where.items())
