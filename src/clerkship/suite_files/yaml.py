"""Parse YAML 1.2 and keep the position of every value. PyYAML's C parser builds the tree; scalars are resolved here.

PyYAML resolves scalars by YAML 1.1, where `yes` is a boolean and `1:30` is ninety. So its tree is composed without
resolving, and the core schema of YAML 1.2 (§10.3.2) is applied to it. Aliases, keys and includes are checked as
well.

See docs/decisions/0011-task-files-and-datasets.md.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from clerkship.model.errors import InputProblem
from clerkship.model.names import canonical_name

MAX_VALUES = 100_000
MAX_CHARACTERS = 10_000_000
MAX_DEPTH = 100
_PLAIN = "?"
_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_JSON = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_MAX_UNCHECKED_DEPTH = 500
_DASH_RUN = re.compile(rf"(?<![-? \t])[-? \t]{{{_MAX_UNCHECKED_DEPTH}}}")
_CONSTANTS = dict.fromkeys(("null", "Null", "NULL", "~", ""))
_CONSTANTS |= {name: name.lower() == "true" for name in ("true", "True", "TRUE", "false", "False", "FALSE")}

Include = Callable[[str, Node], "YamlTree"]
KeyPath = Sequence[int | str]


class InvalidYaml(Exception):
    """The text is not valid YAML, or uses a feature that is not supported."""

    def __init__(self, message: str, line: int, column: int, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


class YamlTooLarge(InvalidYaml):
    """The text exceeds a limit once aliases and includes are followed. Reading stops."""


class _NoResolver(yaml.resolver.BaseResolver):
    """A resolver that leaves plain scalars unresolved."""

    def resolve(self, kind: type[Node], value: str | None, implicit: Any) -> str:
        if kind is ScalarNode:
            return _PLAIN if implicit[0] else _TAG + "str"
        return _TAG + ("seq" if kind is SequenceNode else "map")


class _Composer(CParser, _NoResolver):
    """Composes an unresolved tree with the C parser."""

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        _NoResolver.__init__(self)


@dataclass
class ParseBudget:
    """What is left of the limits for one file, including its aliases and includes."""

    values: int = MAX_VALUES
    characters: int = MAX_CHARACTERS
    depth: int = 0

    def take(self, node: Node, characters: int) -> None:
        """Subtract one value. Raise YamlTooLarge if nothing is left."""
        self.values -= 1
        self.characters -= characters
        if self.values < 0:
            raise _error_at(
                node, f"more than {MAX_VALUES:,} values once aliases and includes are followed", kind=YamlTooLarge
            )
        if self.characters < 0:
            message = f"more than {MAX_CHARACTERS:,} characters once aliases and includes are followed"
            raise _error_at(node, message, kind=YamlTooLarge)


class SourceLocation(NamedTuple):
    """A location in a file, and the keys that lead to it."""

    file: str
    line: int
    column: int
    keys: list[int | str]

    @property
    def text(self) -> str:
        """The location as text: `tasks/refill.yml:12:5`."""
        return f"{self.file}:{self.line}:{self.column}"

    def problem(self, message: str, hint: str = "") -> InputProblem:
        key = format_key_path(self.keys)
        return InputProblem(file=self.file, line=self.line, column=self.column, key=key, message=message, hint=hint)


def format_key_path(keys: KeyPath) -> str:
    """Return a path as messages show it."""
    text = ".".join(map(str, keys))
    return text if len(text) <= 200 else f"{text[:199]}…"


@dataclass
class YamlTree:
    """A parsed file: its data, its nodes for finding positions, and the mistakes that did not stop the parser."""

    file: str
    data: Any
    node: Node
    included: dict[int, "YamlTree"] = field(default_factory=dict)
    mistakes: list[InvalidYaml] = field(default_factory=list)
    _pairs: dict[int, dict[str, tuple[ScalarNode, Node]]] = field(default_factory=dict)

    def locate(self, path: KeyPath, *, key: bool = False) -> SourceLocation:
        """Return the location of a path's value, or of its key. If the path does not exist, use its nearest parent."""
        tree, node = self._follow_include(self.node)
        location = SourceLocation(tree.file, *_line_and_column(node), [])
        for part in path:
            child = tree._child(node, part)
            if child is None:
                continue  # a key of the model that the file does not have, such as a union's branch
            name, value = child
            keys = [*location.keys, part if name is None else name.value]
            key_location = SourceLocation(tree.file, *_line_and_column(name or value), keys)
            tree, node = tree._follow_include(value)
            location = key_location if key else SourceLocation(tree.file, *_line_and_column(node), keys)
        return location

    def find_existing(self, path: KeyPath) -> list[bool]:
        """Return for each key of a path whether the file has it."""
        tree, node = self._follow_include(self.node)
        known: list[bool] = []
        for part in path:
            child = tree._child(node, part)
            known.append(child is not None)
            if child is not None:
                tree, node = tree._follow_include(child[1])
        return known

    def _child(self, node: Node, part: int | str) -> tuple[ScalarNode | None, Node] | None:
        if isinstance(node, SequenceNode):
            return (None, node.value[part]) if isinstance(part, int) and part < len(node.value) else None
        if not isinstance(node, MappingNode):
            return None
        if id(node) not in self._pairs:
            pairs = [(key, value) for key, value in reversed(node.value) if isinstance(key, ScalarNode)]
            canonical = {canonical_name(key.value): (key, value) for key, value in pairs}
            self._pairs[id(node)] = canonical | {key.value: (key, value) for key, value in pairs}
        return self._pairs[id(node)].get(str(part))

    def _follow_include(self, node: Node) -> tuple["YamlTree", Node]:
        """Return the tree and node with a node's content: in this file, or in an included one."""
        inner = self.included.get(id(node))
        return (self, node) if inner is None else inner._follow_include(inner.node)


