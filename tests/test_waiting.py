"""Tests do not depend on the speed of the machine: no fixed pauses, no assertions on measured time."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent
CLOCKS = {"monotonic", "perf_counter", "process_time", "time", "thread_time"}
LONG_PAUSE = 60
"""Seconds. A pause of this length stands for an agent that hangs; no test waits for its end."""
ALLOWED_PAUSES = {
    "clients/cds_judges/programs/pyjwt_serve.py": "an access token expires in wall time, in whole seconds",
    "engine/killable_process.py": "an agent that can be killed between two actions",
    "engine/test_conversations.py": "an agent that answers after the turn timeout, however fast the machine is",
    "engine/test_model_time.py": "a model and an agent whose time counts against a limit",
    "kit/test_descriptors.py": "the loop must run into the exhausted descriptors; asyncio reports no event",
    "engine/held_agent.py": "an agent that is killed in the middle of its work",
    "playground/test_faults.py": "polls a connection in the loop under test",
}


def _files_that_call(*names: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the files of tests whose text has a call of one of the names: to parse all files takes seconds."""
    call = re.compile(rf"\b({'|'.join(names)})\s*\(")
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if call.search(text):
            yield path.relative_to(ROOT).as_posix(), ast.parse(text)


def _called_name(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_fixed_pause(node: ast.AST) -> bool:
    if _called_name(node) != "sleep" or not isinstance(node, ast.Call) or not node.args:
        return False
    seconds = node.args[0]
    if not isinstance(seconds, ast.Constant) or not isinstance(seconds.value, int | float):
        return False
    return 0 < seconds.value < LONG_PAUSE


def _measured_names(tree: ast.AST) -> set[str]:
    """Return the variables that hold a difference of two clock readings."""
    return {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _has_clock_difference(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _has_clock_difference(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.Sub)
        and CLOCKS & {_called_name(part.left), _called_name(part.right)}
        for part in ast.walk(node)
    )


def _asserts_on_time(node: ast.AST, measured: set[str]) -> bool:
    return isinstance(node, ast.Assert) and any(
        isinstance(part, ast.Compare)
        and (_has_clock_difference(part) or any(isinstance(n, ast.Name) and n.id in measured for n in ast.walk(part)))
        for part in ast.walk(node.test)
    )


def test_tests_have_no_fixed_pauses() -> None:
    pauses = {name for name, tree in _files_that_call("sleep") if any(map(_is_fixed_pause, ast.walk(tree)))}
    assert pauses - ALLOWED_PAUSES.keys() == set(), "wait for a condition with tests.waiting.wait_until"
    assert ALLOWED_PAUSES.keys() - pauses == set(), "remove files without pauses from the list"


def test_tests_do_not_assert_on_measured_time() -> None:
    found = []
    for name, tree in _files_that_call(*CLOCKS):
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                measured = _measured_names(function)
                found += [
                    f"{name}:{part.lineno}"
                    for part in ast.walk(function)
                    if isinstance(part, ast.Assert) and _asserts_on_time(part, measured)
                ]
    assert found == [], "count what is done, or use tests.waiting.processor_limit"
