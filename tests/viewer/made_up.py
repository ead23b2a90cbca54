"""A store with made-up runs: agents, versions, tags, commits, one label."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from clerkship.model.environment import CONVERSATION_ENVIRONMENT
from clerkship.model.published import PublishedVersion
from clerkship.model.run import AxisScore, TaskRun
from clerkship.model.snapshot import Plan, Snapshot
from clerkship.model.task import Task
from clerkship.model.usage import Usage
from clerkship.store.seal import ChainEnd
from clerkship.store.sqlite import SqliteStore
from tests.report.made_up import RUN, criterion, task_run

AGENTS = ("python:desk:Agent", "oracle", "nop")
BEGAN = datetime(2026, 3, 2, 9, tzinfo=UTC)


@dataclass
class _Record:
    task_run: TaskRun
    log: bytes = b'{"seq":1,"kind":"run.started"}\n'
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    sidecar: bytes = b"{}"


def make_store(path: Path, runs: int, tasks: int = 4) -> list[str]:
    """Save runs, the first of each agent the worst; return their ids, oldest first."""
    snapshots = [
        Snapshot(
            task=Task(name=f"Task {number}", tags=("triage",) if number else ("billing",)),
            environment=CONVERSATION_ENVIRONMENT,
            timeout=60,
        )
        for number in range(tasks)
    ]
    plan = Plan(snapshots=tuple(snapshot.hash for snapshot in snapshots), seed=1, trials=1)
    frozen = {plan.hash: plan.data, **{snapshot.hash: snapshot.data for snapshot in snapshots}}
    with closing(SqliteStore(path)) as store:
        return [_save_run(store, number, plan, snapshots, frozen) for number in range(runs)]


def _save_run(
    store: SqliteStore, number: int, plan: Plan, snapshots: list[Snapshot], frozen: Mapping[str, bytes]
) -> str:
    at = BEGAN + timedelta(hours=number)
    version = PublishedVersion(slug="forms", version=1 + number % 2, digest="ab" * 32, grading="13")
    changes = {
        "id": f"run-{at:%Y%m%d-%H%M%S}-{number:06x}",
        "plan": plan.hash,
        "solver": AGENTS[number % 3],
        "started_at": at.isoformat(),
        "completed_at": None,
        "status": "active",
        "total": len(snapshots),
        "commit": f"{number + 0xABC:040x}",
        "published": version if number % 3 else None,
        "sealed": True,
    }
    run = RUN.model_copy(update=changes)
    store.open_run(run, frozen)
    trials = []
    for task, snapshot in enumerate(snapshots):
        passes = run.solver == "oracle" or (task + number) % 2 == 0
        trials.append(
            task_run(
                snapshot.task.name,
                run=run.id,
                snapshot=snapshot.hash,
                verdict="pass" if passes else "fail",
                score=float(passes),
                axes={"safety": AxisScore(score=float(passes), weight=1)},
                criteria=(criterion(passed=passes, score=float(passes), axis="safety"),),
                models={"judge": Usage(calls=1, prompt_tokens=90, completion_tokens=10, cost=0.25)},
            )
        )
    store.save([_Record(trial) for trial in trials], ChainEnd())
    store.mark(run.id, "completed", (at + timedelta(seconds=42)).isoformat())
    return run.id


def damage_verdict(path: Path, run_id: str) -> None:
    """Change the counts of a run without its seals."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE task_runs SET verdict = 'pass' WHERE run_id = ?", (run_id,))
