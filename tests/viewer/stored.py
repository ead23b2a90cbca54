"""Runs in a store with any number of trials and events, without running them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from clerkship.engine.spec import FinishedTrial
from clerkship.events.log import open_log
from clerkship.model.environment import Environment, Simulator
from clerkship.model.run import TaskRun
from clerkship.model.snapshot import Plan, Snapshot
from clerkship.model.task import Task
from clerkship.service.planning.plan import build_run
from clerkship.settings import Settings
from clerkship.simulators.files.events import FileRead
from clerkship.store.sqlite import SqliteStore
from clerkship.viewer.context import ViewerContext
from tests.report import made_up

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def build_log(events: int, sandboxes: Sequence[str] = ("drop",)) -> tuple[bytes, str]:
    """Return the log of an agent that reads so many files, a second each, from sandboxes in turn, and its head."""
    log, writer = open_log()
    for number in range(events):
        payload = FileRead(path=f"inbox/{number}.txt", size=number)
        writer.append(sandboxes[number % len(sandboxes)], payload, actor="agent", at=START + timedelta(seconds=number))
    return log.data(), log.head


def save_run(
    path: Path,
    trials: Sequence[TaskRun],
    events: int = 5,
    *,
    status: str = "completed",
    into: str = "",
    sandboxes: Sequence[str] = ("drop",),
) -> str:
    """Save made-up trials with equal logs as a sealed run, or into one that is not ended; return its id."""
    environment = Environment(name="desk", simulators={name: Simulator(kind="files") for name in sandboxes})
    snapshot = Snapshot(task=Task(name="Any"), environment=environment, timeout=1)
    plan = Plan(snapshots=(snapshot.hash,), seed=0, trials=max(trial.trial for trial in trials))
    run = build_run(plan, [snapshot], "agent", name="stored").model_copy(update={"total": len(trials)})
    data, head = build_log(events, sandboxes)
    with SqliteStore(path) as store:
        if into:
            run = store.run(into)
        else:
            store.open_run(run, {plan.hash: plan.data, snapshot.hash: snapshot.data})
        ledger = store.ledger(run.id)
        changes = {"run": run.id, "snapshot": snapshot.hash, "events": events, "head": head}
        for trial in trials:
            finished = FinishedTrial(trial.model_copy(update=changes), data, {}, b'{"wall_ms": 1200.0}')
            ledger.add(store.save([finished], ledger.last))
        if status != "active":
            store.mark(run.id, status, START.isoformat(), ledger)
    return run.id


def list_trials(number: int) -> list[TaskRun]:
    """Return so many trials: every tenth failed, every fiftieth errored."""
    return [detail.task_run for detail in made_up.many(number, 0)]


def build_context(path: Path, **changes: Any) -> ViewerContext:
    """Return what the handlers of pages are given, for a store."""
    return ViewerContext(Settings(), lambda: SqliteStore(path), **changes)