def build_text_tree(file: str, text: str) -> YamlTree:
    """Return a tree for a file whose content is one text."""
    start = yaml.Mark(file, 0, 0, 0, None, 0)
    return YamlTree(file, text, ScalarNode(_TAG + "str", text, start, start))


def _line_and_column(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def parse_yaml(
    text: str,
    file: str,
    include: Include | None = None,
    budget: ParseBudget | None = None,
    *,
    allow_merge_keys: bool = False,
) -> YamlTree:
    """Parse one document. `allow_merge_keys` allows merge keys, which files of other tools use."""
    try:
        _check_depth(text)
        node = _Composer(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        raise _build_syntax_error(text, error) from None
    except yaml.reader.ReaderError as error:
        raise _build_character_error(text, error) from None
    if node is None:
        raise InvalidYaml("the file is empty, or has only comments", 1, 1)
    reader = _YamlReader(include, budget or ParseBudget(), allow_merge_keys=allow_merge_keys)
    return YamlTree(file, reader.read(node), node, reader.included, reader.mistakes)


_HINTS = {
    "undefined alias": "`*name` needs an `&name` before it; quote text that starts with `*`",
    "another document": "a file must be one document",
    "mapping values are not allowed": "keys of one map begin in the same column; quote text that holds `: `",
    "expected ',' or": "quote text that holds `: ` or a comma",
    "cannot start any token": "quote text that starts with a special character",
    "expected key": "keys of one map begin in the same column",
    "expected '-' indicator": "items of one list begin in the same column",
    "Unicode character escape": "write the character itself, or its code as \\U0001F600",
    "end of stream": "a quote that starts here is never closed",
    "could not find expected ':'": "a key needs a `:` and a space after it",
}


_TEMPLATE_HINT = 'quote text that contains a template: "{{ patient.name }}"'
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")


def _build_syntax_error(text: str, error: yaml.MarkedYAMLError) -> InvalidYaml:
    problem = error.problem or error.context or "it cannot be parsed"
    mark = error.problem_mark or error.context_mark
    if "end of stream" in problem:
        mark = error.context_mark or mark
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    hint = next((advice for part, advice in _HINTS.items() if part in problem), "")
    lines = text.split("\n")
    if "cannot start any token" in problem and line <= len(lines) and lines[line - 1][column - 1 : column] == "\t":
        hint = "indent with spaces, not tabs"
    if line <= len(lines) and "{{" in _QUOTED.sub("", lines[line - 1][: column + 1]):
        hint = _TEMPLATE_HINT
    return InvalidYaml(f"not YAML: {problem.removeprefix('but ')}", line, column, hint)


def _build_character_error(text: str, error: yaml.reader.ReaderError) -> InvalidYaml:
    before = text[: text.find(chr(error.character))] if isinstance(error.character, int) else ""
    column = len(before) - (before.rfind("\n") + 1) + 1
    message = f"not YAML: the character U+{error.character:04X} is not allowed"
    return InvalidYaml(message, before.count("\n") + 1, column, 'write it as an escape in "double quotes"')


def _check_depth(text: str) -> None:
    """Reject deeply nested text before composing it: PyYAML's C composer is recursive and would crash the process.

    The C parser is not recursive. If there are enough brackets or dashes to matter, count the depth with it first.
    """
    if text.count("[") + text.count("{") < _MAX_UNCHECKED_DEPTH and _DASH_RUN.search(text) is None:
        return
    parser = _Composer(text)
    depth = 0
    while (event := parser.get_event()) is not None:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _error_at(event, f"nested deeper than {MAX_DEPTH} levels", kind=YamlTooLarge)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _YamlReader:
    """Converts a tree to plain data. A mistake in one place is recorded, and the rest is still read."""

    def __init__(self, include: Include | None, budget: ParseBudget, *, allow_merge_keys: bool = False) -> None:
        self._allow_merge_keys = allow_merge_keys
        self.included: dict[int, YamlTree] = {}
        self.mistakes: list[InvalidYaml] = []
        self._include = include
        self._budget = budget
        self._open: set[int] = set()

    def read(self, node: Node) -> Any:
        self._budget.take(node, len(node.value) if isinstance(node, ScalarNode) else 0)
        if isinstance(node, ScalarNode):
            return self._read_scalar(node)
        if id(node) in self._open:
            raise _error_at(node, "the alias contains itself", kind=YamlTooLarge)
        if self._budget.depth >= MAX_DEPTH:
            raise _error_at(node, f"nested deeper than {MAX_DEPTH} levels", kind=YamlTooLarge)
        if node.tag not in (_TAG + "map", _TAG + "seq"):
            self._report(node, f"unknown tag {node.tag}", "only !include is supported")
        self._open.add(id(node))
        self._budget.depth += 1
        try:
            return (
                self._read_mapping(node) if isinstance(node, MappingNode) else [self.read(item) for item in node.value]
            )
        finally:
            self._budget.depth -= 1
            self._open.discard(id(node))

    def _report(self, node: Node, message: str, hint: str = "") -> None:
        self.mistakes.append(_error_at(node, message, hint))

    def _read_mapping(self, node: MappingNode) -> dict[str, Any]:
        data: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                hint = _TEMPLATE_HINT if isinstance(key, MappingNode) else "quote it if it begins with `{` or `[`"
                self._report(key, "a key must be text", hint)
            elif key.value == "<<" and key.tag == _PLAIN and self._allow_merge_keys:
                parts = self.read(value)
                for part in reversed(parts if isinstance(parts, list) else [parts]):
                    merged |= part if isinstance(part, dict) else {}
            elif key.value == "<<" and key.tag == _PLAIN:
                self._report(key, "merge keys are not part of YAML 1.2", "repeat the keys, or use !include")
            elif key.value in data:
                self._report(key, f"duplicate key `{key.value[:60]}`")
            else:
                data[key.value] = self.read(value)
        return merged | data if merged else data

    def _read_scalar(self, node: ScalarNode) -> Any:
        text: str = node.value
        if node.tag == _PLAIN:
            return self._resolve(node, text)
        if node.tag == _TAG + "str":
            return text
        if node.tag != "!include":
            self._report(node, f"unknown tag {node.tag}", "only !include is supported")
        elif self._include is None:
            self._report(node, "includes are not allowed here")
        else:
            return self._read_include(node, self._include)
        return None

    def _read_include(self, node: ScalarNode, include: Include) -> Any:
        try:
            tree = include(node.value, node)
        except YamlTooLarge as error:
            raise _error_at(node, f"include {node.value}: {error.message}", kind=YamlTooLarge) from None
        except InvalidYaml as error:
            self.mistakes.append(error)
            return None
        self.included[id(node)] = tree
        return tree.data

    def _resolve(self, node: ScalarNode, text: str) -> Any:
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if text[0] not in "+-.0123456789":
            return text
        if _INT.fullmatch(text):
            number = int(text, 0) if text[:2] in ("0o", "0x") else int(text) if len(text) < 25 else 1 << 64
            if not -(1 << 63) <= number < 1 << 63:
                self._report(node, "the number has more than 64 bits", "quote it if it is an identifier")
                return 0
            return number
        if _FLOAT.fullmatch(text) and math.isfinite(value := float(text)):
            return value
        if _FLOAT.fullmatch(text) or _NOT_JSON.fullmatch(text):
            self._report(node, "infinity and not-a-number are not allowed", "quote it if it is text")
        return text


def _error_at(node: Any, message: str, hint: str = "", *, kind: type[InvalidYaml] = InvalidYaml) -> InvalidYaml:
    return kind(message, *_line_and_column(node), hint)
