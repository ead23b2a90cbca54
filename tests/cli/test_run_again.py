"""The command that reports print to run it again works as the program was started, and selects the same tasks."""

import html
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clerkship.report.labels import rerun_command
from tests.cli.terminal import clerkship
from tests.report import made_up
from tests.workbench import Workbench

AGENT = """
class Echo:
    def on_task(self, task_item):
        return task_item["n"]
"""
SUITE = """
tasks:
  - {name: "Say 'one' & more", task_item: {n: 1}, criteria: [{label: right, assertion: {answer_matches: 1}}]}
  - {name: Say two, task_item: {n: 2}, criteria: [{label: right, assertion: {answer_matches: 1}}]}
"""
SCRIPT = Path(sys.executable).with_name("clerkship")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a suite whose name the shell would take apart."""
    (tmp_path / "my suite").mkdir()
    (tmp_path / "my suite" / "a.yml").write_text(SUITE)
    (tmp_path / "echo_agent.py").write_text(AGENT)
    return tmp_path


def start(folder: Path, command: list[str] | str) -> subprocess.CompletedProcess[str]:
    """Run a command of a user, whose shell does not find this environment's programs."""
    others = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    kept = {name: os.environ[name] for name in ("HOME", "CLERKSHIP_CACHE") if name in os.environ}
    is_shell = isinstance(command, str)
    return subprocess.run(
        command, cwd=folder, env=others | kept, shell=is_shell, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize(
    "program",
    [
        pytest.param([sys.executable, "-m", "clerkship"], id="module"),
        pytest.param([str(SCRIPT)], id="script", marks=pytest.mark.slow),
    ],
)
def test_printed_command_runs_the_same_tasks_again(folder: Path, program: list[str]) -> None:
    if not Path(program[0]).exists():
        pytest.skip("the script is not installed")
    options = ["--agent", "python:echo_agent:Echo", "--task", "Say 'one' & more", "-k", "2", "--junit", "r.xml"]
    first = start(folder, [*program, "run", "my suite", *options])
    assert first.returncode == 0, first.stderr
    properties = ElementTree.parse(folder / "r.xml").iter("property")
    command = {each.get("name"): each.get("value", "") for each in properties}["again"]
    [page] = folder.glob(".clerkship/reports/*.html")
    assert f'<code class="copy">{command}</code>' in html.unescape(page.read_text())
    shown = start(folder, [*program, "show"]).stdout
    assert f"run it again: {command}\n" in shown
    again = start(folder, command)
    assert again.returncode == 0, again.stderr
    runs = [each["run"] for each in json.loads(clerkship(folder, "list", "--json").stdout)]
    assert len(runs) == 2
    second, original = runs
    for field in ("name", "solver", "seed", "trials", "total", "options", "path"):
        assert second[field] == original[field]
    assert original["total"] == 2


def test_tasks_chosen_one_by_one_are_in_the_command(bench: Workbench) -> None:
    bench.write("a.yml", SUITE)
    task_run = bench.run_one(lambda task_item: 1, only=frozenset({"Say two"}))
    assert "--task 'Say two'" in rerun_command(bench.store.run(task_run.run))


def test_command_of_a_path_with_quotes_is_quoted() -> None:
    run = made_up.RUN.model_copy(update={"path": "it's here", "options": ("--task", "a b")})
    assert """ run 'it'"'"'s here' --agent python:desk:Agent --seed 7 --task 'a b'""" in rerun_command(run)
