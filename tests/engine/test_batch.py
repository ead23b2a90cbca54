"""Batches of trials: concurrency, saving, stopping."""

import asyncio
import contextlib
import dataclasses
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.spec import FinishedTrial
from clerkship.engine.trial_grader import TrialGrader
from clerkship.sandbox.request import Reply
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.reading import show_run
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.simulators import chat, files
from clerkship.simulators.files.http import ROUTES
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.registry import load_simulators
from clerkship.store.sqlite import SqliteStore
from tests.command_server import get_command
from tests.processes import start_process
from tests.raw_routes import RawCall, raw_route
from tests.workbench import Workbench

TASK = "task: {name: Wait, timeout: 30, criteria: [{label: done, assertion: {answer_matches: 1}}]}"


def test_concurrency_reaches_but_never_exceeds_the_limit(bench: Workbench) -> None:
    lock, running, most = threading.Lock(), 0, 0
    meeting = threading.Barrier(8)

    async def waits(task_item: Any) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        await asyncio.to_thread(meeting.wait, 20)
        with lock:
            running -= 1
        return 1

    bench.write("a.yml", TASK)
    task_runs = bench.run(waits, trials=40, concurrency=8)
    assert [t.verdict for t in task_runs] == ["pass"] * 40
    assert most == 8


def test_agents_that_block_their_thread_run_concurrently(bench: Workbench) -> None:
    meeting = threading.Barrier(6)

    def meets(task_item: Any) -> int:
        meeting.wait(20)
        return 1

    bench.write("a.yml", TASK)
    assert {t.verdict for t in bench.run(meets, trials=6, concurrency=6)} == {"pass"}


def test_trials_share_no_state(bench: Workbench) -> None:
    class Counts:
        def __init__(self) -> None:
            self.count = 0

        def on_task(self, task_item: Any) -> int:
            self.count += 1
            return self.count

    bench.write("a.yml", TASK)
    task_runs = bench.run(Counts, trials=5)
    assert [(t.trial, t.verdict) for t in task_runs] == [(n, "pass") for n in range(1, 6)]


def test_ctrl_c_does_not_wait_for_agents_and_keeps_finished_trials(tmp_path: Path) -> None:
    """The signal arrives while the batch waits for results, and is handled for longer than that wait may last."""
    (tmp_path / "agent.py").write_text(
        "import os, signal, threading, time\n"
        "from clerkship.engine.batch import TrialBatch\n"
        "stop = TrialBatch.stop\n"
        "TrialBatch.stop = lambda batch: (stop(batch), time.sleep(0.5))\n"
        "def agent(task_item):\n"
        "    if task_item['number'] > 2:\n"
        "        threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()\n"
        "        threading.Event().wait()\n"
        "    return 1\n"
    )
    for number in range(1, 6):
        text = TASK.replace("name: Wait", f"name: Wait {number}, task_item: {{number: {number}}}")
        (tmp_path / f"{number}.yml").write_text(text)
    command = [get_command(), "run", ".", "-a", "python:agent:agent", "-c", "1", "--store", "s.db"]
    with start_process(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        output, errors = process.communicate(timeout=20)
    assert process.returncode == 130, errors
    assert "Traceback" not in output + errors
    with SqliteStore(tmp_path / "s.db") as store:
        view = show_run(store, "latest")
    assert view.run.status == "cancelled"
    assert {t.task: t.status for t in view.task_runs} == {
        "Wait 1": "completed",
        "Wait 2": "completed",
        "Wait 3": "cancelled",
    }


class Unforkable(FilesState):
    """A state that cannot be built."""

    def __init__(self, *args: Any) -> None:
        raise ZeroDivisionError("a bug of ours")


def test_playground_that_cannot_be_built_is_errored_and_the_batch_continues(bench: Workbench) -> None:
    catalog = RegisteredCatalog(load_simulators([chat.SPEC, dataclasses.replace(files.SPEC, state=Unforkable)]))
    bench.write("a.yml", "environment: {name: desk, simulators: {drop: {kind: files}}}\n" + TASK)
    plan = plan_run(RunRequest(path=bench.folder, agent="nop", trials=3), Settings(), catalog)
    result = execute(plan, bench.store, catalog)
    assert result.counts.statuses == {"errored": 3}
    assert result.exit_code() == 2
    [first, *_] = bench.store.task_runs(plan.run.id)
    assert "ZeroDivisionError: a bug of ours" in first.error


def test_bug_in_a_simulator_errors_the_run(bench: Workbench) -> None:
    def breaks(call: RawCall) -> Reply:
        raise KeyError("a bug of ours")

    routes = tuple(
        raw_route("GET", "/files", "list_files", breaks) if r.operation.name == "list_files" else r for r in ROUTES
    )
    catalog = RegisteredCatalog(load_simulators([chat.SPEC, dataclasses.replace(files.SPEC, routes=routes)]))

    def lists(task_item: Any, sandboxes: Any) -> int:
        with contextlib.suppress(Exception):
            sandboxes["drop"].list()
        return 1

    bench.write("a.yml", "environment: {name: desk, simulators: {drop: {kind: files}}}\n" + TASK)
    request = RunRequest(path=bench.folder, agent=PythonSolver("lists", lists))
    plan = plan_run(request, Settings(), catalog)
    assert execute(plan, bench.store, catalog).exit_code() == 2
    [task_run] = bench.store.task_runs(plan.run.id)
    assert (task_run.status, task_run.verdict, task_run.agent_error) == ("errored", None, "")
    assert "drop: GET /files: KeyError" in task_run.error


def test_concurrency_above_the_limit_of_the_system_is_lowered(tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "a.yml").write_text("task: {name: A, criteria: [{label: a, assertion: {answer_matches: 1}}]}")
    (tmp_path / "slow.py").write_text("import time\ndef agent(task_item):\n    time.sleep(0.05)\n    return 1\n")
    command = [sys.executable, "-m", "clerkship", "run", "suite", "-a", "python:slow:agent", "-k", "100", "-c", "100"]
    done = subprocess.run(
        [*command, "--json"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert orjson.loads(done.stdout)["counts"]["verdicts"] == {"pass": 100}


def test_trial_whose_record_cannot_be_built_is_errored(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> FinishedTrial:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(TrialGrader, "_build", fail)
    bench.write("a.yml", TASK)
    [task_run] = bench.run(lambda task_item: None)
    assert (task_run.status, task_run.error) == ("errored", "ZeroDivisionError: a bug of ours")
