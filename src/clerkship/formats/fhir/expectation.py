"""Compare expectations with the values of a path.

A literal or a map of matchers must match one of the values; `not` must match none; `exists` tests whether there are
any. A list, and `equals` with a list, is compared with all values together. `null` expects no value.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from clerkship.formats.fhir.fhirpath import find_values
from clerkship.formats.fhir.resource import Resource
from clerkship.model.matcher import equals, is_matcher, matches_expected

_COLLECTION_MATCHERS = ("exists", "not")


def values_match(expected: Any, values: Sequence[Any]) -> bool:
    """Return whether the values are as expected."""
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
