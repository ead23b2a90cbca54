"""The inputs and the result of a trial: its task and number, what all trials of a batch share, and its time limits."""

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson

from clerkship.actors.contract import Solver
from clerkship.engine.build import BuiltTask
from clerkship.engine.models import NO_MODELS, ModelSelection
from clerkship.engine.score import status_of
from clerkship.events.log import Log
from clerkship.kit.rng import derive_seed
from clerkship.kit.text import replace_surrogates
from clerkship.kit.wall import monotonic, process_time
from clerkship.model.run import Attempt, Ending, TaskRun
from clerkship.playground.failure import TRACEBACK
from clerkship.playground.gateway import Gateway
from clerkship.playground.listeners import ListenerPool

if TYPE_CHECKING:  # few runs send traces, or are watched
    from clerkship.playground.playground import Playground
    from clerkship.traces.exporter import TraceExporter

MAX_GAP_SECONDS = 0.5
"""A longer gap between two beats counts as lost time. Beats are due every tenth of a second."""
OVERLOADED_SHARE = 1 / 3
"""If at least this share of the checks of a trial found an overload, its timeout does not count."""
OVERLOADED = "it timed out while more agents were computing than there are cores, and was run again alone"


class Watchdog:
    """A clock that stands still while this process does not run.

    That is so after a stop signal, on a suspended laptop, or on an overloaded machine. The owner calls `beat` many
    times a second. A longer gap between two beats is lost time, which does not count for any agent. Processor time
    that the process used in the gap does count: an agent that holds the interpreter lock causes the gap itself.
    """

    def __init__(
        self, clock: Callable[[], float] = monotonic, processor_time: Callable[[], float] = process_time
    ) -> None:
        self._clock, self._processor_time = clock, processor_time
        self._last = (clock(), processor_time(), 0.0)
        """Time of the last beat, processor time then, and lost time until then. One tuple, for thread safety."""

    def beat(self) -> None:
        """Record that the process is running."""
        now, processor_time = self._clock(), self._processor_time()
        self._last = (now, processor_time, self._lost(now))

    def time(self) -> float:
        """Return the time of agents, in seconds."""
        now = self._clock()
        beat, _, lost = self._last
        return now - lost if now - beat <= MAX_GAP_SECONDS else now - self._lost(now)

    def _lost(self, now: float) -> float:
        beat, processor_time, lost = self._last
        excess = now - beat - MAX_GAP_SECONDS
        return lost + max(0.0, excess - (self._processor_time() - processor_time)) if excess > 0 else lost


class ProcessorLoad(NamedTuple):
    """Whether the thread and the program of an agent have used the processor since the last check."""

    thread: bool
    program: bool


def is_overloaded(loads: Collection[ProcessorLoad]) -> bool:
    """Return whether agents slow each other down.

    That is so if more than one computes in this interpreter, which runs one thread at a time, or if more of them
    compute than there are cores.
    """
    threads, programs = sum(load.thread for load in loads), sum(load.program for load in loads)
    return threads > 1 or threads + programs > (os.cpu_count() or 1)


class OverloadCounter:
    """Counts how often a trial was checked for overload, and how often there was one."""

    def __init__(self) -> None:
        self.checks = self.overloaded = 0

    def record(self, overloaded: bool) -> None:
        """Count one check."""
        self.checks += 1
        self.overloaded += overloaded

    @property
    def is_significant(self) -> bool:
        """Whether there was overload so often that a timeout of the trial does not count."""
        return self.overloaded > 0 and self.overloaded >= self.checks * OVERLOADED_SHARE


class TrialSpec(NamedTuple):
    """A trial to run: its task, its number among the trials of the task, and the number of the attempt."""

    built: BuiltTask
    run: str
    seed: int
    trial: int = 1
    attempt: int = 1
    alone: bool = False
    """Whether nothing else runs at the same time, because an earlier attempt timed out from overload."""

    def key(self) -> Attempt:
        """Return what identifies this attempt in its run."""
        return Attempt(self.built.snapshot.task.name, self.trial, self.attempt)

    @property
    def playground_seed(self) -> str:
        """The seed of the playground.

        A fork uses the seed of the forked trial, so that its ids continue those of the trial.
        """
        fork_point = self.built.fork_point
        return (
            derive_seed(self.seed, self.built.snapshot.task.name, self.trial) if fork_point is None else fork_point.seed
        )


@dataclass(frozen=True)
class BatchContext:
    """What all trials of a batch share."""

    solver: Solver
    gateway: Gateway
    base_url: Callable[[], str]
    begin: Callable[[Attempt], None] = lambda attempt: None
    """Called with each attempt before its agent is started."""
    models: ModelSelection = NO_MODELS
    """The models that judge, play people, and replay recordings."""
    listeners: ListenerPool | None = None
    """The listeners of transports other than HTTP."""
    watchdog: Watchdog = field(default_factory=Watchdog)
    accepts_traces: bool = False
    """Whether agents may send spans."""
    exporter: "TraceExporter | None" = None
    """Sends the traces of trials to a collector."""
    watch: "Callable[[Playground], None] | None" = None
    """Called with the playground of each trial."""


class FinishedTrial(NamedTuple):
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
    return finished._replace(task_run=finished.task_run.model_copy(update=updates))


def mark_repeated(finished: FinishedTrial, spec: TrialSpec) -> FinishedTrial:
    """Return a trial that timed out because of overload as cancelled, with a retry that runs alone."""
    cancelled = mark_cancelled(finished)
    task_run = cancelled.task_run.model_copy(update={"error": OVERLOADED})
    return cancelled._replace(task_run=task_run, retry=spec._replace(attempt=spec.attempt + 1, alone=True))


def build_unstarted(
    spec: TrialSpec, error: str, ending: Literal["errored", "cancelled"] = "errored", *, traceback: str = ""
) -> FinishedTrial:
    """Build the record of a trial that was not started, because its playground could not be built or recorded."""
    task_run = build_task_run(spec, ending, Log(), error)
    return FinishedTrial(task_run, b"", {}, orjson.dumps({TRACEBACK: traceback} if traceback else {}))
