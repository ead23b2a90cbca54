"""FHIRPath expressions: parsed by fhirpathpy, checked when files are read, and evaluated by `evaluation`."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NoReturn, Protocol

from clerkship.formats.fhir import exact
from clerkship.formats.fhir.evaluation.collection import EvaluationError, Item, Node
from clerkship.formats.fhir.evaluation.conversion_functions import CLOCK_FUNCTIONS
from clerkship.formats.fhir.evaluation.evaluator import FUNCTIONS, VARIABLE_NAMES, evaluate, is_variable, parse_literal
from clerkship.formats.fhir.evaluation.text_functions import PATTERN_FUNCTIONS, SINGLE_LINE, unquote
from clerkship.formats.fhir.evaluation.type_functions import TYPE_ARGUMENT_FUNCTIONS, check_type
from clerkship.formats.fhir.filter_syntax import SyntaxTree, parse_filters
from clerkship.formats.fhir.resource import Resource
from clerkship.model import pattern
from clerkship.model.names import did_you_mean

NO_CLOCK = "a check has no clock here: write {{ now }}"
MAX_EXPRESSION_LENGTH = 1000
_SAMPLE_RESOURCE: Resource = {"resourceType": "Basic"}
_SAMPLE_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_lock = threading.Lock()
_tree_cache: dict[str, SyntaxTree] = {}
"""Cache of parsed expressions, bounded by the expressions in files."""


class InvalidFhirPath(ValueError):
    """A text is neither a plain path nor a FHIRPath expression."""


class CompiledPath(Protocol):
    """Finds the values of a path in a resource; `now` is the time for an expression that needs it."""

    def __call__(self, resource: Resource, now: datetime | None = None) -> list[Any]:
        """Return plain JSON values."""


def compile_expression(text: str, *, has_clock: bool = False) -> CompiledPath:
    """Compile an expression; raises InvalidFhirPath if it is invalid, or needs the time where there is no clock."""
    if not text.strip() or len(text) > MAX_EXPRESSION_LENGTH:
        raise InvalidFhirPath(
            "expected a path" if not text.strip() else f"a path may have {MAX_EXPRESSION_LENGTH} characters"
        )
    tree = parse_expression(text)
    if not has_clock and (name := next(_iter_clock_functions(tree), None)):
        raise InvalidFhirPath(f"`{name}()` cannot be used here: {NO_CLOCK}")

    def find(resource: Resource, now: datetime | None = None) -> list[Any]:
        items = evaluate(tree, resource, now)
        return [_to_json(item) for item in items if not isinstance(item, Node) or item.value is not None]

    try:
        find(_SAMPLE_RESOURCE, _SAMPLE_TIME)
    except RecursionError:
        raise _build_depth_error(text) from None
    except (ArithmeticError, ValueError, pattern.PatternTooSlow) as error:
        raise InvalidFhirPath(f"`{text}` cannot be evaluated: {error}") from None
    return find


def parse_expression(text: str) -> SyntaxTree:
    """Parse an expression and check its names; raises InvalidFhirPath."""
    if text not in _tree_cache:
        try:
            tree = _parse(text)
            _check_names(tree)
        except RecursionError:
            raise _build_depth_error(text) from None
        except EvaluationError as error:
            raise InvalidFhirPath(f"`{text}`: {error}") from None
        _tree_cache[text] = tree
    return _tree_cache[text]


def _build_depth_error(text: str) -> InvalidFhirPath:
    return InvalidFhirPath(f"`{text[:40]}…` is nested too deeply")


def _parse(text: str) -> SyntaxTree:
    return parse_filters(text) or parse_any(text)


def parse_any(text: str) -> SyntaxTree:
    """Parse any expression with the parser of fhirpathpy; raises InvalidFhirPath on a syntax error."""
    from antlr4.tree.Tree import ParseTreeWalker  # noqa: PLC0415  (0.1 s, and most files need none of it)
    from fhirpathpy.parser.ASTPathListener import ASTPathListener  # noqa: PLC0415

    listener = ASTPathListener()
    with _lock:  # the parser has shared mutable tables
        ParseTreeWalker().walk(listener, _parse_syntax(text))
    return _bind_types(listener.parentStack[0])


def _bind_types(node: SyntaxTree) -> SyntaxTree:
    """Let `is` and `as` bind tighter than `|`, `<` and `>`, as in FHIRPath 2.0; the library's grammar is older."""
    children = [_bind_types(child) for child in node.get("children", ())]
    if node.get("type") == "TypeExpression" and children[0]["type"] in ("UnionExpression", "InequalityExpression"):
        operator, specifier = children
        left, right = operator["children"]
        return {**operator, "children": [left, _bind_types({**node, "children": [right, specifier]})]}
    return {**node, "children": children} if children else node


