"""The record of a trial that is over, including one that was never started or does not count."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from clerkship.engine.score import status_of
from clerkship.engine.spec import TrialSpec
from clerkship.events.log import Log
from clerkship.kit.text import replace_surrogates
from clerkship.model.run import Ending, TaskRun
from clerkship.playground.failure import TRACEBACK

OVERLOADED = "it timed out while more agents were computing than there are cores, and was run again alone"


@dataclass(frozen=True)
class FinishedTrial:
    """A trial with its verdict, and everything of it that is stored."""

    task_run: TaskRun
    log: bytes
    blobs: dict[str, bytes]
    sidecar: bytes
    retry: TrialSpec | None = None
    """The trial to run instead, if this one does not count."""


def build_task_run(spec: TrialSpec, ending: Ending, log: Log, error: str, **graded: Any) -> TaskRun:
    """Build the record of a trial. `graded` has the further fields of a trial that was started."""
    snapshot = spec.built.snapshot
    return TaskRun(
        run=spec.run,
        task=snapshot.task.name,
        trial=spec.trial,
        attempt=spec.attempt,
        status=status_of(ending),
        ending=ending,
        error=replace_surrogates(error),
        head=log.head,
        events=len(log.events),
        snapshot=snapshot.hash,
        template=snapshot.template,
        tags=snapshot.task.tags,
        **graded,
    )


def mark_cancelled(finished: FinishedTrial) -> FinishedTrial:
    """Return a finished trial with the status `cancelled` and without a grade.

    This is for a trial whose grading was interrupted: its log is stored, and `resume` runs it again.
    """
    updates: dict[str, Any] = {"verdict": None, "score": None, "axes": {}, "criteria": (), "quality": None}
    updates |= {"status": "cancelled", "ending": "cancelled"}
    return replace(finished, task_run=finished.task_run.model_copy(update=updates))


def mark_repeated(finished: FinishedTrial, spec: TrialSpec) -> FinishedTrial:
    """Return a trial that timed out because of overload as cancelled, with a retry that runs alone."""
    cancelled = mark_cancelled(finished)
    task_run = cancelled.task_run.model_copy(update={"error": OVERLOADED})
    return replace(cancelled, task_run=task_run, retry=replace(spec, attempt=spec.attempt + 1, alone=True))


def build_unstarted(
    spec: TrialSpec, error: str, ending: Literal["errored", "cancelled"] = "errored", *, traceback: str = ""
) -> FinishedTrial:
    """Build the record of a trial that was not started, because its playground could not be built or recorded."""
    task_run = build_task_run(spec, ending, Log(), error)
    return FinishedTrial(task_run, b"", {}, orjson.dumps({TRACEBACK: traceback} if traceback else {}))
