"""The GitHub Action works: its shell steps run, and take inputs as environment variables only."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clerkship.suite_files.yaml import parse_yaml
from tests.command_server import get_command_path

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "docs" / "guide" / "in_ci.md"
INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")
SUITE = """
scenario:
  name: Where is my order
  simulation_context: You wait for an order.
  setup: {person: {lines: ["Where is my order?"]}}
  goals: {assertions: [{bot_uttered: {text_matches: tomorrow}}]}
"""
BOT = """
class Bot:
    def on_turn(self, message, sandboxes):
        return "It arrives tomorrow."
"""


def _read_action() -> dict[str, Any]:
    action = parse_yaml((ROOT / "action.yml").read_text(encoding="utf-8"), "action.yml").data
    assert isinstance(action, dict)
    return action


ACTION = _read_action()
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}


FAKE = """#!/bin/sh
printf '%s\\n' "$@" -- >> "$CALLS"
exit "$CODE"
"""
"""A program that notes its arguments. Most tests need no more of `clerkship`."""


class Job:
    """A job that uses the action: a folder, and the programs that its steps find."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.output, self.summary = folder / "job", folder / "output", folder / "summary.md"
        self.calls, self.programs = folder / "calls.txt", folder / "bin"
        self.folder.mkdir()
        self.programs.mkdir()
        for name in ("clerkship", "python"):
            (self.programs / name).write_text(FAKE, encoding="utf-8")
            (self.programs / name).chmod(0o755)

    def run(
        self, name: str, inputs: Mapping[str, str], code: int = 0, path: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        """Run a step as a runner does: its text is a script, its `env` has the inputs. Programs exit with `code`."""
        step = STEPS[name]
        known = {each: facts.get("default", "") for each, facts in ACTION["inputs"].items()} | {**inputs}
        environment = {name: INPUT.sub(lambda match: known[match[1]], value) for name, value in step["env"].items()}
        environment |= {"PATH": path or f"{self.programs}{os.pathsep}{os.environ['PATH']}", "CODE": str(code)}
        environment |= {"GITHUB_OUTPUT": str(self.output), "GITHUB_STEP_SUMMARY": str(self.summary)}
        command = [shutil.which("bash") or "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        environment |= {"CALLS": str(self.calls)}
        return subprocess.run(
            command,
            cwd=self.folder,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_inputs_are_never_part_of_a_script() -> None:
    used = set[str]()
    for name, step in STEPS.items():
        assert "${{" not in step["run"], name
        assert step["shell"] == "bash"
        assert {*re.findall(r"\b[A-Z]{3,}\b", step["run"])} >= {*step["env"]}, name
    for step in ACTION["runs"]["steps"]:
        used |= {*re.findall(r"inputs\.([\w-]+)", str(step))}
    assert used == {*ACTION["inputs"]}


def test_action_asks_for_no_right_and_comments_nothing() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert [word for word in ("secrets.", "github.token", "github-script", "gh pr") if word in text] == []


def test_suites_run_in_turn_with_reports_of_their_own(job: Job) -> None:
    (job.folder / "my suite").mkdir()
    (job.folder / "my suite" / "order.yml").write_text(SUITE, encoding="utf-8")
    (job.folder / "bot.py").write_text(BOT, encoding="utf-8")
    suites = "my suite/\n\nmy suite/order.yml\n"
    done = job.run(
        "Run the tasks", {"suites": suites, "agent": "python:bot:Bot", "options": "-k\n2"}, path=get_command_path()
    )
    assert done.returncode == 0, done.stdout + done.stderr
    names = {f"{each}.{suffix}" for each in ("1-my_suite", "2-order.yml") for suffix in ("html", "md", "xml")}
    assert {path.name for path in (job.folder / "clerkship-reports").iterdir()} == names
    assert job.summary.read_text(encoding="utf-8").count("Where is my order") >= 2
    assert job.output.read_text(encoding="utf-8") == "exit-code=0\n"


@pytest.mark.parametrize(("suites", "code"), [("a\nb", 1), ("a", 2), ("", 0)])
def test_failures_end_the_step_and_are_an_output(job: Job, suites: str, code: int) -> None:
    done = job.run("Run the tasks", {"suites": suites, "agent": "nop"}, code)
    assert done.returncode == (code or 2)  # no suites at all are a mistake
    assert job.output.read_text(encoding="utf-8") == f"exit-code={code or 2}\n"


def test_inputs_that_hold_commands_run_none(job: Job) -> None:
    hostile = "\"; touch broken; $(touch broken) `touch broken` '; touch broken #"
    for name in STEPS:
        job.run(name, dict.fromkeys(ACTION["inputs"], hostile))
    assert not [*job.folder.rglob("broken")]
    assert job.calls.read_text(encoding="utf-8").splitlines().count(hostile) == 5


def test_inputs_that_look_like_options_are_none(job: Job) -> None:
    job.run("Run the tasks", {"suites": "--help", "agent": "nop", "options": "--replay\n--trials=3"})
    given = job.calls.read_text(encoding="utf-8").splitlines()
    assert given[-5:] == ["--replay", "--trials=3", "--", "--help", "--"]


def test_mistakes_in_files_end_the_job_before_the_run(job: Job) -> None:
    assert job.run("Check the files", {"suites": "a\nb\n"}).returncode == 0
    assert job.calls.read_text(encoding="utf-8").splitlines() == [
        "validate",
        "--",
        "a",
        "--",
        "validate",
        "--",
        "b",
        "--",
    ]
    assert job.run("Check the files", {"suites": "a\nb\n"}, 2).returncode == 2


@pytest.mark.parametrize(
    ("inputs", "package"),
    [
        ({}, "${{ github.action_path }}"),
        ({"extras": "fax,portal"}, "${{ github.action_path }}[fax,portal]"),
        ({"install": "./vendor/clerkship[fax]", "extras": "fax"}, "./vendor/clerkship[fax]"),
    ],
)
def test_the_version_of_the_action_is_installed(job: Job, inputs: dict[str, str], package: str) -> None:
    assert job.run("Install", inputs).returncode == 0
    assert job.calls.read_text(encoding="utf-8").splitlines() == ["-m", "pip", "install", "--", package, "--"]


def test_the_example_of_the_guide_has_known_inputs() -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    used = [
        step for block in blocks if "uses: " in block for step in _list_steps(block) if "/clerkship@" in step["uses"]
    ]
    assert len(used) >= 1
    for step in used:
        required = {name for name, each in ACTION["inputs"].items() if each.get("required")}
        assert required <= {*step["with"]} <= {*ACTION["inputs"]}


def _list_steps(block: str) -> list[dict[str, Any]]:
    """Return the steps of a YAML block that use an action."""
    data: Any = parse_yaml(block, "in_ci.md").data
    return [step for job in data["jobs"].values() for step in job["steps"] if "uses" in step]
