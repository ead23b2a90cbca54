"""`clerkship suite attack`: table, findings and exit codes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.checks.attacks.registry import STRATEGIES
from clerkship.cli.app import run

SUITE = """
environment: {name: desk, simulators: {drop: {kind: files}, chat: {kind: chat}}}
tasks:
  - name: Be nice
    scenario: {starts: person, person: {opening: Hello}}
    criteria: [{label: Thanks, assertion: {bot_uttered: {text_matches: Thank you}}}]
  - name: Say five
    criteria: [{label: Five it is, assertion: {answer_matches: 5}}]
"""
JUDGED = """
scenario:
  name: Is kind
  simulation_context: You say hello.
  setup: {person: {opening: Hello}}
  goals: {criteria: [The agent is kind]}
"""
ERRORED = """
environment: {name: desk, simulators: {drop: {kind: files}}}
task:
  name: Broken
  scenario: {steps: [{files.delete: {path: not/there.txt}}]}
  criteria: [{label: Five it is, assertion: {answer_matches: 5}}]
"""


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    write("suite/desk.yml", SUITE)


def write(name: str, text: str) -> None:
    """Write a file of the project."""
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text)


def run_json(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    """Return the exit code and the JSON of an attack."""
    code = run(["suite", "attack", *arguments, "--json"])
    return code, json.loads(capfd.readouterr().out)


def test_attack_prints_table_findings_and_advice(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "attack", "suite"]) == 1
    printed = capfd.readouterr().out
    assert "strategy" in printed
    assert "be-polite passes 1 task" in printed
    assert "Be nice" in printed
    assert "advice: require what the words must state" in printed
    assert "not attacked: no solution" in printed
    assert [one.name for one in STRATEGIES if one.name not in printed] == []


def test_attack_exits_with_0_and_stores_nothing_if_no_strategy_passes(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "attack", "suite", "--task", "Say five"]) == 0
    assert "all as expected" in capfd.readouterr().out
    assert not Path(".clerkship").exists()


def test_attack_stores_runs_in_the_given_store(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "attack", "suite", "--only", "be-polite", "--store", "kept.db"]) == 1
    capfd.readouterr()
    assert run(["list", "--store", "kept.db"]) == 0
    assert "attack:be-polite" in capfd.readouterr().out


def test_json_lists_every_task(capfd: pytest.CaptureFixture[str]) -> None:
    code, found = run_json(capfd, "suite", "--only", "be-polite", "--only", "crash-after")
    assert code == found["exit_code"] == 1
    polite, crash = found["strategies"]
    assert (polite["passed"], polite["failed"]) == (["Be nice"], ["Say five"])
    assert crash["not_attacked"] == {"Be nice": "no solution", "Say five": "no solution"}


def test_attack_with_an_errored_trial_exits_with_2(capfd: pytest.CaptureFixture[str]) -> None:
    write("broken/task.yml", ERRORED)
    code, found = run_json(capfd, "broken", "--only", "do-nothing")
    assert code == 2
    assert "not/there.txt" in found["strategies"][0]["broken"]["Broken"]


def test_attack_without_judge_skips_and_reports_judged_criteria(capfd: pytest.CaptureFixture[str]) -> None:
    write("judged/kind.yml", JUDGED)
    assert run(["suite", "attack", "judged", "--only", "be-polite"]) == 0
    printed = capfd.readouterr().out
    assert "1 task has criteria that only a model can judge" in printed
    assert "1 ungraded" in printed


def test_attack_uses_the_given_judge(capfd: pytest.CaptureFixture[str]) -> None:
    write("judged/kind.yml", JUDGED)
    answer = {"about": "criterion", "answer": {"passed": True, "reasoning": "It is kind, says [T2]."}}
    write("answers.json", json.dumps([answer]))
    code, found = run_json(capfd, "judged", "--only", "be-polite", "--judge", "scripted:answers.json")
    assert (code, found["unjudged"]) == (1, [])


def test_list_describes_the_strategies(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "attack", "--list"]) == 0
    assert "do-nothing" in capfd.readouterr().out


def test_unknown_strategy_and_missing_path_are_errors(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", "attack", "suite", "--only", "be-polit"]) == 2
    assert "be-polite" in capfd.readouterr().err
    assert run(["suite", "attack"]) == 2
    assert "PATH is missing" in capfd.readouterr().err


def test_last_line_counts_missing_results(capfd: pytest.CaptureFixture[str]) -> None:
    write("suite/desk.yml", ERRORED)
    assert run(["suite", "attack", "suite", "--only", "do-nothing"]) == 2
    assert "1 of 1 results are missing" in capfd.readouterr().out
