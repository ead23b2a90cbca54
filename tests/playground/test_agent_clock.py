"""The clock of agents: its limit, HTTP access, and failures while time passes."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from clerkship.events.request_line import render_logged_request
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


def test_waiting_is_logged_the_same_in_process_and_over_http(bench: Workbench) -> None:
    def in_process(task_item: Any, sandboxes: Any) -> int:
        sandboxes.wait("10m")
        return 400

    def over_http(task_item: Any, sandboxes: Any) -> int:
        drop = sandboxes["drop"]
        clock = f"{drop.url.rpartition('/')[0]}/clock"
        with httpx.Client(headers={"Authorization": f"Bearer {drop.token}"}) as client:
            client.post(f"{clock}/advance", params={"by": "10m"})
            if task_item.get("refused"):
                client.post(f"{clock}/advance", params={"by": "soon"})
        return 400

    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", TASK + "      task_item: {}\n")
    logs = [list(bench.store.log(bench.run_one(agent))) for agent in (in_process, over_http)]
    assert logs[0] == logs[1]
    bench.write("task.yml", TASK + "      task_item: {refused: true}\n")
    events = bench.events(bench.run_one(over_http))
    assert [(e["kind"], e["payload"]) for e in events if e["kind"] == "clock.advanced"] == [
        ("clock.advanced", {"seconds": 600.0})
    ]
    [refused] = [render_logged_request(event) for event in events if event["kind"] == "sandbox.refused"]
    assert refused is not None
    assert refused.startswith("POST advance?by=soon → 400 ")


def test_step_that_fails_while_the_agent_waits_errors_the_run(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: Any, **__: Any) -> None:
        raise KeyError("a bug of ours")

    def on_task(task_item: Any, sandboxes: Any) -> None:
        monkeypatch.setattr("clerkship.simulators.files.steps.DropFile.run", breaks)
        sandboxes.wait("1h")

    bench.write("desk.yml", ENVIRONMENT)
    bench.write("task.yml", TASK + "      scenario: [{at: +10m, files.drop: {path: a.txt, text: a}}]\n")
    task_run = bench.run_one(on_task)
    assert (task_run.status, task_run.verdict) == ("errored", None)
    assert "a bug of ours" in task_run.error


@pytest.mark.parametrize(("field", "value"), [("now", "9999-12-31T23:00:00+00:00"), ("tick", timedelta(days=36_500))])
def test_environment_that_starts_near_the_end_of_time_is_refused(field: str, value: Any) -> None:
    with pytest.raises(ValueError, match="expected"):
        Environment.model_validate({"name": "late", field: value})
