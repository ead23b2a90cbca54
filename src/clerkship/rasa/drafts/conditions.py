"""Conditions of flows: parse them, and evaluate them for values of slots that are known in part."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pydantic import JsonValue

from clerkship.model.pattern import compile_pattern, has_match_in_time

_MAX_LENGTH = 2000
_MAX_DEPTH = 40
_TOKEN = re.compile(r"\s*(\"[^\"]*\"|'[^']*'|-?\d+(?:\.\d+)?(?![\w.])|[A-Za-z_][\w.-]*|[<>!=]=|[<>=()])")
_SLOT_NAME = re.compile(r"\bslots\.([A-Za-z_]\w*)")
_CONSTANTS: dict[str, JsonValue] = {"true": True, "false": False, "null": None, "undefined": None, "empty": None}
_YES, _NO = {"true", "yes"}, {"false", "no"}
_OPPOSITES = {"!=": "=", "is not": "="}
_EQUAL = ("=", "==", "is")
_TEXT_OPERATORS = ("matches", "contains")


class SlotComparison(NamedTuple):
    """A slot compared with a constant; without an operator, whether the slot has a value that counts as true."""

    slot: str
    operator: str = ""
    constant: JsonValue = None


class _Combination(NamedTuple):
    operator: str
    parts: tuple["Node", ...]


Node = SlotComparison | _Combination
"""A parsed condition, or a part of one."""


@dataclass(frozen=True)
class Requirement:
    """A condition that must hold on a path, or must not."""

    text: str
    expected: bool = True
    is_rejection: bool = False
    """Whether it is about a value that is refused, and not about the way that the flow goes."""

    @property
    def slots(self) -> frozenset[str]:
        """The slots that the condition names."""
        node = parse(self.text)
        if node is None:
            return frozenset(_SLOT_NAME.findall(self.text))
        return frozenset(comparison.slot for comparison in list_comparisons(node))

    def is_met(self, values: Mapping[str, JsonValue]) -> bool | None:
        """Return whether it is met by these values; None if that depends on other slots, or is not known."""
        node = parse(self.text)
        value = _evaluate(node, values) if node is not None else None
        return None if value is None else value == self.expected


def list_comparisons(node: Node) -> Iterator[SlotComparison]:
    """Yield the comparisons of a condition."""
    if isinstance(node, SlotComparison):
        yield node
    else:
        for part in node.parts:
            yield from list_comparisons(part)


def find_values(requirement: Requirement) -> dict[str, JsonValue]:
    """Return the values that a requirement fixes, such as `slots.confirmed` or `slots.kind is "a"`."""
    node = parse(requirement.text)
    return dict(_find_fixed(node, requirement.expected)) if node is not None else {}


def _find_fixed(node: Node, expected: bool) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(node, _Combination):
        if node.operator == "not":
            yield from _find_fixed(node.parts[0], not expected)
        elif (node.operator == "and") == expected:
            for part in node.parts:
                yield from _find_fixed(part, expected)
    elif not node.operator:
        yield node.slot, expected
    elif node.operator == "=" and node.constant is not None:
        if expected:
            yield node.slot, node.constant
        elif isinstance(node.constant, bool):
            yield node.slot, not node.constant


@lru_cache(maxsize=4096)
def parse(text: str) -> Node | None:
    """Return a parsed condition; None if it has a part that is not supported, such as a set."""
    if len(text) > _MAX_LENGTH:
        return None
    tokens: list[str] = []
    position, whole = 0, text.strip()
    while position < len(whole):
        match = _TOKEN.match(whole, position)
        if match is None:
            return None
        tokens.append(match[1])
        position = match.end()
    parser = _Parser(tokens)
    try:
        node = parser.parse_any()
    except _Unsupported:
        return None
    return node if not parser.rest else None


class _Unsupported(Exception):
    """The condition has a part that is not supported."""


class _Parser:
    """Parses the tokens of a condition, from the left."""

    def __init__(self, tokens: list[str]) -> None:
        self.rest = tokens
        self._depth = 0

    def parse_any(self) -> Node:
        """Parse parts that are separated by `or`."""
        return self._parse_separated("or", self._parse_all)

    def _parse_all(self) -> Node:
        return self._parse_separated("and", self._parse_part)

    def _parse_separated(self, word: str, parse_part: Callable[[], Node]) -> Node:
        parts = [parse_part()]
        while self._next() == word:
            self.rest = self.rest[1:]
            parts.append(parse_part())
        return parts[0] if len(parts) == 1 else _Combination(word, tuple(parts))

    def _parse_part(self) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _Unsupported
        token = self._take()
        if token.lower() == "not":
            node: Node = _Combination("not", (self._parse_part(),))
        elif token == "(":
            node = self.parse_any()
            if self._take() != ")":
                raise _Unsupported
        else:
            node = self._parse_comparison(token)
        self._depth -= 1
        return node

    def _parse_comparison(self, left: str) -> Node:
        slot = left.removeprefix("slots.")
        if not slot.isidentifier() or slot.lower() in _CONSTANTS:
            raise _Unsupported
        operator = self._next()
        if operator in ("", "and", "or", ")"):
            return SlotComparison(slot)
        self._take()
        if operator == "is" and self._next() == "not":
            self._take()
            operator = "is not"
        if operator in _OPPOSITES:
            return _Combination("not", (SlotComparison(slot, "=", _parse_constant(self._take())),))
        if operator not in (*_EQUAL, *_TEXT_OPERATORS, "<", ">", "<=", ">="):
            raise _Unsupported
        constant = _parse_constant(self._take())
        if operator in _TEXT_OPERATORS and not isinstance(constant, str):
            raise _Unsupported
        if operator == "matches" and not _is_pattern(str(constant)):
            raise _Unsupported
        return SlotComparison(slot, "=" if operator in _EQUAL else operator, constant)

    def _next(self) -> str:
        return self.rest[0].lower() if self.rest else ""

    def _take(self) -> str:
        if not self.rest:
            raise _Unsupported
        token, self.rest = self.rest[0], self.rest[1:]
        return token


def _parse_constant(token: str) -> JsonValue:
    if token[0] in "\"'":
        return token[1:-1]
    if token.lower() in _CONSTANTS:
        return _CONSTANTS[token.lower()]
    if token.startswith(("slots.", "context.")) or token in "()<>=":
        raise _Unsupported
    try:
        return float(token)
    except ValueError:
        return token


def _is_pattern(text: str) -> bool:
    try:
        compile_pattern(text)
    except ValueError:
        return False
    return True


def _evaluate(node: Node, values: Mapping[str, JsonValue]) -> bool | None:
    if isinstance(node, SlotComparison):
        return _compare(node, values[node.slot]) if node.slot in values else None
    results = [_evaluate(part, values) for part in node.parts]
    if node.operator == "not":
        return None if results[0] is None else not results[0]
    decisive = node.operator == "or"
    if decisive in results:
        return decisive
    return None if None in results else not decisive


def _compare(comparison: SlotComparison, value: JsonValue) -> bool | None:
    constant, operator = comparison.constant, comparison.operator
    if not operator:
        return bool(value)
    if operator == "=":
        return _is_equal(value, constant)
    if operator in _TEXT_OPERATORS:
        return _has_text(value, operator, str(constant))
    left, right = _to_number(value), _to_number(constant)
    if left is None or right is None:
        return None
    return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[operator]


def _has_text(value: JsonValue, operator: str, text: str) -> bool | None:
    if isinstance(value, list) and operator == "contains":
        return text in value
    if not isinstance(value, str):
        return None
    return text in value if operator == "contains" else has_match_in_time(text, value)


def _is_equal(value: JsonValue, constant: JsonValue) -> bool:
    """Return whether a slot has a constant's value. Booleans are often compared with words."""
    if isinstance(value, bool) and isinstance(constant, str):
        return constant.lower() in (_YES if value else _NO)
    if isinstance(constant, bool) and isinstance(value, str):
        return value.lower() in (_YES if constant else _NO)
    number, other = _to_number(value), _to_number(constant)
    return number == other if number is not None and other is not None else value == constant


def _to_number(value: JsonValue) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None
