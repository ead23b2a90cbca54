"""`clerkship coverage`: what stored runs exercised, in the terminal, as JSON and as a page."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.cli.app import run

SUITES = Path(__file__).parents[2] / "suites"
CALL = "authorization_status.yml"
SUITE = """
environment: {name: desk, simulators: {drop: {kind: files}}}
task:
  name: Confirm the booking
  scenario:
    steps:
      - files.drop: {path: inbox/wish.txt, text: Monday}
      - fault.error: {sandbox: drop, status: 503, times: 1}
      - {at: +10h, files.delete: {path: inbox/wish.txt}}
  criteria:
    - label: It is written
      assertion: {any_of: [{file_present: {path: bookings.txt}}, {answer_matches: done}]}
    - label: It reads well
      assertion: {judged: It reads well.}
  solution: solution.py
"""
SOLUTION = """
def on_task(task_item, sandboxes):
    try:
        sandboxes["drop"].read("inbox/wish.txt")
    except Exception:
        sandboxes["drop"].write("bookings.txt", "Booked for Monday 10:00")
"""
DESK = """
from clerkship.plugin import ActionExecuted, FlowStarted, Say, SlotSet


class Desk:
    def on_turn(self, message):
        slot = SlotSet(name="order", value="ORD-1")
        actions = [ActionExecuted(name="action_pay"), ActionExecuted(name="utter_done")]
        return [FlowStarted(flow_id="refund"), slot, *actions, Say(text="It is done.", utter_name="utter_done")]
"""
DOMAIN = """
slots: {order: {type: text}, customer: {type: text}, reason: {type: text}}
actions: [action_pay, action_ask]
responses: {utter_done: [{text: It is done.}], utter_sorry: [{text: Sorry.}]}
flows: {refund: {}, complain: {}}
"""
SCENARIO = """
scenario:
  name: A refund
  simulation_context: You want your money back.
  setup: {initial_slots: {customer: C-1}, person: {lines: [My money back.]}}
  goals: {assertions: [{flow_started: refund}]}
"""


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("desk", None)
    Path("suite").mkdir()
    Path("suite/desk.yml").write_text(SUITE)
    Path("suite/solution.py").write_text(SOLUTION)


def measure(*arguments: str, capture: pytest.CaptureFixture[bytes]) -> dict[str, Any]:
    """Return the tables as JSON data, by name."""
    capture.readouterr()
    assert run(["coverage", *arguments, "--json"]) == 0
    return {table["name"]: table for table in json.loads(capture.readouterr().out)["tables"]}


def test_a_run_counts_requests_steps_faults_and_assertions(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["run", "suite", "--agent", "oracle", "--no-judge"]) == 0
    tables = measure(capture=capfdbinary)
    assert tables["operations"]["groups"]["files"]["exercised"] == ["read_file", "write_file"]
    assert tables["events"]["groups"]["files"]["exercised"] == ["files.file.written"]
    assert tables["steps"]["groups"][""]["exercised"] == ["files.drop"]
    assert "files.delete" in tables["steps"]["groups"][""]["never"]
    assert tables["faults"]["groups"][""]["exercised"] == ["error"]
    assertions = tables["assertions"]["groups"][""]
    assert {"any_of", "file_present", "answer_matches"} <= {*assertions["exercised"]}
    assert {"judged", "file_was_read"} <= {*assertions["never"]}


def test_runs_of_different_environments_count_together(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["run", "suite", "--agent", "oracle", "--no-judge"]) == 0
    assert run(["run", str(SUITES / "phone" / "tasks" / CALL), "--agent", "oracle"]) == 0
    phone = measure("latest", capture=capfdbinary)
    both = measure("latest~1", "latest", "latest", capture=capfdbinary)
    assert {*phone["operations"]["groups"]} | {"files"} == {*both["operations"]["groups"]}
    assert both["phone nodes"] == phone["phone nodes"]
    assert 0 < phone["phone nodes"]["exercised"] < phone["phone nodes"]["possible"]
    assert "welcome" in phone["phone nodes"]["groups"]["Provider line"]["exercised"]
    assert both["faults"]["groups"][""]["exercised"] == ["error"]


def test_what_an_agent_reports_is_compared_with_its_domain(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("desk.py").write_text(DESK)
    Path("domain.yml").write_text(DOMAIN)
    Path("talk").mkdir()
    Path("talk/refund.yml").write_text(SCENARIO)
    assert run(["run", "talk", "--agent", "python:desk:Desk"]) == 0
    tables = measure(capture=capfdbinary)
    assert (tables["flows"]["exercised"], tables["flows"]["possible"]) == (1, None)
    tables = measure("--domain", "domain.yml", capture=capfdbinary)
    assert tables["flows"]["groups"][""] == {"exercised": ["refund"], "never": ["complain"]}
    assert tables["slots"]["groups"][""] == {"exercised": ["order"], "never": ["customer", "reason"]}
    assert tables["actions"]["groups"][""] == {"exercised": ["action_pay"], "never": ["action_ask"]}
    assert tables["responses"]["groups"][""] == {"exercised": ["utter_done"], "never": ["utter_sorry"]}


def test_the_terminal_cuts_long_lists_and_a_report_has_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "suite", "--agent", "oracle", "--no-judge"]) == 0
    capsys.readouterr()
    assert run(["coverage", "--report", "coverage.html"]) == 0
    printed = capsys.readouterr().out
    assert "assertions  " in printed
    assert " more" in printed
    assert "tools_within_one_turn" not in printed
    assert run(["coverage", "--all"]) == 0
    assert "tools_within_one_turn" in capsys.readouterr().out
    assert "<code>tools_within_one_turn</code>" in Path("coverage.html").read_text(encoding="utf-8")


def test_an_unknown_run_and_an_unknown_domain_are_reported(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["run", "suite", "--agent", "oracle", "--no-judge"]) == 0
    assert run(["coverage", "run-of-nobody"]) == 2
    assert "there is no run 'run-of-nobody'" in capfd.readouterr().err
    assert run(["coverage", "--domain", "missing.yml"]) == 2
    assert "there is no such domain" in capfd.readouterr().err
    assert run(["coverage", "--report", "-"]) == 0
    assert capfd.readouterr().out.startswith("<!doctype html>")
