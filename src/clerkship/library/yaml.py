"""YAML 1.2 with positions. The C parser of PyYAML builds the tree; what its scalars mean is decided here.

PyYAML resolves by YAML 1.1, where `yes` is a boolean and `1:30` is ninety. The tree it composes is not yet
resolved, so the core schema of YAML 1.2 (§10.3.2) is applied to it instead, and aliases, keys and includes
are checked on the way.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

MOST_VALUES = 100_000
DEEPEST = 100
_PLAIN = "?"
_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_JSON = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_DEEP_BLOCK = re.compile(r"^[-? \t]{1000}", re.MULTILINE)
_CONSTANTS = dict.fromkeys(("null", "Null", "NULL", "~", ""))
_CONSTANTS |= {name: name.lower() == "true" for name in ("true", "True", "TRUE", "false", "False", "FALSE")}

Include = Callable[[str, Node], "Tree"]
Path = Sequence[int | str]


class BadYaml(Exception):
    """The text is not YAML as we take it; where, and why."""

    def __init__(self, message: str, line: int, column: int, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


class _Resolver(yaml.resolver.BaseResolver):
    """Leaves plain scalars unresolved."""

    def resolve(self, kind: type[Node], value: str | None, implicit: Any) -> str:
        if kind is ScalarNode:
            return _PLAIN if implicit[0] else _TAG + "str"
        return _TAG + ("seq" if kind is SequenceNode else "map")


class _Composer(CParser, _Resolver):  # type: ignore[misc]
    """Text to an unresolved tree, in C."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        _Resolver.__init__(self)


@dataclass
class Tree:
    """A parsed file: its data, and the nodes to find a place in it by."""

    file: str
    data: Any
    node: Node
    included: dict[int, "Tree"]

    def locate(self, path: Path, *, key: bool = False) -> tuple[str, int, int]:
        """File, line and column of a path's value (or of its key); of the nearest parent where it ends early."""
        tree, node = self._enter(self.node)
        place = node
        for part in path:
            found = _child(node, part)
            if found is None:
                continue  # a step of the model that the file does not have, such as a union's branch
            place = found[0] if key and found[0] is not None else found[1]
            if id(found[1]) in tree.included and place is found[1]:
                tree, node = tree.included[id(found[1])]._enter(found[1])
                place = node
            else:
                node = found[1]
        return tree.file, place.start_mark.line + 1, place.start_mark.column + 1

    def _enter(self, node: Node) -> tuple["Tree", Node]:
        inner = self.included.get(id(node))
        return inner._enter(inner.node) if inner is not None else (self, self.node)


def _child(node: Node, part: int | str) -> tuple[Node | None, Node] | None:
    if isinstance(node, MappingNode):
        return next(((k, v) for k, v in node.value if isinstance(k, ScalarNode) and k.value == str(part)), None)
    if isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
        return None, node.value[part]
    return None


def parse(text: str, file: str, include: Include | None = None) -> Tree:
    """Read one document."""
    _refuse_deep(text)
    try:
        node = _Composer(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise BadYaml(f"not YAML: {error.problem or error.context}", line, column, _advice(error)) from None
    except yaml.YAMLError as error:
        raise BadYaml(f"not YAML: {error}", 1, 1) from None
    if node is None:
        raise BadYaml("the file is empty", 1, 1)
    reader = _Reader(include)
    return Tree(file, reader.read(node), node, reader.included)


def _advice(error: yaml.MarkedYAMLError) -> str:
    problem = str(error.problem)
    if "cannot start any token" in problem or "mapping values are not allowed" in problem:
        return "quote text that holds `: ` or starts with a special character"
    return "a file holds one document" if "another document" in problem else ""


def _refuse_deep(text: str) -> None:
    """The C composer recurses; a wall of brackets or dashes would end the process rather than the parse."""
    for found in _DEEP_BLOCK.finditer(text):
        raise BadYaml(f"nested deeper than {DEEPEST} levels", text.count("\n", 0, found.start()) + 1, 1)
    if max(text.count("["), text.count("{")) < DEEPEST:
        return
    depth = 0
    for line, content in enumerate(text.splitlines(), 1):
        for column, character in enumerate(content, 1):
            depth += (character in "[{") - (character in "]}")
            if depth > DEEPEST * 4:
                raise BadYaml(f"nested deeper than {DEEPEST} levels", line, column)
        depth = max(depth, 0)


class _Reader:
    """The tree to plain data."""

    def __init__(self, include: Include | None) -> None:
        self.included: dict[int, Tree] = {}
        self._include = include
        self._count = 0
        self._open: set[int] = set()

    def read(self, node: Node) -> Any:
        self._count += 1
        if self._count > MOST_VALUES:
            raise _bad(node, f"more than {MOST_VALUES:,} values once its aliases are followed")
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if id(node) in self._open:
            raise _bad(node, "an alias that contains itself")
        if len(self._open) >= DEEPEST:
            raise _bad(node, f"nested deeper than {DEEPEST} levels")
        if node.tag not in (_TAG + "map", _TAG + "seq"):
            raise _bad(node, f"unknown tag {node.tag}")
        self._open.add(id(node))
        try:
            return self._mapping(node) if isinstance(node, MappingNode) else [self.read(item) for item in node.value]
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: MappingNode) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                raise _bad(key, "a key must be text")
            if key.value == "<<" and key.tag == _PLAIN:
                raise _bad(key, "merge keys are not part of YAML 1.2", "repeat the keys, or use !include")
            if key.value in data:
                raise _bad(key, f"duplicate key `{key.value}`")
            data[key.value] = self.read(value)
        return data

    def _scalar(self, node: ScalarNode) -> Any:
        text: str = node.value
        if node.tag == _PLAIN:
            return _resolve(node, text)
        if node.tag == _TAG + "str":
            return text
        if node.tag == "!include":
            if self._include is None:
                raise _bad(node, "includes are not allowed here")
            tree = self._include(text, node)
            self.included[id(node)] = tree
            return tree.data
        raise _bad(node, f"unknown tag {node.tag}", "only !include is known")


def _resolve(node: Node, text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INT.fullmatch(text):
        number = int(text, 0) if text[:2] in ("0o", "0x") else int(text) if len(text) < 25 else 1 << 64
        if not -(1 << 63) <= number < 1 << 63:
            raise _bad(node, "a whole number of more than 64 bits", "quote it if it is an identifier")
        return number
    if _NOT_JSON.fullmatch(text):
        raise _bad(node, "infinity and not-a-number have no place here", "quote it if it is text")
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _bad(node: Node, message: str, hint: str = "") -> BadYaml:
    return BadYaml(message, node.start_mark.line + 1, node.start_mark.column + 1, hint)