def _parse_syntax(text: str) -> Any:
    """Return the parse tree. Raise InvalidFhirPath on a syntax error.

    The library's own `parse` continues after errors and accepts `status status`.
    """
    from antlr4 import CommonTokenStream, InputStream  # noqa: PLC0415
    from antlr4.error.ErrorListener import ErrorListener  # noqa: PLC0415
    from fhirpathpy.parser.generated.FHIRPathLexer import FHIRPathLexer  # noqa: PLC0415
    from fhirpathpy.parser.generated.FHIRPathParser import FHIRPathParser  # noqa: PLC0415

    class Strict(ErrorListener):  # type: ignore[misc]
        def syntaxError(  # noqa: N802  (its name and arguments are theirs)
            self, recognizer: Any, symbol: Any, line: int, column: int, message: str, error: Any
        ) -> NoReturn:
            reason = message.partition(" expecting ")[0].replace("<EOF>", "end")  # the list of expected tokens is long
            raise InvalidFhirPath(f"`{text}` is not valid FHIRPath: at character {column + 1}, {reason}")

    lexer = FHIRPathLexer(InputStream(text))
    parser = FHIRPathParser(CommonTokenStream(lexer))
    for part in (lexer, parser):
        part.removeErrorListeners()
        part.addErrorListener(Strict())
    return parser.entireExpression().expression()


def _check_names(tree: SyntaxTree) -> None:
    """Raise InvalidFhirPath for functions, variables, types and literals that do not exist."""
    first = _find_first_term(tree)
    for node in _iter_nodes(tree):
        kind = node["type"]
        if kind == "ThisInvocation" and node is first:
            raise InvalidFhirPath("`$this` can be used only inside a function")
        if kind == "Functn":
            _check_function(node)
        elif kind == "TypeSpecifier":
            check_type(node["text"].replace("`", ""))
        elif kind == "LiteralTerm":
            parse_literal(node["children"][0])
        elif kind == "ExternalConstant":
            name = node["children"][0]["text"].strip("`'") if node.get("children") else ""
            if not is_variable(name):
                raise InvalidFhirPath(f"unknown variable `%{name}`; {did_you_mean(name, VARIABLE_NAMES)}")


def _check_function(node: SyntaxTree) -> None:
    name = _function_name(node)
    if name == "trace":
        raise InvalidFhirPath("`trace()` cannot be used here: it prints")
    if name not in FUNCTIONS:
        hint = did_you_mean(name, FUNCTIONS)
        raise InvalidFhirPath(f"unknown function `{name}()`{f'; {hint}' if hint else ''}")
    arguments = node["children"][1]["children"] if len(node["children"]) > 1 else []
    arity = FUNCTIONS[name].arity
    if len(arguments) not in arity:
        raise InvalidFhirPath(f"`{name}()` takes {' or '.join(map(str, arity))} arguments, not {len(arguments)}")
    if name in TYPE_ARGUMENT_FUNCTIONS:
        check_type(arguments[0].get("text", "").replace("`", ""))
    elif name in PATTERN_FUNCTIONS:
        _check_pattern(arguments[0].get("text", ""))


def _check_pattern(argument: str) -> None:
    """Raise InvalidFhirPath for a literal that is not a valid regular expression, or is a slow one."""
    if argument.startswith("'") and argument.endswith("'"):
        try:
            pattern.check_pattern(SINGLE_LINE + unquote(argument))
        except ValueError as error:
            raise InvalidFhirPath(str(error)) from None


def _iter_clock_functions(tree: SyntaxTree) -> Iterator[str]:
    names = (_function_name(node) for node in _iter_nodes(tree) if node["type"] == "Functn")
    return (name for name in names if name in CLOCK_FUNCTIONS)


def _function_name(node: SyntaxTree) -> str:
    return str(node["children"][0]["text"]).strip("`")


def _iter_nodes(node: SyntaxTree) -> Iterator[SyntaxTree]:
    for child in node.get("children", ()):
        yield child
        yield from _iter_nodes(child)


def _find_first_term(node: SyntaxTree) -> SyntaxTree:
    """Return the first term of an expression."""
    while node.get("children"):
        node = node["children"][0]
    return node


def _to_json(item: Item) -> Any:
    """Convert an item to JSON: a date or a quantity as it is written."""
    if isinstance(item, Node):
        return exact.to_plain(item.value)
    if isinstance(item, Decimal):
        return int(item) if item == item.to_integral_value() and abs(item) < 2**53 else float(item)
    return item if isinstance(item, str | int) else str(item)
