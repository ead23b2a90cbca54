"""Check the source of functions without executing it, so that files can be validated where no code may run."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

FILE = "functions.py"
"""The name of the file in a dataset and in tracebacks."""
GIVEN = frozenset({"db", "now", "new_id", "kept"})
"""Parameters that the sandbox fills: the tables, the simulated time, a function that returns a new id, and a dict that
is kept for the next call."""
RESERVED = frozenset({"list_functions", "read_policy"})
"""Names of operations that every sandbox of tables has."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_NOT_PARSED = (ValueError, RecursionError, MemoryError)
"""What the parser raises besides SyntaxError: for a NUL, and for nesting that is too deep."""


class SourceMistake(NamedTuple):
    """A mistake in the source, at a line."""

    line: int
    message: str
    hint: str = ""


def list_function_names(source: str) -> list[str]:
    """Return the names of the public functions; none if the source cannot be parsed."""
    try:
        return [function.name for function in _list_functions(ast.parse(source))]
    except (SyntaxError, *_NOT_PARSED):
        return []


def find_mistakes(source: str) -> Iterator[SourceMistake]:
    """Yield the mistakes that can be found without executing the source."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        yield SourceMistake(error.lineno or 1, f"it is not Python: {error.msg}")
        return
    except _NOT_PARSED as error:
        yield SourceMistake(1, f"it is not Python: {error}")
        return
    functions = _list_functions(tree)
    if not functions:
        yield SourceMistake(1, "it has no public function", "write `def NAME(db, …)` at the top level")
    seen: set[str] = set()
    for function in functions:
        yield from _check_function(function)
        if function.name in seen:
            yield SourceMistake(function.lineno, f"`{function.name}` is defined twice")
        seen.add(function.name)


def _list_functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [function for function in functions if not function.name.startswith("_")]


def _check_function(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[SourceMistake]:
    name, line, arguments = function.name, function.lineno, function.args
    if isinstance(function, ast.AsyncFunctionDef):
        yield SourceMistake(line, f"`{name}` is async", "write `def`: a call changes the tables at once")
    if _NAME.fullmatch(name) is None:
        yield SourceMistake(line, f"`{name[:80]}` cannot be the name of a tool", "use at most 64 letters and digits")
    if name in RESERVED:
        yield SourceMistake(line, f"`{name}` is the name of a built-in operation", "rename the function")
    if arguments.vararg is not None or arguments.kwarg is not None or arguments.posonlyargs:
        yield SourceMistake(line, f"`{name}` has `*`, `**` or `/` parameters", "name each parameter")
    parameters = [*arguments.args, *arguments.kwonlyargs]
    if not any(parameter.arg == "db" for parameter in parameters):
        yield SourceMistake(line, f"`{name}` has no parameter `db`", f"write `def {name}(db, …)`")
    if ast.get_docstring(function) is None:
        yield SourceMistake(line, f"`{name}` has no docstring", "say what it does: agents read it")
    for parameter in parameters:
        if parameter.arg not in GIVEN and parameter.annotation is None:
            yield SourceMistake(parameter.lineno, f"`{name}`: parameter `{parameter.arg}` has no type")
