"""FHIRPath expressions: parsed by fhirpathpy, checked when files are read, and evaluated by `evaluation`."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NoReturn, Protocol

from clerkship.fhir import exact
from clerkship.fhir.evaluation.collection import Item, Node, PathError
from clerkship.fhir.evaluation.conversion import READING_THE_CLOCK
from clerkship.fhir.evaluation.evaluator import FUNCTIONS, VARIABLE_NAMES, evaluate, is_variable, read_literal
from clerkship.fhir.evaluation.text import SINGLE_LINE, TAKING_A_PATTERN, unquote
from clerkship.fhir.evaluation.type_names import NAMING_A_TYPE, check_type
from clerkship.fhir.resource import Resource
from clerkship.model import pattern
from clerkship.model.names import did_you_mean

NO_CLOCK = "a check has no clock here: write {{ now }}"
LONGEST = 1000
_TRIAL: Resource = {"resourceType": "Basic"}
_TRIAL_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_lock = threading.Lock()
Tree = dict[str, Any]
_trees: dict[str, Tree] = {}
"""Parsed expressions; no more than there are expressions in files."""


class BadPath(ValueError):
    """A text is neither a path nor a FHIRPath expression."""


class Find(Protocol):
    """Find the values of a path in a resource; `now` is the time for an expression that asks for it."""

    def __call__(self, resource: Resource, now: datetime | None = None) -> list[Any]:
        """Return plain JSON values."""


def compile_expression(text: str, *, has_clock: bool = False) -> Find:
    """Compile an expression; raises BadPath if it is wrong, or asks for the time where there is no clock."""
    if not text.strip() or len(text) > LONGEST:
        raise BadPath("expected a path" if not text.strip() else f"a path may have {LONGEST} characters")
    tree = tree_of(text)
    if not has_clock and (name := next(_clock_functions(tree), None)):
        raise BadPath(f"`{name}()` cannot be used here: {NO_CLOCK}")

    def find(resource: Resource, now: datetime | None = None) -> list[Any]:
        items = evaluate(tree, resource, now)
        return [_plain(item) for item in items if not isinstance(item, Node) or item.value is not None]

    try:
        find(_TRIAL, _TRIAL_TIME)
    except RecursionError:
        raise _too_deep(text) from None
    except (ArithmeticError, ValueError, pattern.PatternTooSlow) as error:
        raise BadPath(f"`{text}` cannot be evaluated: {error}") from None
    return find


def tree_of(text: str) -> Tree:
    """Parse an expression and check its names; raises BadPath if it is wrong."""
    if text not in _trees:
        try:
            tree = _parse(text)
            _check_names(tree)
        except RecursionError:
            raise _too_deep(text) from None
        except PathError as error:
            raise BadPath(f"`{text}`: {error}") from None
        _trees[text] = tree
    return _trees[text]


def _too_deep(text: str) -> BadPath:
    return BadPath(f"`{text[:40]}…` is nested too deeply")


def _parse(text: str) -> Tree:
    from fhirpathpy.parser import parse  # noqa: PLC0415  (0.1 s, and most paths are plain ones)

    with _lock:  # the parser keeps tables of its own, shared by all
        _check_syntax(text)
        tree: Tree = parse(text)
    return _bind_types(tree)


def _bind_types(node: Tree) -> Tree:
    """Let `is` and `as` bind tighter than `|`, `<` and `>`, as in FHIRPath 2.0; the library's grammar is older."""
    children = [_bind_types(child) for child in node.get("children", ())]
    if node.get("type") == "TypeExpression" and children[0]["type"] in ("UnionExpression", "InequalityExpression"):
        operator, specifier = children
        left, right = operator["children"]
        return {**operator, "children": [left, _bind_types({**node, "children": [right, specifier]})]}
    return {**node, "children": children} if children else node


