"""FHIRPath expressions, by the package that has the language: refused where it would let a mistake pass, and kept from
what a check may not ask for, such as the time on the wall."""

import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NoReturn

from clerkship.fhir.resource import Resource
from clerkship.model import pattern
from clerkship.model.names import did_you_mean

_CLOCK = ("now", "today", "timeOfDay")
_REFUSED = dict.fromkeys(_CLOCK, "a check has no clock: write {{ now }}") | {"trace": "it prints"}
_VARIABLES = ("resource", "rootResource", "context", "ucum")
LONGEST = 1000
_lock = threading.Lock()
Node = dict[str, Any]
_trees: dict[str, Node] = {}
"""What was parsed, for whoever checks more of it; no more than there are expressions in files."""


class BadPath(ValueError):
    """What is no path, and no FHIRPath expression."""


def compile_expression(text: str) -> Callable[[Resource], list[Any]]:
    """What finds the values of an expression; raises BadPath where it is wrong."""
    import fhirpathpy  # noqa: PLC0415  (0.1 s, and most paths are plain ones)
    from fhirpathpy.models import models  # noqa: PLC0415

    if not text.strip() or len(text) > LONGEST:
        raise BadPath("expected a path" if not text.strip() else f"a path may have {LONGEST} characters")
    try:
        with _lock:  # the parser keeps tables of its own, shared by all
            _check_syntax(text)
            found = fhirpathpy.compile(text, model=models["r4"], options={"userInvocationTable": _OURS})
        _check_names(found.parsedPath)
        _trees[text] = found.parsedPath
    except RecursionError:
        raise BadPath(f"`{text[:40]}…` is nested too deeply") from None

    def evaluate(resource: Resource) -> list[Any]:
        return [_plain(value) for value in found(resource, {"resource": resource, "rootResource": resource})]

    try:
        evaluate({"resourceType": "Basic"})
    except Exception as error:  # it has no exception of its own for an expression that it cannot read
        raise BadPath(f"`{text}` is no FHIRPath that can be used here: {error}") from None
    return evaluate


def tree_of(text: str) -> Node:
    """An expression as it is parsed."""
    if text not in _trees:
        compile_expression(text)
    return _trees[text]


def _check_syntax(text: str) -> None:
    """Its own way to parse goes on after a mistake, and takes `status status` for `status`."""
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


def _check_names(tree: Node) -> None:
    """Functions and variables that there are; it would miss the others only where it comes to them."""
    from fhirpathpy.engine.invocations import invocation_registry  # noqa: PLC0415

    known = {name: entry for name, entry in invocation_registry.items() if name.isalpha() and not name.endswith("Op")}
    for node in _nodes(tree):
        if node["type"] == "ThisInvocation" and node is _first(tree):
            raise BadPath("`$this` means something inside a function alone")
        if node["type"] == "Functn":
            _check_function(node, known)
        elif node["type"] == "QuantityLiteral" and "'" in node["text"]:
            raise BadPath(
                f"`{node['text']}`: quantities are not compared here; write value.value > 1.4, and check the unit"
            )
        elif node["type"] == "ExternalConstant":
            name = node["children"][0]["text"].strip("`'") if node.get("children") else ""
            if name not in _VARIABLES:
                raise BadPath(f"unknown variable `%{name}`; {did_you_mean(name, _VARIABLES)}")


def _check_function(node: Node, known: dict[str, Any]) -> None:
    name = node["children"][0]["text"]
    if name in _REFUSED:
        raise BadPath(f"`{name}()` cannot be used here: {_REFUSED[name]}")
    if name not in known:
        hint = did_you_mean(name, set(known) - set(_REFUSED))
        raise BadPath(f"unknown function `{name}()`{f'; {hint}' if hint else ''}")
    given = len(node["children"][1].get("children", ())) if len(node["children"]) > 1 else 0
    taken = known[name].get("arity", {0: ()})
    if "variadic" not in known[name] and given not in taken:
        raise BadPath(f"`{name}()` takes {' or '.join(map(str, taken))} arguments, not {given}")
    if name in _OURS:
        _check_pattern(node["children"][1]["children"][0].get("text", ""))


def _check_pattern(argument: str) -> None:
    """Refuse a literal that is no regular expression, or a slow one."""
    if argument.startswith("'") and argument.endswith("'"):
        try:
            pattern.check_pattern(argument[1:-1].replace("\\\\", "\\").replace("\\'", "'"))
        except ValueError as error:
            raise BadPath(str(error)) from None


def _nodes(node: Node) -> Iterator[Node]:
    for child in node.get("children", ()):
        yield child
        yield from _nodes(child)


def _first(node: Node) -> Node:
    """What an expression begins with."""
    while node.get("children"):
        node = node["children"][0]
    return node


def _plain(value: Any) -> Any:
    """As JSON has it: a date or a quantity that was worked out as it is written."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | None) else str(value)


def _matches(found: list[Any], wanted: str) -> list[bool]:
    return [pattern.found(wanted, found[0])] if len(found) == 1 and isinstance(found[0], str) else []


def _replace(found: list[Any], wanted: str, by: str) -> list[str]:
    if len(found) != 1 or not isinstance(found[0], str):
        return []
    try:
        return [pattern.compile_pattern(wanted).sub(by, found[0], timeout=pattern.TIME_LIMIT)]
    except TimeoutError:
        raise pattern.PatternTooSlow(f"the pattern {wanted!r} took over {pattern.TIME_LIMIT:g} s") from None


_OURS = {
    "matches": {"fn": _matches, "arity": {1: ["String"]}, "nullable_input": True},
    "replaceMatches": {"fn": _replace, "arity": {2: ["String", "String"]}, "nullable_input": True},
}
"""Regular expressions that cannot hang a run."""
