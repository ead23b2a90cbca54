"""The clock as agents use it: bounded, over HTTP too, and what breaks while time passes is not the agent's fault."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from clerkship.model.environment import Environment
from clerkship.playground.agent_clock import MAX_AHEAD
from tests.workbench import Workbench

ENVIRONMENT = "environment: {name: desk, simulators: {drop: {kind: files}}}"
TASK = """
    task:
      name: Wait
      criteria: [{label: answers, assertion: {answer_matches: 400}}]
"""


def test_time_beyond_the_limit_is_refused_with_400_and_the_trial_is_graded(bench: Workbench) -> None:
    codes = []

    def on_task(task_item: Any, sandboxes: Any) -> int:
        drop = sandboxes["drop"]
        clock = f"{drop.url.rpartition('/')[0]}/clock/advance"
        with httpx.Client(headers={"Authorization": f"Bearer {drop.token}"}) as client:
            for days in (MAX_AHEAD.days, 36_500, 1):
                reply = client.post(clock, params={"by": f"{days}d"})
                codes.append((reply.status_code, reply.json().get("error", {}).get("code")))
            drop.list()
        return reply.status_code

    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", TASK)
    task_run = bench.run_one(on_task)
    assert [code for code, _ in codes] == [200, 400, 400]
    assert (task_run.status, task_run.verdict) == ("completed", "pass")


def test_a_step_that_breaks_while_the_agent_waits_is_not_the_agents_fault(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: Any, **__: Any) -> None:
        raise KeyError("a bug of ours")

    def on_task(task_item: Any, sandboxes: Any) -> None:
        monkeypatch.setattr("clerkship.simulators.files.steps.drop.Drop.run", breaks)
        sandboxes.wait("1h")

    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", TASK + "      scenario: [{at: +10m, files.drop: {path: a.txt, text: a}}]\n")
    task_run = bench.run_one(on_task)
    assert (task_run.status, task_run.verdict) == ("errored", None)
    assert "a bug of ours" in task_run.error


@pytest.mark.parametrize(("field", "value"), [("now", "9999-12-31T23:00:00+00:00"), ("tick", timedelta(days=36_500))])
def test_an_environment_that_leaves_no_room_for_time_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        Environment.model_validate({"name": "late", field: value})
