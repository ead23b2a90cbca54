"""What a store does. It only ever adds: a run, its trials as they finish, its end."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from clerkship.model.calibration import Calibration
from clerkship.model.errors import ClerkshipError, PlatformError
from clerkship.model.run import Attempt, BenchmarkRun, Counts, TaskRun, TrialOutcome
from clerkship.model.seals import SealCheck
from clerkship.store.seal import ChainEnd, Ledger, TrialSeal


class StoreFailed(PlatformError):
    """The store could not be opened, read or written."""


class StoreDamaged(StoreFailed):
    """A record in the store cannot be parsed; the rest of the store can be read."""


class SealBroken(ClerkshipError):
    """A run was changed after it was saved, or is not sealed as it must be; nothing is built on it."""


class UnknownRun(ClerkshipError):
    """There is no such run."""


class RunBusy(ClerkshipError):
    """Another process is at work on this run."""


class Kept(Protocol):
    """A finished trial as the engine hands it in."""

    @property
    def task_run(self) -> TaskRun:
        """Its record."""
        ...

    @property
    def log(self) -> bytes:
        """Its log, one event a line."""
        ...

    @property
    def blobs(self) -> Mapping[str, bytes]:
        """Bodies too large for the log, by hash."""
        ...

    @property
    def sidecar(self) -> bytes:
        """What differs between machines."""
        ...


class RunLock(Protocol):
    """A run in the hands of one process. It ends with the process, however that ends."""

    @property
    def begun(self) -> Sequence[Attempt]:
        """What those who held it before had begun: some of it may never have been kept."""
        ...

    def begin(self, attempt: Attempt) -> None:
        """It is known from here on, though everything else of it may be lost. From any thread."""
        ...

    def __enter__(self) -> Self:
        """In hand."""
        ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Let others have it. What was begun is forgotten, unless an exception ended the work."""
        ...


class Store(Protocol):
    """Runs, and what is known of them."""

    path: Path
    """The file it is in; others that belong to it begin with the same name."""

    def open_run(self, run: BenchmarkRun, frozen: Mapping[str, bytes]) -> None:
        """A run begins: its plan, tasks and datasets first, by hash."""
        ...

    def hold(self, run_id: str) -> RunLock:
        """Take a run in hand; raises RunBusy if another process has it."""
        ...

    def held(self, run_id: str) -> bool:
        """Whether a process is at work on it."""
        ...

    def save(self, finished: Sequence[Kept], after: ChainEnd) -> Sequence[TrialSeal]:
        """Save finished trials of one run; return their seals, chained to the last one in the caller's ledger."""
        ...

    def save_regraded(self, task_run: TaskRun, graded: TaskRun, after: ChainEnd) -> TrialSeal:
        """Save a trial that was graded again: its log, bodies and sidecar are those of the first."""
        ...

    def mark(self, run_id: str, status: str, at: str, ledger: Ledger | None = None) -> None:
        """Save that a run ends or is resumed.

        Either is sealed over the trials of the ledger, which the caller has kept since it saved them; without one,
        over those that the store has.
        """
        ...

    def ledger(self, run_id: str) -> Ledger:
        """Load the seals of a run, to add to them."""
        ...

    def check_seals(self, run_id: str, *, task: str | None = None, ledger: Ledger | None = None) -> SealCheck:
        """Check a run against its seals, or one task of it; with a ledger, against what the caller has in memory."""
        ...

    def data_version(self) -> int:
        """Return a number that differs if another connection has written to the store since."""
        ...

    def is_replaced(self) -> bool:
        """Whether the store's file was replaced or deleted since it was opened."""
        ...

    def check_head(self, run_id: str) -> SealCheck:
        """Check a run's record, status and counts against their seals; no trial is read."""
        ...

    def check_plan(self, run_id: str) -> SealCheck:
        """Check a run's record and its plan against their seals."""
        ...

    def save_calibration(self, calibration: Calibration) -> None:
        """A judge was held against people."""
        ...

    def calibrations(self, model: str) -> tuple[Calibration, ...]:
        """Those of one model, oldest first."""
        ...

    def runs(self, limit: int = 50, damaged: list[str] | None = None) -> list[tuple[BenchmarkRun, Counts]]:
        """The newest runs, newest first. For `damaged` see `task_runs`."""
        ...

    def run(self, reference: str) -> BenchmarkRun:
        """A run by id, by the start of its id, `latest`, or `latest~1` for the one before."""
        ...

    def counts(self, run_id: str) -> Counts:
        """How a run's trials came out."""
        ...

    def task_runs(
        self,
        run_id: str,
        *,
        failed: bool = False,
        task: str | None = None,
        attempts: bool = False,
        damaged: list[str] | None = None,
    ) -> list[TaskRun]:
        """A run's trials in order; all, or those with anything wrong, or those of one task.

        Of each the last attempt counts, unless all are asked for. A record that cannot be parsed raises StoreDamaged;
        with a list `damaged` it is left out, and a sentence about it is added to the list.
        """
        ...

    def each(self, run_id: str, *, attempts: bool = False) -> Iterator[TaskRun]:
        """A run's trials in the same order, one at a time: for runs too large to hold."""
        ...

    def outcomes(self, run_id: str) -> list[TrialOutcome]:
        """How each trial came out, without its record: the last attempt of each."""
        ...

    def log(self, task_run: TaskRun, after: int = 0) -> Iterator[bytes]:
        """A trial's log, one line an event, from the line after this on; never all of it in memory."""
        ...

    def sidecar(self, task_run: TaskRun) -> bytes:
        """What differed between machines."""
        ...

    def blob(self, digest: str) -> bytes:
        """A blob by its hash."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...
