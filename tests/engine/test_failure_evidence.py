# ruff: noqa: T201  (agents print)
"""What is stored when an agent or the platform fails: output, stacks, reasons and tracebacks."""

import asyncio
import dataclasses
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import httpx
import orjson
import pytest

from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.run import TaskRun
from clerkship.report.detail import TaskDetail
from clerkship.report.trial_card import build_body
from clerkship.sandbox.request import Reply
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.simulators import chat, files
from clerkship.simulators.files.http import ROUTES
from clerkship.simulators.registry import load_simulators
from tests.command_server import get_command
from tests.raw_routes import RawCall, raw_route
from tests.workbench import Workbench

DESK = "environment: {name: desk, simulators: {drop: {kind: files}}}\n"
WORK = "task: {name: Work, timeout: 20, criteria: [{label: answers, assertion: {answer_matches: 42}}]}"
HANGS = WORK.replace("20", "0.2")


def sidecar(bench: Workbench, task_run: TaskRun) -> dict[str, Any]:
    results: dict[str, Any] = orjson.loads(bench.store.sidecar(task_run))
    return results


def test_output_of_a_python_agent_is_kept_per_trial(bench: Workbench) -> None:
    def speaks(task_item: Any) -> int:
        print("printed", task_item["name"])
        print("to standard error", file=sys.stderr)
        logger = logging.Logger("bot")
        logger.addHandler(logging.StreamHandler())
        logger.error("logged")
        return 42

    for name in ("first", "second"):
        bench.write(f"{name}.yml", WORK.replace("name: Work", f"name: {name}, task_item: {{name: {name}}}"))
    for task_run in bench.run(speaks, trials=2, concurrency=2):
        assert sidecar(bench, task_run)["agent_output"] == f"printed {task_run.task}\nto standard error\nlogged\n"