def _check_syntax(text: str) -> None:
    """Refuse what is not FHIRPath: the library's own parser goes on after an error, and reads `status status`."""
    from antlr4 import CommonTokenStream, InputStream  # noqa: PLC0415
    from antlr4.error.ErrorListener import ErrorListener  # noqa: PLC0415
    from fhirpathpy.parser.generated.FHIRPathLexer import FHIRPathLexer  # noqa: PLC0415
    from fhirpathpy.parser.generated.FHIRPathParser import FHIRPathParser  # noqa: PLC0415

    class Strict(ErrorListener):  # type: ignore[misc]
        def syntaxError(  # noqa: N802  (its name and arguments are theirs)
            self, recognizer: Any, symbol: Any, line: int, column: int, message: str, error: Any
        ) -> NoReturn:
            said = message.partition(" expecting ")[0].replace(
                "<EOF>", "end"
            )  # what else may stand there is a long list
            raise BadPath(f"`{text}` is no FHIRPath: at character {column + 1}, {said}")

    lexer = FHIRPathLexer(InputStream(text))
    parser = FHIRPathParser(CommonTokenStream(lexer))
    for part in (lexer, parser):
        part.removeErrorListeners()
        part.addErrorListener(Strict())
    parser.entireExpression()


def _check_names(tree: Tree) -> None:
    """Refuse functions, variables, types and literals that do not exist, wherever they stand."""
    first = _first(tree)
    for node in _nodes(tree):
        kind = node["type"]
        if kind == "ThisInvocation" and node is first:
            raise BadPath("`$this` means something inside a function alone")
        if kind == "Functn":
            _check_function(node)
        elif kind == "TypeSpecifier":
            check_type(node["text"].replace("`", ""))
        elif kind == "LiteralTerm":
            read_literal(node["children"][0])
        elif kind == "ExternalConstant":
            name = node["children"][0]["text"].strip("`'") if node.get("children") else ""
            if not is_variable(name):
                raise BadPath(f"unknown variable `%{name}`; {did_you_mean(name, VARIABLE_NAMES)}")


def _check_function(node: Tree) -> None:
    name = _function_name(node)
    if name == "trace":
        raise BadPath("`trace()` cannot be used here: it prints")
    if name not in FUNCTIONS:
        hint = did_you_mean(name, FUNCTIONS)
        raise BadPath(f"unknown function `{name}()`{f'; {hint}' if hint else ''}")
    given = node["children"][1]["children"] if len(node["children"]) > 1 else []
    arity = FUNCTIONS[name].arity
    if len(given) not in arity:
        raise BadPath(f"`{name}()` takes {' or '.join(map(str, arity))} arguments, not {len(given)}")
    if name in NAMING_A_TYPE:
        check_type(given[0].get("text", "").replace("`", ""))
    elif name in TAKING_A_PATTERN:
        _check_pattern(given[0].get("text", ""))


def _check_pattern(argument: str) -> None:
    """Refuse a literal that is no regular expression, or a slow one."""
    if argument.startswith("'") and argument.endswith("'"):
        try:
            pattern.check_pattern(SINGLE_LINE + unquote(argument))
        except ValueError as error:
            raise BadPath(str(error)) from None


def _clock_functions(tree: Tree) -> Iterator[str]:
    names = (_function_name(node) for node in _nodes(tree) if node["type"] == "Functn")
    return (name for name in names if name in READING_THE_CLOCK)


def _function_name(node: Tree) -> str:
    return str(node["children"][0]["text"]).strip("`")


def _nodes(node: Tree) -> Iterator[Tree]:
    for child in node.get("children", ()):
        yield child
        yield from _nodes(child)


def _first(node: Tree) -> Tree:
    """Return the first term of an expression."""
    while node.get("children"):
        node = node["children"][0]
    return node


def _plain(item: Item) -> Any:
    """Convert an item to JSON: a date or a quantity as it is written."""
    if isinstance(item, Node):
        return exact.plain(item.value)
    if isinstance(item, Decimal):
        return int(item) if item == item.to_integral_value() and abs(item) < 2**53 else float(item)
    return item if isinstance(item, str | int) else str(item)
