"""Compare addresses with what a criterion expects: phone numbers in any notation, e-mail addresses, accounts of the
patient portal.
"""

from collections.abc import Sequence
from typing import Any

from clerkship.model.conversation_key import normalize_any_address
from clerkship.model.matcher import is_matcher, matches_expected

_OF_LITERALS = ("not", "equals", "in")
"""Matchers whose arguments are addresses."""


def matches_address(expected: Any, addresses: Sequence[str]) -> bool:
    """Return whether one of the addresses is as expected. Separators and case do not matter in a literal."""
    if isinstance(expected, list):
        return any(matches_address(each, addresses) for each in expected)
    if isinstance(expected, str | int):  # YAML reads a number without a sign as a whole number
        return normalize_any_address(str(expected)) in map(normalize_any_address, addresses)
    if not is_matcher(expected) or not isinstance(expected, dict):
        return any(matches_expected(expected, address) for address in addresses)
    rest = {name: argument for name, argument in expected.items() if name not in _OF_LITERALS}
    return (
        ("not" not in expected or not matches_address(expected["not"], addresses))
        and all(matches_address(expected[name], addresses) for name in ("equals", "in") if name in expected)
        and (not rest or any(matches_expected(rest, address) for address in addresses))
    )
