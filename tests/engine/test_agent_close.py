"""The agent of a trial is closed exactly once, before the log is sealed, however the trial ends."""

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from pydantic import JsonValue

from clerkship.actors.contract import Agent, AgentError, EntryPointName, Message, Say
from clerkship.engine import worker
from clerkship.sandbox.handle import Sandboxes
from tests.waiting import wait_until
from tests.workbench import Workbench

WORK = "task: {name: Work, timeout: {timeout}, criteria: [{label: answers, assertion: {answer_matches: 42}}]}"


class RecordingAgent:
    """A solver whose agent records when it is closed."""

    name = "holder"
    entries: frozenset[EntryPointName] = frozenset({"on_task"})

    def __init__(self, way: str) -> None:
        self.way = way
        self.closed_by: list[str] = []
        self.opening = threading.Event()
        self.trials: list[int] = []

    def open(self, solution: str | None, trial: int = 1) -> Agent:
        self.trials.append(trial)
        if self.way == "opens late":
            try:
                self.opening.wait(30)
            except BaseException:
                self.opening.wait(30)
        if self.way == "cannot be opened":
            raise AgentError("no")
        return self

    async def on_turn(self, message: Message, sandboxes: Sandboxes) -> list[Say]:
        raise NotImplementedError

    async def on_task(self, task_item: Mapping[str, JsonValue], sandboxes: Sandboxes) -> JsonValue:
        match self.way:
            case "fails":
                raise AgentError("it fell over")
            case "breaks":
                raise ZeroDivisionError("a bug of ours")
            case "waits":
                await asyncio.sleep(60)
            case "blocks":
                threading.Event().wait(60)
        return 42

    def close(self) -> Mapping[str, JsonValue]:
        self.closed_by.append(threading.current_thread().name)
        if self.way == "cannot be closed":
            raise OSError("stuck")
        return {"held": self.way}


@pytest.mark.parametrize(
    ("way", "status", "by"),
    [
        ("answers", "completed", ["clerkship-worker"]),
        ("fails", "completed", ["clerkship-worker"]),
        ("breaks", "errored", ["clerkship-worker"]),
        ("waits", "timed_out", ["clerkship-worker"]),
        ("blocks", "timed_out", ["MainThread"]),
        ("cannot be opened", "completed", []),
        ("cannot be closed", "errored", ["clerkship-worker"]),
    ],
)
def test_agent_is_closed_once_when_its_trial_is_finished(
    bench: Workbench, way: str, status: str, by: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "waits":  # on a busy machine, the worker needs longer to cancel it
        monkeypatch.setattr(worker, "GRACE_SECONDS", 30.0)
    bench.write("a.yml", WORK.replace("{timeout}", "0.3" if status == "timed_out" else "20"))
    holder: Any = RecordingAgent(way)
    task_run = bench.run_one(holder)
    assert (task_run.status, holder.closed_by) == (status, by)
    if by and way != "cannot be closed":
        assert orjson.loads(bench.store.sidecar(task_run))["held"] == way


def test_agent_that_opens_after_its_trial_ended_is_closed_at_once(bench: Workbench) -> None:
    bench.write("a.yml", WORK.replace("{timeout}", "0.2"))
    holder: Any = RecordingAgent("opens late")
    task_run = bench.run_one(holder)
    assert (task_run.status, holder.closed_by) == ("timed_out", [])
    holder.opening.set()
    wait_until(lambda: holder.closed_by)
    assert holder.closed_by == ["clerkship-worker"]


def test_solver_gets_the_number_of_the_trial(bench: Workbench) -> None:
    bench.write("a.yml", WORK.replace("{timeout}", "20"))
    holder: Any = RecordingAgent("answers")
    bench.run(holder, trials=3, concurrency=1)
    assert holder.trials == [1, 2, 3]
    assert len(holder.closed_by) == 3
