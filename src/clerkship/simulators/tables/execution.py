"""Run a function of the author with a limit on its steps, which is the same on every machine, unlike time.

The steps are counted by calls that are added to the source. A trace function would count lines, but in Python 3.11 a
traced function never begins while an exception waits for a thread that does not run, as for an agent that is stopped.
"""

import ast
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any, TypeVar

from clerkship.kit.text import describe_error
from clerkship.model.errors import ClerkshipError
from clerkship.simulators.tables.source import FILE

STEP, STEPS = "__step__", "__steps__"
"""The names of the functions that the counted source calls."""
T = TypeVar("T")
_running = threading.local()


class FunctionFailed(ClerkshipError):
    """A function failed in a way that is a mistake of its author: the trial is errored."""


class TooManySteps(BaseException):
    """A call took more steps than allowed. It is no Exception, so that a function does not catch it by accident."""


class _StepCounter(ast.NodeTransformer):
    """Adds a call to the beginning of each function and each round of a loop."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.body.insert(1 if ast.get_docstring(node, clean=False) is not None else 0, _build_step())
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.body.insert(0, _build_step())
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        node.body.insert(0, _build_step())
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter = ast.Call(ast.Name(STEPS, ast.Load()), [node.iter], [])
        return node


def _build_step() -> ast.stmt:
    return ast.Expr(ast.Call(ast.Name(STEP, ast.Load()), [], []))


def compile_counted(source: str) -> CodeType:
    """Compile a source that counts its steps; it needs `take_step` and `take_steps` under STEP and STEPS."""
    return compile(ast.fix_missing_locations(_StepCounter().visit(ast.parse(source))), FILE, "exec")


def take_step() -> None:
    """Count one step of the call that this thread runs. Raises TooManySteps."""
    left = getattr(_running, "left", None)
    if left is not None:
        _running.left = left - 1
        if left <= 0:
            raise TooManySteps


def take_steps(values: Iterable[T]) -> Iterator[T]:
    """Yield values, each of which is a step."""
    for value in values:
        take_step()
        yield value


def run_limited(function: Callable[..., Any], arguments: dict[str, Any], max_steps: int) -> Any:
    """Call a function of a counted source; raise TooManySteps after a number of steps.

    A loop inside other code is not interrupted.
    """
    before = getattr(_running, "left", None)
    _running.left = max_steps
    try:
        return function(**arguments)
    finally:
        _running.left = before


def describe_failure(name: str, error: BaseException) -> str:
    """Return the error of a function with its innermost line in the author's file."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    place = f" ({FILE}:{lines[-1]})" if lines else ""
    return f"`{name}` failed{place}: {describe_error(error)}; raise ValueError to refuse a call"
