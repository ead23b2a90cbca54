"""`--judge`, `--no-judge` and `--votes`, and `clerkship prompts`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.cli.app import run
from clerkship.llm.prompts import BUILT_IN

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
COMMAND = ["run", "eval", "--agent", "python:judged_agent:on_turn"]


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


def run_json(capture: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the JSON output."""
    capture.readouterr()
    code = run([*arguments, "--json"])
    return code, json.loads(capture.readouterr().out)


def test_judge_is_set_by_option_or_setting(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, found = run_json(capsys, *COMMAND, "--judge", "scripted:answers.yml")
    assert (code, found["run"]["judge"]["who"]) == (0, "scripted:answers.yml")
    criteria = [criterion for criterion in found["tasks"][0]["criteria"] if not criterion.get("monitor")]
    assert [criterion["status"] for criterion in criteria] == ["judged", "judged", "judged"]
    monkeypatch.setenv("CLERKSHIP_JUDGE", "scripted:answers.yml")
    assert run(COMMAND) == 0
    assert "judge scripted:answers.yml" in capsys.readouterr().out
    assert run(["rerun"]) == 0


def test_run_without_judge_is_inconclusive_with_advice(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND) == 2
    text = capsys.readouterr().out
    assert "! error It says why" in text
    assert "none is configured; add --judge, or --no-judge to skip the criterion" in text


def test_skipped_criteria_are_reported_and_judged_by_rescore(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*COMMAND, "--no-judge"]) == 2
    assert "ungraded  " in (text := capsys.readouterr().out)
    assert "2 criteria not judged" in text
    assert "nothing was graded: no criterion was judged: name a judge" in " ".join(text.split())
    assert run([*COMMAND, "--no-judge", "--allow-ungraded"]) == 0
    capsys.readouterr()
    code, found = run_json(capsys, "rescore", "--judge", "scripted:answers.yml")
    assert (code, found["run"]["judge"]["who"]) == (0, "scripted:answers.yml")
    assert run(["show", "latest", "Late order"]) == 0
    text = capsys.readouterr().out
    assert "It snows, says [T1]." in text
    assert "scores 0.90 (expected: at least 0.5): That was asked." in text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--judge", "scripted:answers.yml", "--no-judge"], "--judge and --no-judge exclude each other"),
        (["--judge", "scripted:none.yml"], "none.yml: it is not a file"),
        (["--judge", "openai:gpt-5.1"], "api.openai.com requires a key; set OPENAI_API_KEY"),
    ],
)
def test_invalid_judge_is_an_error_before_the_run(
    capsys: pytest.CaptureFixture[str], options: list[str], told: str
) -> None:
    assert run([*COMMAND, *options]) == 2
    assert told in capsys.readouterr().err
    assert not Path(".clerkship").exists()


def test_custom_prompt_is_checked_by_validate_and_stored_with_the_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = "{provider: openai, model: m, api_base: http://127.0.0.1:1/v1}"
    Path("eval/conftest.yml").write_text(f"evaluation: {{llm: {llm}, criteria_judge_prompt: mine.jinja2}}")
    Path("mine.jinja2").write_text("Judge.\n{{ criterum }} {{ transcript }}")
    assert run(["validate", "eval"]) == 2
    assert "mine.jinja2:2:1: 'criterum' is undefined" in capsys.readouterr().out
    Path("mine.jinja2").write_text("Judge {{ criterion }} by {{ transcript }}")
    assert run(["validate", "eval"]) == 0
    monkeypatch.setenv("CLERKSHIP_JUDGE", "scripted:answers.yml")
    code, found = run_json(capsys, *COMMAND)
    assert (code, found["run"]["asking"]["prompts"]) == (0, {"criterion": "Judge {{ criterion }} by {{ transcript }}"})


def test_prompts_are_listed_with_version_and_printed_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run_json(capsys, "prompts")
    assert (code, found["prompts"]["criterion"]) == (0, BUILT_IN["criterion"].version)
    assert run(["prompts"]) == 0
    assert BUILT_IN["metrics"].version in capsys.readouterr().out
    assert run(["prompts", "criterion"]) == 0
    assert capsys.readouterr().out == BUILT_IN["criterion"].text
    code, found = run_json(capsys, "prompts", "quoted.jinja2")
    assert (code, found["text"]) == (0, BUILT_IN["quoted"].text)
    assert run(["prompts", "criteria"]) == 2
    assert "unknown prompt `criteria`; did you mean `criterion`?" in capsys.readouterr().err


def test_votes_option_sets_the_number_of_votes(capsys: pytest.CaptureFixture[str]) -> None:
    judged = [*COMMAND, "--judge", "scripted:answers.yml"]
    code, found = run_json(capsys, *judged, "--votes", "3")
    assert (code, found["run"]["asking"]["votes"], found["run"]["options"][-2:]) == (0, 3, ["--votes", "3"])
    rows = [
        row for criterion in found["tasks"][0]["criteria"] for row in criterion["evidence"] if row["path"] == "votes"
    ]
    assert [(row["actual"]["for"], row["actual"]["against"]) for row in rows] == [(3, 0)]
    code, found = run_json(capsys, "rescore", "--votes", "5")
    assert (code, found["run"]["asking"]["votes"], found["run"]["options"][-2:]) == (0, 5, ["--votes", "5"])
    assert run([*judged, "--votes", "2"]) == 2
    assert "invalid number of votes 2 (expected: an odd number from 1 to 15)" in capsys.readouterr().err
    assert run(["rescore", "--votes", "4"]) == 2
    assert run([*judged, "--votes", "99"]) == 2
