"""Tests do not depend on the speed of the machine, nor on how they are started, and none waits for ever."""

import ast
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import IN_BACKGROUND
from tests.waiting import time_limit

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
    "transports/test_webhooks.py": "a sandbox that works longer than the clock is held for the agent",
}

WAITS = {"wait", "join", "communicate"}
FIRST_ARGUMENT = r"""[^\s)*](?!\w*=)"""
"""How a call without a limit does not go on: `text.join(parts)` is not that of a thread."""
PROGRAM_RUNNERS = {"run", "call", "check_call", "check_output"}
SIMULATED_TIME = {"sandboxes", "clinic", "desk", "caller"}
"""Names of what waits in simulated time: until nothing is due."""
ALLOWED_WAITS = {
    "api/test_abuse.py": "inside `asyncio.wait_for`",
    "command_server.py": "its process group is killed before",
    "live/watchdog.py": "the server of the live tests, until its standard input is closed",
    "processes.py": "kills the program before",
}


def _files_that_call(*names: str, without: str = "") -> Iterator[tuple[str, ast.Module]]:
    """Yield the files of tests whose text has a call of one of the names: to parse all files takes seconds.

    Calls whose first argument matches `without` do not count.
    """
    call = re.compile(rf"\b({'|'.join(names)})\s*\(" + (rf"(?!\s*{without})" if without else ""))
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


def _find_waits_without_limit(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield calls that wait for a thread or a program, however long that takes."""
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    entered = {id(item.context_expr) for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or id(node) in awaited:
            continue
        name, owner = _called_name(node), _get_owner(node)
        has_limit = any(keyword.arg in ("timeout", None) for keyword in node.keywords)
        waits = name in WAITS and not node.args and owner not in SIMULATED_TIME
        runs = name in PROGRAM_RUNNERS and owner == "subprocess"
        if ((waits or runs) and not has_limit) or (name == "Popen" and id(node) in entered):
            yield node


def _get_owner(call: ast.Call) -> str:
    """Return the last name before the name of a method: `sandboxes` of `site.sandboxes.wait()`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")


def test_tests_do_not_wait_without_a_limit() -> None:
    starts = ("Popen", *(rf"subprocess\.{name}" for name in PROGRAM_RUNNERS))
    files = [*_files_that_call(*WAITS, without=FIRST_ARGUMENT), *_files_that_call(*starts)]
    found = {(name, call.lineno) for name, tree in files for call in _find_waits_without_limit(tree)}
    places = sorted(f"{name}:{line}" for name, line in found if name not in ALLOWED_WAITS)
    assert places == [], "give a timeout; start programs with tests.processes.start_process"
    assert ALLOWED_WAITS.keys() - {name for name, _ in found} == set(), "remove files without such waits from the list"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("process.wait(); thread.join(); process.communicate(); subprocess.run(command)", 4),
        ("process.wait(3); thread.join(timeout=3); subprocess.run(command, timeout=3); run(command)", 0),
        ("site.sandboxes.wait(); clinic.wait(); ', '.join(names)", 0),
        ("with subprocess.Popen(command) as process: process.kill()", 1),
        ("with start_process(command) as process: process.poll()", 0),
    ],
)
def test_waits_without_a_limit_are_found(code: str, count: int) -> None:
    assert len(list(_find_waits_without_limit(ast.parse(code)))) == count


def _assert_is_limited() -> None:
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def limited() -> Iterator[None]:
    """Check that setup and teardown have a limit too."""
    _assert_is_limited()
    yield
    _assert_is_limited()


@pytest.mark.usefixtures("limited")
def test_each_phase_of_a_test_has_a_time_limit_and_can_be_interrupted() -> None:
    _assert_is_limited()


def test_interrupts_work_in_tests_that_run_in_the_background() -> None:
    limited = f"{__file__}::{test_each_phase_of_a_test_has_a_time_limit_and_can_be_interrupted.__name__}"
    command = [
        *IN_BACKGROUND,
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        limited,
    ]
    done = subprocess.run(command, cwd=ROOT.parent, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_test_that_hangs_is_ended() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"not over within 0\.01 s"), time_limit(0.01):
        threading.Event().wait(60)
