"""Look at runs that are kept."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from clerkship.events.log import chain_head
from clerkship.model.names import did_you_mean
from clerkship.model.run import BenchmarkRun, Counts, TaskRun
from clerkship.model.snapshot import Snapshot
from clerkship.store.contract import Store, UnknownRun
from clerkship.store.sqlite import SqliteStore


@dataclass(frozen=True)
class RunView:
    """A run with its trials."""

    run: BenchmarkRun
    counts: Counts
    task_runs: list[TaskRun]


@dataclass(frozen=True)
class TaskView:
    """A trial with its log, and whether the log is the one that was graded."""

    task_run: TaskRun
    snapshot: Snapshot
    events: list[dict[str, Any]]
    sidecar: dict[str, Any]
    intact: bool


def open_store(path: Path, *, create: bool = False) -> SqliteStore:
    """The store at a path."""
    return SqliteStore(path, create=create)


def show_run(store: Store, reference: str, *, failed: bool = False) -> RunView:
    """One run; all its trials, or those with anything wrong."""
    run = store.run(reference)
    return RunView(run, store.counts(run.id), store.task_runs(run.id, failed=failed))


def show_task(store: Store, reference: str, name: str, trial: int = 1) -> TaskView:
    """One trial, by the task's name or a part of it that only it has."""
    run = store.run(reference)
    found = store.task_runs(run.id, task=name) or _by_part(store.task_runs(run.id), name)
    latest = [task_run for task_run in found if task_run.trial == trial]
    if not latest:
        raise UnknownRun(f"{run.id} has no trial {trial} of {name!r}; it has {', '.join(str(t.trial) for t in found)}")
    return view_task(store, latest[-1])


def _by_part(task_runs: list[TaskRun], part: str) -> list[TaskRun]:
    names = sorted({task_run.task for task_run in task_runs})
    fitting = [name for name in names if part.lower() in name.lower()]
    if len(fitting) == 1:
        return [task_run for task_run in task_runs if task_run.task == fitting[0]]
    said = f"fits {len(fitting)} tasks: {'; '.join(fitting[:5])}" if fitting else did_you_mean(part, names)
    raise UnknownRun(f"no task is called {part!r}; {said}")


def view_task(store: Store, task_run: TaskRun) -> TaskView:
    """A trial's log and all that belongs to it."""
    lines = store.log(task_run)
    events = [orjson.loads(line) for line in lines]
    return TaskView(
        task_run,
        Snapshot.model_validate_json(store.blob(task_run.snapshot)),
        events,
        orjson.loads(store.sidecar(task_run)),
        chain_head(lines) == task_run.head and _bodies_intact(store, events),
    )


def _bodies_intact(store: Store, events: list[dict[str, Any]]) -> bool:
    """A line vouches for its bodies by their hashes, and the store keeps them by those."""
    named = {kept["sha256"] for event in events for kept in event.get("blobs", {}).values()}
    return all(hashlib.sha256(store.blob(digest)).hexdigest() == digest for digest in named)
