"""`clerkship run --last-failed`: only the tasks that did not pass in the last run of the same path."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.cli.app import run

SUITE = """
tasks:
  - {name: One, tags: [odd], task_item: {n: 1}, criteria: [{label: right, assertion: {answer_matches: 1}}]}
  - {name: Two?, task_item: {n: 2}, criteria: [{label: right, assertion: {answer_matches: 2}}]}
  - {name: Two!, task_item: {n: 3}, criteria: [{label: right, assertion: {answer_matches: 3}}]}
  - {name: Free, task_item: {n: 4}}
"""
AGENT = """
import pathlib

def known(task_item):
    return task_item["n"] if str(task_item["n"]) in pathlib.Path("known").read_text() else 0
"""
RUN = ("run", "suite", "--agent", "python:lately:known")


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("lately", None)
    Path("lately.py").write_text(AGENT)
    Path("suite").mkdir()
    Path("suite/a.yml").write_text(SUITE)


def run_with(known: str, *arguments: str, capture: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    """Run the suite with an agent that knows some answers; return the exit code and the JSON output."""
    Path("known").write_text(known)
    capture.readouterr()
    code = run([*RUN, *arguments, "--json"])
    return code, json.loads(capture.readouterr().out)


def list_tasks(data: Any) -> list[str]:
    """Return the tasks of a run."""
    return [task_run["task"] for task_run in data["tasks"]]


def test_tasks_that_did_not_pass_are_run_until_none_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_with("1", capture=capsys)[0] == 1
    code, data = run_with("1 2", "--last-failed", capture=capsys)
    assert (code, list_tasks(data)) == (1, ["Two!", "Two?"])
    code, data = run_with("1 2 3", "--lf", capture=capsys)
    assert (code, list_tasks(data)) == (0, ["Two!"]), "a ? in a name is no wildcard"
    code, data = run_with("1 2 3", "--lf", capture=capsys)
    assert (code, data["run"], list_tasks(data)) == (0, None, [])
    assert "passed: there is none to run again" in data["warnings"][0]


def test_runs_of_other_paths_are_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other").mkdir()
    Path("other/b.yml").write_text(SUITE)
    run_with("1 2", capture=capsys)
    run(["run", "other", "--agent", "nop"])
    assert list_tasks(run_with("", "--last-failed", capture=capsys)[1]) == ["Two!"]


def test_tasks_without_a_record_of_all_trials_have_not_passed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("lately.py").write_text(
        "import os, signal\n\n\ndef known(task_item):\n"
        "    os.kill(os.getpid(), signal.SIGINT) if task_item['n'] == 1 else None\n    return task_item['n']\n"
    )
    assert run([*RUN, "--concurrency", "1", "--trials", "200", "--task", "One", "--task", "Two*"]) == 130
    sys.modules.pop("lately")
    Path("lately.py").write_text(AGENT)
    assert {"Two!", "Two?"} <= set(list_tasks(run_with("1 2 3", "--last-failed", capture=capsys)[1]))


def test_without_a_run_of_the_path_the_message_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*RUN, "--last-failed"]) == 2
    assert "no run of suite is stored in .clerkship/store.db" in " ".join(capsys.readouterr().err.split())
    assert not Path(".clerkship").exists()
    run_with("", "--task", "One", capture=capsys)
    assert run(["run", "suite/a.yml", "--agent", "nop", "--last-failed"]) == 2
    assert "no run of suite/a.yml is stored" in " ".join(capsys.readouterr().err.split())


def test_selection_without_such_a_task_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    run_with("1 3", capture=capsys)
    assert run([*RUN, "--last-failed", "--tag", "odd"]) == 2
    assert "none of the tasks to run is in the selection: `Two?`" in " ".join(capsys.readouterr().err.split())


def test_terminal_names_the_run_that_the_tasks_are_from(capsys: pytest.CaptureFixture[str]) -> None:
    _, data = run_with("1", capture=capsys)
    run([*RUN, "--last-failed"])
    assert f"2 tasks of {data['run']['id']} did not pass:" in capsys.readouterr().out
