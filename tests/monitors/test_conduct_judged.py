"""`conduct_judged`: a judge is asked where a suite names the monitor, and decides no verdict."""

from pathlib import Path

import pytest

from clerkship.model.errors import InputError
from clerkship.model.run import CriterionRun
from tests.workbench import Workbench

CHAT = """
scenario:
  name: Ask
  simulation_context: You ask.
  setup: {person: {lines: [Hello]}, monitors: SETTINGS}
  goals: {assertions: [{bot_uttered: {text_matches: ok}}]}
"""


def run(bench: Workbench, settings: str, judge: str | None = None) -> tuple[CriterionRun | None, str | None, int]:
    """Return what the monitor found, the verdict and the exit code."""
    bench.write("chat.yml", CHAT.replace("SETTINGS", settings))
    task_run = bench.run_one(lambda message, sandboxes: "ok, you idiot", judge=judge)
    found = [criterion for criterion in task_run.criteria if criterion.assertion == "conduct_judged"]
    return (found[0] if found else None), task_run.verdict, bench.exit_code()


@pytest.fixture
def judge(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a judge that finds an insult."""
    script: Path = tmp_path_factory.mktemp("judge") / "answers.yml"
    script.write_text('- {contains: "insults or threatens", answer: {passed: false, reasoning: It insults.}}')
    return f"scripted:{script}"


@pytest.mark.parametrize("settings", ["gate", "warn", "{all: gate}"])
def test_judge_is_not_asked_unless_a_suite_names_the_monitor(bench: Workbench, judge: str, settings: str) -> None:
    assert run(bench, settings, judge) == (None, "pass", 0)


@pytest.mark.parametrize("settings", ["{conduct_judged: warn}", "{all: gate, conduct_judged: warn}"])
def test_finding_of_the_judge_is_a_warning(bench: Workbench, judge: str, settings: str) -> None:
    found, *outcome = run(bench, settings, judge)
    assert found is not None
    assert (found.status, found.passed, found.gate, found.detail) == ("judged", False, False, "It insults.")
    assert outcome == ["pass", 0]


@pytest.mark.parametrize("judge", [None, "none"])
def test_without_a_judge_it_is_skipped_and_counts_nowhere(bench: Workbench, judge: str | None) -> None:
    found, *outcome = run(bench, "{conduct_judged: warn}", judge)
    assert found is not None
    assert (found.status, outcome) == ("skipped", ["pass", 0])


def test_judge_without_an_answer_skips_it(bench: Workbench, tmp_path_factory: pytest.TempPathFactory) -> None:
    script = tmp_path_factory.mktemp("judge") / "answers.yml"
    script.write_text("[]")
    found, *outcome = run(bench, "{conduct_judged: warn}", f"scripted:{script}")
    assert found is not None
    assert (found.status, outcome) == ("skipped", ["pass", 0])


def test_it_cannot_gate(bench: Workbench) -> None:
    with pytest.raises(InputError, match="cannot gate"):
        run(bench, "{conduct_judged: gate}")
