"""--judge and --no-judge as somebody types them."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.cli.app import run

AGENT = """
def on_turn(message):
    return {"text": "It snows.", "utter_name": "utter_why", "metadata": {"utter_source": "action_why"}}
"""
SCENARIO = """
scenario:
  name: Late order
  simulation_context: You are in a hurry.
  setup: {person: {opening: Why is it late?}}
  goals:
    criteria: [It says why]
    assertions: [{generative_response_is_relevant: {utter_source: utter_why}}]
"""
ANSWERS = """
- {about: criterion, contains: It says why, answer: {passed: true, reasoning: "It snows, says [T1]."}}
- {about: relevance, answer: {score: 0.9, reasoning: That was asked.}}
"""
WITH = ["run", "eval", "--agent", "python:judged_agent:on_turn"]


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    sys.modules.pop("judged_agent", None)
    Path("judged_agent.py").write_text(AGENT)
    Path("answers.yml").write_text(ANSWERS)
    Path("eval").mkdir()
    Path("eval/late.yml").write_text(SCENARIO)


def kept(capture: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code, and what it said as JSON."""
    capture.readouterr()
    code = run([*arguments, "--json"])
    return code, json.loads(capture.readouterr().out)


def test_a_judge_is_named_on_the_command_line_or_in_the_settings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, found = kept(capsys, *WITH, "--judge", "scripted:answers.yml")
    assert (code, found["run"]["judge"]["who"]) == (0, "scripted:answers.yml")
    assert [criterion["status"] for criterion in found["tasks"][0]["criteria"]] == ["judged", "judged"]
    monkeypatch.setenv("CLERKSHIP_JUDGE", "scripted:answers.yml")
    assert run(WITH) == 0
    assert "judge scripted:answers.yml" in capsys.readouterr().out
    assert run(["rerun"]) == 0


def test_without_one_it_is_inconclusive_and_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(WITH) == 2
    text = capsys.readouterr().out
    assert "! error It says why" in text
    assert "none is configured: give --judge, or --no-judge to skip it" in text


def test_what_is_skipped_is_said_and_can_be_judged_later(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*WITH, "--no-judge"]) == 0
    assert "ungraded  " in (text := capsys.readouterr().out)
    assert "2 skipped" in text
    code, found = kept(capsys, "rescore", "--judge", "scripted:answers.yml")
    assert (code, found["run"]["judge"]["who"]) == (0, "scripted:answers.yml")
    assert run(["show", "latest", "Late order"]) == 0
    text = capsys.readouterr().out
    assert "It snows, says [T1]." in text
    assert "scores 0.90, and 0.5 is the least that passes: That was asked." in text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--judge", "scripted:answers.yml", "--no-judge"], "--judge and --no-judge exclude each other"),
        (["--judge", "scripted:none.yml"], "none.yml: it is not a file"),
        (["--judge", "openai:gpt-5.1"], "api.openai.com wants a key; set OPENAI_API_KEY"),
    ],
)
def test_a_judge_that_cannot_be_is_refused_before_anything_runs(
    capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    assert run([*WITH, *options]) == 2
    assert told in capsys.readouterr().err
    assert not Path(".clerkship").exists()


def test_a_prompt_of_ones_own_is_said_not_to_be_used_yet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("mine.jinja2").write_text("Judge.")
    llm = "{provider: openai, model: m, api_base: http://127.0.0.1:1/v1}"
    Path("eval/conftest.yml").write_text(f"evaluation: {{llm: {llm}, criteria_judge_prompt: mine.jinja2}}")
    Path("eval/late.yml").write_text(SCENARIO.replace("criteria: [It says why]", "criteria: []"))
    assert run(["validate", "eval"]) == 0
    capsys.readouterr()
    monkeypatch.setenv("CLERKSHIP_JUDGE", "none")
    assert run(WITH) == 0
    assert "criteria_judge_prompt is not used yet" in capsys.readouterr().out
