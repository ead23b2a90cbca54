"""Notes on the agent's model, and criteria of an invalid person, in the output of commands."""

import json
import sys
from pathlib import Path

import pytest

from clerkship.cli.app import run

AGENT = """
from clerkship.plugin import Noted


def on_turn(message, sandboxes):
    return [Noted(what="model_answer_cut_off"), "It comes on"]
"""
NOTE = "an answer of the agent's model was cut off at the limit of tokens; --max-tokens allows more"
SCENARIO = """
scenario:
  name: Late
  simulation_context: You want to know when your order comes.
  setup: {max_turns: 2, PERSON}
  goals:
    assertions:
      - bot_uttered: {text_matches: Tuesday}
"""


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("cuts", None)
    Path("cuts.py").write_text(AGENT)
    Path("suite").mkdir()


def write_scenario(person: str) -> None:
    Path("suite/late.yml").write_text(SCENARIO.replace("PERSON", person))


def test_cut_off_answer_is_named_in_summary_show_markdown_and_page(capsys: pytest.CaptureFixture[str]) -> None:
    write_scenario("person: {lines: [When does it come?]}")
    reports = ["--markdown", "report.md", "--report", "report.html"]
    assert run(["run", "suite", "--agent", "python:cuts:on_turn", *reports]) == 1
    summary = capsys.readouterr().out
    assert f"note: {NOTE}" in summary
    assert f"note {NOTE} (in 1 trial)" in summary
    assert run(["show", "latest", "Late"]) == 0
    assert f"note: {NOTE}" in capsys.readouterr().out
    assert run(["show", "latest"]) == 0
    assert f"note {NOTE} (in 1 trial)" in capsys.readouterr().out
    page = Path("report.md").read_text()
    assert page.count("cut off at the limit of tokens") == 2
    assert "### Notes" in page
    assert "cut off at the limit of tokens" in Path("report.html").read_text()


def test_show_of_an_invalid_person_lists_criteria_without_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    write_scenario("initial_slots: {tier: gold}")
    line = {"about": "person", "answer": {"message": "How can I help you today?", "done": False}}
    Path("person.json").write_text(json.dumps([line]))
    assert run(["run", "suite", "--agent", "python:cuts:on_turn", "--person", "scripted:person.json"]) == 2
    capsys.readouterr()
    assert run(["show", "latest", "Late"]) == 0
    shown = capsys.readouterr().out
    assert "criteria not judged, because the person did not keep to their role" in shown
    assert "– bot_uttered" in shown
    assert not [mark for mark in ("✓", "✗", "nearest", "expected") if mark in shown]
