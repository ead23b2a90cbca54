"""Paths into resources: plain dotted ones are walked here, as FHIRPath walks them; what says more is left to FHIRPath.

A step into a list means every item of it, and an index picks from all that was found so far: `name.given[0]` is the
first given name of all. `value` finds `valueQuantity`, or whichever it is.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any

from pydantic import AfterValidator

from clerkship.fhir import choice, exact
from clerkship.fhir.expression import BadPath, compile_expression
from clerkship.fhir.resource import Resource

Find = Callable[[Resource], list[Any]]
Steps = Sequence[str | int]
_NAME = r"(?:[A-Za-z_][A-Za-z0-9_]*|\*|\d{1,9})(?:\[(?:\d{1,9}|\*)\])*"
_PLAIN = re.compile(rf"{_NAME}(?:\.{_NAME})*")
_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d+")
_ROOTS = frozenset({"Resource", "DomainResource"})


def plain_steps(path: str) -> Steps | None:
    """`name[0].family` as `name, 0, family`; None for what is more than a plain path."""
    if _PLAIN.fullmatch(path) is None:
        return None
    return tuple(int(part) if part.isdigit() else part for part in _PART.findall(path))


@lru_cache(maxsize=4096)
def compile_path(path: str) -> Find:
    """What finds the values at a path; raises BadPath for what is none."""
    steps = plain_steps(path)
    if steps is None:
        return compile_expression(path)
    if not any(isinstance(step, str) for step in steps):
        raise BadPath(f"`{path}` is no path: it names no element")
    return partial(_walk, steps)


def values_at(resource: Resource, path: str) -> list[Any]:
    """Every value at a path, as plain data; none where it leads nowhere."""
    return compile_path(path)(resource)


def check_path(path: str) -> str:
    """Refuse at load what could only fail at run."""
    compile_path(path)
    return path


PathText = Annotated[str, AfterValidator(check_path)]
"""A path in a file."""


def _walk(steps: Steps, resource: Resource) -> list[Any]:
    found: list[Any] = [resource]
    first = steps[0]
    if isinstance(first, str) and first[0].isupper():  # `Patient.name`: of a resource of another type, nothing
        if first != resource.get("resourceType") and first not in _ROOTS:
            return []
        steps = steps[1:]
    for step in steps:
        if isinstance(step, int):
            found = found[step : step + 1]
        else:
            found = [child for item in found if isinstance(item, dict) for child in _children(item, step)]
    return [exact.plain(value) for value in found]


def _children(item: dict[str, Any], name: str) -> Sequence[Any]:
    value = item.get(name)
    if value is None:
        value = next((item[spelt] for spelt in choice.spellings(name) if spelt in item), None)
    if isinstance(value, list):
        return [child for child in value if child is not None]
    return () if value is None else (value,)
