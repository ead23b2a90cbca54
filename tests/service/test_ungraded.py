"""Exit codes of runs in which nothing was graded."""

from typing import Any

import pytest

from clerkship.service.checking import ValidationRequest, validate
from clerkship.service.rescore import RescoreOptions, rescore
from clerkship.settings import Settings
from tests.workbench import CATALOG, Workbench

JUDGED = """
    scenario:
      name: Polite
      simulation_context: You ask for help.
      setup: {person: {lines: ["Help me."]}}
      goals: {criteria: [The agent is polite]}
"""
CHECKED = """
    scenario:
      name: Checked
      simulation_context: You ask for help.
      setup: {person: {lines: ["Help me."]}}
      goals: {assertions: [{bot_uttered: {text_matches: help}}], criteria: [The agent is polite]}
"""
WITHOUT = """
    scenario:
      name: Transcript alone
      simulation_context: You ask for help.
      setup: {person: {lines: ["Help me."]}}
"""


class AnsweringAgent:
    """Answers each message."""

    def on_turn(self, message: Any, sandboxes: Any) -> str:
        return "I can help."


def test_run_without_a_judged_criterion_exits_2(bench: Workbench) -> None:
    bench.write("polite.yml", JUDGED)
    assert bench.run_one(AnsweringAgent, judge="none").verdict == "ungraded"
    assert bench.exit_code() == 2


def test_allow_ungraded_exits_0(bench: Workbench) -> None:
    bench.write("polite.yml", JUDGED)
    bench.run_one(AnsweringAgent, judge="none", allow_ungraded=True)
    assert bench.exit_code() == 0


def test_run_with_one_judged_criterion_exits_0(bench: Workbench) -> None:
    bench.write("polite.yml", JUDGED)
    bench.write("checked.yml", CHECKED)
    assert {t.verdict for t in bench.run(AnsweringAgent, judge="none")} == {"ungraded", "pass"}
    assert bench.exit_code() == 0


def test_run_of_tasks_without_criteria_exits_0(bench: Workbench) -> None:
    bench.write("alone.yml", WITHOUT)
    assert bench.run_one(AnsweringAgent).verdict == "ungraded"
    assert bench.exit_code() == 0


@pytest.mark.parametrize(("allow", "code"), [(False, 2), (True, 0)])
def test_rescore_without_a_judged_criterion_exits_2(bench: Workbench, allow: bool, code: int) -> None:
    bench.write("polite.yml", JUDGED)
    bench.run_one(AnsweringAgent, judge="none")
    result = rescore(bench.store, "latest", CATALOG, judging=RescoreOptions("none", allow_ungraded=allow))
    assert result.exit_code() == code


def test_validate_warns_about_a_task_without_criteria(bench: Workbench) -> None:
    path = bench.write("alone.yml", WITHOUT)
    bench.write("polite.yml", JUDGED)
    checked = validate(ValidationRequest(path=bench.folder), Settings(), CATALOG)
    assert [warning.message for warning in checked.warnings if warning.file == str(path)] == [
        "'Transcript alone' has no criteria, so its runs are ungraded"
    ]
    assert checked.exit_code() == 0