def test_warnings_and_unconfigured_logging_are_kept_and_shown_for_each_trial(tmp_path: Path) -> None:
    tmp_path.joinpath("a.yml").write_text(WORK, encoding="utf-8")
    tmp_path.joinpath("bot.py").write_text(
        "import logging, warnings\n"
        "def agent(task_item):\n"
        "    logging.warning('logged')\n"
        "    warnings.warn('warned')\n"
        "    return 41\n",
        encoding="utf-8",
    )
    command = get_command()
    subprocess.run(
        [command, "run", ".", "-a", "python:bot", "-k", "2", "-c", "1"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=120,
    )
    shown = subprocess.run(
        [command, "show", "latest", "Work", "--trial", "2"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        timeout=120,
    )
    text = shown.stdout.decode()
    assert "output of the agent" in text
    assert "WARNING:root:logged" in text
    assert "UserWarning: warned" in text


def test_output_of_an_async_agent_and_of_its_constructor_is_kept(bench: Workbench) -> None:
    class Bot:
        def __init__(self) -> None:
            print("made")

        async def on_task(self, task_item: Any) -> int:
            await asyncio.sleep(0)
            print("asked")
            await asyncio.to_thread(print, "in a thread")
            return 42

    bench.write("a.yml", WORK)
    assert sidecar(bench, bench.run_one(Bot))["agent_output"] == "made\nasked\nin a thread\n"


def test_output_of_a_constructor_that_fails_is_kept_with_its_traceback(bench: Workbench) -> None:
    class Bot:
        def __init__(self) -> None:
            print("reading the configuration")
            raise ValueError("no such key")

        def on_task(self, task_item: Any) -> int:
            return 42

    bench.write("a.yml", WORK)
    trace = sidecar(bench, bench.run_one(Bot))["agent_traceback"]
    assert trace.endswith("ValueError: no such key\n\nIt had printed:\nreading the configuration\n")


def test_output_is_bounded_and_its_end_is_kept(bench: Workbench) -> None:
    def floods(task_item: Any) -> int:
        for number in range(30_000):
            print(f"line {number}")
        return 42

    bench.write("a.yml", WORK)
    output = sidecar(bench, bench.run_one(floods))["agent_output"]
    assert len(output) <= 65_536
    assert output.endswith("line 29999\n")


def blocks(task_item: Any) -> None:
    threading.Event().wait(60)


def computes(task_item: Any) -> None:
    while True:
        pass


async def waits(task_item: Any) -> None:
    await _never_happens()


async def _never_happens() -> None:
    await asyncio.sleep(3600)


@pytest.mark.parametrize(
    ("agent", "line"),
    [(blocks, "threading.Event().wait(60)"), (computes, "while True:"), (waits, "await asyncio.sleep(3600)")],
)
def test_stack_of_a_hung_agent_is_kept(bench: Workbench, agent: Callable[..., Any], line: str) -> None:
    bench.write("a.yml", HANGS)
    task_run = bench.run_one(agent)
    stack = sidecar(bench, task_run)["agent_stack"]
    assert task_run.status == "timed_out"
    assert f"in {agent.__name__}\n" in stack.split("File ")[1]  # begins with the agent's own code
    assert line in stack or (agent is computes and "pass" in stack)


def test_stack_is_not_kept_of_an_agent_that_ends_in_time(bench: Workbench) -> None:
    bench.write("a.yml", WORK)
    assert "agent_stack" not in sidecar(bench, bench.run_one(lambda task_item: 42))


def with_httpx(url: str, token: str) -> None:
    httpx.get(f"{url}/files/nothing.txt", headers={"Authorization": f"Bearer {token}"}).raise_for_status()


def with_urllib(url: str, token: str) -> None:
    urlopen(Request(f"{url}/files/nothing.txt", headers={"Authorization": f"Bearer {token}"})).close()


def with_own_message(url: str, token: str) -> None:
    try:
        with_urllib(url, token)
    except HTTPError as error:
        error.close()
        raise RuntimeError("could not get it") from None


@pytest.mark.parametrize("ask", [with_httpx, with_urllib, with_own_message])
def test_reason_of_a_refusal_is_part_of_the_crash_text(bench: Workbench, ask: Callable[[str, str], None]) -> None:
    def crashes(task_item: Any, sandboxes: Any) -> None:
        ask(sandboxes["drop"].url, sandboxes["drop"].token)

    bench.write("a.yml", DESK + WORK)
    task_run = bench.run_one(crashes)
    assert "there is no file nothing.txt" in task_run.agent_error


def run_with(bench: Workbench, catalog: RegisteredCatalog, agent: Any) -> TaskRun:
    bench.write("a.yml", DESK + WORK)
    plan = plan_run(RunRequest(path=bench.folder, agent=PythonSolver("agent", agent)), Settings(), catalog)
    execute(plan, bench.store, catalog)
    [task_run] = bench.store.task_runs(plan.run.id)
    return task_run


def fail_with_bug(call: RawCall) -> Reply:
    raise KeyError("a bug of ours")


def test_bug_in_a_simulator_is_kept_with_operation_and_traceback(bench: Workbench) -> None:
    routes = tuple(
        raw_route("GET", "/files", "list_files", fail_with_bug) if r.operation.name == "list_files" else r
        for r in ROUTES
    )
    catalog = RegisteredCatalog(load_simulators([chat.SPEC, dataclasses.replace(files.SPEC, routes=routes)]))
    task_run = run_with(bench, catalog, lambda task_item, sandboxes: sandboxes["drop"].list())
    assert task_run.error == "drop: GET /files: KeyError: 'a bug of ours'"
    trace = sidecar(bench, task_run)["platform_traceback"]
    assert "in fail_with_bug\n    raise KeyError" in trace
    assert "clerkship/playground/gateway.py:" in trace
    assert str(bench.folder) not in trace
    assert not [line for line in trace.splitlines() if line.startswith("/")]


class StateWithABug(files.SPEC.state):  # type: ignore[name-defined, misc]
    """A state that cannot be built."""

    def __init__(self, *args: Any) -> None:
        raise ZeroDivisionError("a bug of ours")


def test_bug_before_the_trial_begins_is_kept_with_its_traceback(bench: Workbench) -> None:
    catalog = RegisteredCatalog(load_simulators([chat.SPEC, dataclasses.replace(files.SPEC, state=StateWithABug)]))
    task_run = run_with(bench, catalog, lambda task_item: 42)
    assert task_run.status == "errored"
    assert "in __init__\n    raise ZeroDivisionError" in sidecar(bench, task_run)["platform_traceback"]


def test_bug_in_an_assertion_is_kept_with_its_traceback_and_shown_in_the_report(bench: Workbench) -> None:
    bench.write("a.yml", "task: {name: Work, criteria: [{label: broken, assertion: breaks}]}")
    task_run = bench.run_one(lambda task_item: 42)
    criterion = task_run.criteria[0]
    assert criterion.status == "error"
    assert "workbench.py:" in criterion.traceback
    assert criterion.traceback.endswith("ZeroDivisionError: a bug of ours")
    card = build_body(TaskDetail(task_run, [], None, {"agent_stack": "somewhere"}))
    assert card["criteria"][0]["traceback"] == criterion.traceback
    assert card["attachments"] == [{"title": "stack of the agent when it was stopped", "text": "somewhere"}]
