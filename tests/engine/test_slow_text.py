"""A pattern that is too slow on the agent's text fails the criterion."""

from typing import Any

import pytest

from clerkship.model import pattern
from tests.workbench import Workbench

SLOW_ON = "order" * 19_800
"""99,000 characters on which `order.*` in front of something absent takes seconds."""


def task(assertion: str) -> str:
    return f"""
    task:
      name: Answer
      criteria:
        - {{label: answer, assertion: {assertion}}}
        - {{label: given, assertion: {{event_occurred: agent.answered}}}}
    """


@pytest.mark.parametrize(
    "assertion",
    [
        "{answer_matches: {expected: {matches: '(order.*){3}[x-z]'}}}",
        pytest.param("{answer_matches: {expected: {not: {matches: '(order.*){3}[x-z]'}}}}", marks=pytest.mark.slow),
    ],
    ids=["wanted", "unwanted"],
)
def test_a_pattern_too_slow_on_the_agents_text_fails_the_criterion(
    bench: Workbench, assertion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pattern, "TIME_LIMIT", 0.1)

    def on_task(task_item: Any) -> str:
        return SLOW_ON

    bench.write("task.yml", task(assertion))
    task_run = bench.run_one(on_task)
    assert (task_run.verdict, task_run.score, bench.exit_code()) == ("partial", 0.5, 1)
    assert task_run.criteria[0].status == "judged"
    assert "cannot be checked in time" in task_run.criteria[0].detail


def test_a_slow_pattern_is_refused_at_load_with_its_place(bench: Workbench) -> None:
    bench.write("task.yml", task("{answer_matches: {expected: {matches: '(a+)+$'}}}"))
    with pytest.raises(Exception, match=r"task.yml:\d+:\d+: .*the pattern is too slow"):
        bench.run_one("nop")
