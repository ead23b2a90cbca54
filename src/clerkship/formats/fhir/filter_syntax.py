"""Syntax trees of the expressions that most files have: names and filters, as `telecom.where(system = 'phone').value`.

The parser of fhirpathpy returns the same trees, but takes a tenth of a second to import.
"""

import re
from collections.abc import Sequence
from typing import Any

SyntaxTree = dict[str, Any]
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_PATH = rf"{_NAME}(?:\.{_NAME})*"
_FILTER = rf"where\( *({_PATH}) *= *('[ -&(-\[\]-~]*') *\)"
_STEP = re.compile(rf"{_FILTER}|({_NAME})")
_EXPRESSION = re.compile(rf"{_NAME}(?:\.(?:{_FILTER}|{_NAME}))*")
_KEYWORDS = frozenset({"and", "as", "contains", "div", "false", "implies", "in", "is", "mod", "or", "true", "xor"})
_UNITS = ("year", "month", "week", "day", "hour", "minute", "second", "millisecond")
_RESERVED = _KEYWORDS | {*_UNITS, *(f"{unit}s" for unit in _UNITS)}
"""Words that are not names everywhere."""


def parse_filters(text: str) -> SyntaxTree | None:
    """Return the tree of an expression; None if it has more than names and filters."""
    if _EXPRESSION.fullmatch(text) is None:
        return None
    steps: list[tuple[str, str, str]] = _STEP.findall(text)
    if not _RESERVED.isdisjoint(part for path, _, name in steps for part in (path or name).split(".")):
        return None
    tree = _build_term(steps[0][2])
    for path, literal, name in steps[1:]:
        call = _build_member(name) if name else _build_filter(path, literal)
        tree = _invoke(tree, call, name or f"where({path}={literal})")
    return {"children": [tree]}


def _build_node(type: str, *children: SyntaxTree, text: str = "", signs: Sequence[str] = ()) -> SyntaxTree:
    node: SyntaxTree = {"type": type, "terminalNodeText": list(signs)}
    if text:
        node["text"] = text
    if children:
        node["children"] = list(children)
    return node


def _build_identifier(name: str) -> SyntaxTree:
    return _build_node("Identifier", text=name, signs=(name,))


def _build_member(name: str) -> SyntaxTree:
    return _build_node("MemberInvocation", _build_identifier(name))


def _build_term(name: str) -> SyntaxTree:
    return _build_node("TermExpression", _build_node("InvocationTerm", _build_member(name)), text=name)


def _build_filter(path: str, literal: str) -> SyntaxTree:
    first, *names = path.split(".")
    tree = _build_term(first)
    for name in names:
        tree = _invoke(tree, _build_member(name), name)
    value = _build_node("LiteralTerm", _build_node("StringLiteral", text=literal, signs=(literal,)), text=literal)
    condition = _build_node("EqualityExpression", tree, _build_node("TermExpression", value, text=literal), signs="=")
    arguments = _build_node("ParamList", condition)
    return _build_node("FunctionInvocation", _build_node("Functn", _build_identifier("where"), arguments, signs="()"))


def _invoke(tree: SyntaxTree, call: SyntaxTree, text: str) -> SyntaxTree:
    return _build_node("InvocationExpression", tree, call, text=f"{tree['text']}.{text}", signs=".")
