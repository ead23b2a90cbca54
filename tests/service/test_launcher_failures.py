"""What happens if the agent's program is never started: by our fault the trial is errored, else the agent fails."""

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clerkship.actors.isolation import bubblewrap, landlock
from clerkship.actors.isolation.contract import Level, offered
from clerkship.actors.isolation.protected import installation
from clerkship.cli.app import run
from clerkship.model.errors import PlatformError
from clerkship.model.run_options import IsolationMode
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from tests.actors.programs import WORK, program, suite
from tests.workbench import CATALOG, Workbench

LEVELS = [level for level in offered() if level != "none"]
BROKEN = "echo 'the launcher is broken' >&2; exit 1"


@pytest.fixture
def broken(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Level]:
    """Make an isolation level fail after it was found to work."""
    _forget()
    level: Level = request.param
    if level == "landlock":
        monkeypatch.setattr(bubblewrap, "SYSTEM_FOLDERS", ())
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert offered()[0] == level
    launcher = tmp_path / "launcher" / bubblewrap.NAME
    launcher.parent.mkdir()
    launcher.write_text(f"#!/bin/sh\n{BROKEN}\n", encoding="utf-8")
    launcher.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "SYSTEM_FOLDERS", (str(launcher.parent),))
    monkeypatch.setattr(landlock, "_LAUNCHER", launcher)  # a shell script is no Python
    for cached in (bubblewrap.program_file, landlock._start):
        cached.cache_clear()
    yield level
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    for cached in (offered, bubblewrap.program_file, landlock._start, installation):
        cached.cache_clear()


@pytest.mark.parametrize("broken", LEVELS, indirect=True)
def test_failure_of_a_launcher_is_an_error_of_the_platform(bench: Workbench, tmp_path: Path, broken: Level) -> None:
    suite(bench, WORK)
    agent = program(tmp_path, "say({'answer': 42})")
    task_run = bench.run_one(agent)
    assert (task_run.status, task_run.verdict, task_run.agent_error) == ("errored", None, "")
    assert task_run.error is not None
    assert task_run.error.startswith(f"the agent was not started: {broken} ended with exit code 1"), task_run.error
    assert run(["run", str(bench.folder), "--agent", agent, "--store", str(tmp_path / "other.db")]) == 2


@pytest.mark.parametrize("broken", LEVELS, indirect=True)
def test_failure_of_a_launcher_before_the_run_is_an_error_of_the_platform(
    bench: Workbench, tmp_path: Path, broken: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(bench, WORK)
    (tmp_path / "answering.py").write_text("def on_task(task_item, sandboxes):\n    return 42\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PlatformError, match=f"the agent was not started: {broken} ended"):
        bench.run("python:answering:on_task", agent_process=True)
    words = ["--agent", "python:answering:on_task", "--agent-process", "--store", str(tmp_path / "other.db")]
    assert run(["run", str(bench.folder), *words]) == 2


@pytest.mark.parametrize("isolate", ["never", *["auto"] * bool(LEVELS)])
def test_failure_of_the_python_of_an_agent_process_is_an_error_of_the_platform(
    bench: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolate: IsolationMode
) -> None:
    suite(bench, WORK)
    (tmp_path / "answering.py").write_text("def on_task(task_item, sandboxes):\n    return 42\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    request = RunRequest(path=bench.folder, agent="python:answering:on_task", agent_process=True, isolate=isolate)
    plan = plan_run(request, Settings(timeout=20), CATALOG)
    monkeypatch.setenv("PYTHONHOME", str(tmp_path / "missing"))
    execute(plan, bench.store, CATALOG)
    [task_run] = bench.store.task_runs(plan.run.id)
    assert (task_run.status, task_run.agent_error) == ("errored", "")
    assert "the agent was not started: its Python ended with exit code 1" in str(task_run.error)
    with pytest.raises(PlatformError, match="its Python ended"):
        plan_run(request, Settings(timeout=20), CATALOG)


@pytest.mark.parametrize("isolate", ["never", *["auto"] * bool(LEVELS)])
def test_program_that_cannot_be_executed_is_an_error_of_the_agent(
    bench: Workbench, tmp_path: Path, isolate: IsolationMode
) -> None:
    suite(bench, WORK)
    file = tmp_path / "agent" / "my program"
    file.parent.mkdir()
    file.write_text(f"#!{sys.executable}\nprint(42)\n", encoding="utf-8")
    file.chmod(0o755)
    request = RunRequest(path=bench.folder, agent=f"command:{shlex.quote(str(file))}", isolate=isolate)
    plans = [plan_run(request, Settings(timeout=20), CATALOG) for _ in range(3)]
    assert execute(plans[0], bench.store, CATALOG).counts.passed == 1
    file.write_text("#!/nowhere/python\n", encoding="utf-8")
    execute(plans[1], bench.store, CATALOG)
    file.unlink()
    execute(plans[2], bench.store, CATALOG)
    for plan in plans[1:]:
        [task_run] = bench.store.task_runs(plan.run.id)
        assert (task_run.status, task_run.verdict) == ("completed", "fail")
        assert re.match(r".* could not be started: No such|it ended with exit code 127\n", str(task_run.agent_error))
