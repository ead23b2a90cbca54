"""Exported runs are read by the programs whose formats they have: Harbor's models, and Inspect's reader."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clerkship.service.exports import export_runs
from clerkship.service.report_targets import ExportTargets
from tests.clients.installs import CannotInstall, find_python, python_environment
from tests.report.exported import READ, run_tasks
from tests.workbench import Workbench

PROGRAMS = Path(__file__).parent / "programs"


def read_with(name: str, program: str, folder: Path) -> Any:
    """Return what a program of another environment reads from a folder; skip the test if it cannot be installed."""
    try:
        python = python_environment(name, PROGRAMS / f"{name}.txt", find_python("3.12", "3.13"))
    except CannotInstall as problem:
        pytest.skip(str(problem))
    command = [str(python), str(PROGRAMS / program), str(folder)]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env=environ, cwd=folder.parent
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The exports of a run with two trials of two tasks."""
    bench = Workbench(tmp_path)
    run = run_tasks(bench, trials=2)
    export_runs(bench.store, [run], ExportTargets(atif=tmp_path / "atif", inspect=tmp_path / "inspect"))
    return tmp_path


@pytest.mark.slow
def test_models_of_harbor_accept_every_trajectory(folder: Path) -> None:
    read = read_with("harbor", "read_trajectories.py", folder / "atif")
    assert [each["name"] for each in read] == ["2-3-talk.1.json", "2-3-talk.2.json", "work.1.json", "work.2.json"]
    assert read[0]["sources"] == ["user", "agent", "user", "agent", "user"]
    assert read[2]["sources"] == ["system", "user", "agent", "agent"]
    assert (read[2]["calls"], read[2]["results"], read[2]["prompt_tokens"]) == ([READ.name], ["one order"], 200)


@pytest.mark.slow
def test_reader_of_inspect_opens_the_log_and_each_sample(folder: Path) -> None:
    [log] = read_with("inspect", "read_inspect_logs.py", folder / "inspect")
    assert (log["status"], log["metrics"]) == ("success", {"verdict": [0.5], "score": [0.5]})
    talk = ".._.._=2+3 Talk"
    assert sorted(log["samples"]) == [[talk, 1, "I"], [talk, 2, "I"], ["Work", 1, "C"], ["Work", 2, "C"]]
    assert log["same"]
    assert log["tools"] == ["one order", "one order"]
    assert log["tokens"] == {"gpt-4o-2024-08-06": 440}
