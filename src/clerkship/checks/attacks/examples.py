"""Example values that satisfy an expectation: a literal, a matcher or a regular expression."""

import re._constants as code  # type: ignore[import-not-found]  # private, and the only parser there is
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable
from typing import Any

from clerkship.model.matcher import is_matcher
from clerkship.text.said_values import list_said_values

_CATEGORY_EXAMPLES = {
    code.CATEGORY_DIGIT: "1",
    code.CATEGORY_SPACE: " ",
    code.CATEGORY_WORD: "a",
    code.CATEGORY_NOT_DIGIT: "a",
    code.CATEGORY_NOT_SPACE: "a",
    code.CATEGORY_NOT_WORD: " ",
}
_AS_IS = ("equals", "contains", "gte", "lte")


def example_value(expected: Any) -> Any:
    """Return a matching value: the literal itself, or an example for the first supported matcher."""
    if not is_matcher(expected):
        return expected
    for name, argument in expected.items():
        if name in _AS_IS:
            return argument
        if name in ("says", "says_only", "only_asks_to_call"):
            return ", ".join(list_said_values(argument))
        if name == "in":
            return argument[0]
        if name == "matches":
            return example_text(argument)
        if name == "approx":
            return argument["value"] if isinstance(argument, dict) else argument
        if name in ("gt", "lt") and isinstance(argument, int | float):
            return argument + (1 if name == "gt" else -1)
    return True


def example_text(pattern: str) -> str:
    """Return a short text that matches a regular expression. Lookarounds and back references are ignored."""
    return "".join(_example_parts(parser.parse(pattern)))


def _example_parts(tokens: Iterable[Any]) -> Iterable[str]:
    for kind, argument in tokens:
        if kind is code.LITERAL:
            yield chr(argument)
        elif kind in (code.ANY, code.NOT_LITERAL):
            yield " "
        elif kind is code.IN:
            yield _example_in_set(argument)
        elif kind is code.BRANCH:
            yield "".join(_example_parts(argument[1][0]))
        elif kind in (code.SUBPATTERN, code.ATOMIC_GROUP):
            yield "".join(_example_parts(argument[-1] if kind is code.SUBPATTERN else argument))
        elif kind in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            yield "".join(_example_parts(argument[2])) * max(argument[0], 0)


def _example_in_set(choices: list[Any]) -> str:
    kind, argument = choices[0]
    if kind is code.LITERAL:
        return chr(argument)
    if kind is code.RANGE:
        return chr(argument[0])
    return _CATEGORY_EXAMPLES.get(argument, "~")
