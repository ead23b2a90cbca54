"""The interface of a store. Records are only added: a run, its trials, its end. A run is deleted as a whole."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, Self

from clerkship.model.calibration import Calibration
from clerkship.model.errors import ClerkshipError, PlatformError
from clerkship.model.run import Attempt, BenchmarkRun, Counts, TaskRun, TrialOutcome
from clerkship.model.seals import SealCheck
from clerkship.model.store_place import StorePlace
from clerkship.store.seal import ChainEnd, Ledger, TrialSeal


class StoreFailed(PlatformError):
    """The store could not be opened, read or written."""


class StoreDamaged(StoreFailed):
    """A record in the store cannot be parsed; the rest of the store can be read."""


class SealBroken(ClerkshipError):
    """A run was changed after it was saved, or is not sealed as required; it is not used further."""


class UnknownRun(ClerkshipError):
    """The store has no such run."""


class RunBusy(ClerkshipError):
    """Another process works on this run."""


class TrialRecord(Protocol):
    """A finished trial, as the engine passes it to the store."""

    @property
    def task_run(self) -> TaskRun: ...

    @property
    def log(self) -> bytes:
        """Its log, one event per line."""

    @property
    def blobs(self) -> Mapping[str, bytes]:
        """Bodies too large for the log, by hash."""

    @property
    def sidecar(self) -> bytes:
        """Facts that differ between machines."""


class RunLock(Protocol):
    """A lock on a run, held by one process until it ends."""

    @property
    def begun(self) -> Sequence[Attempt]:
        """Attempts that earlier holders began; some may never have been saved."""

    def begin(self, attempt: Attempt) -> None:
        """Record that an attempt begins, so that it is known even if the process is killed. Thread-safe."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Release the lock. The list of attempts is deleted, unless an exception ended the work."""


class RunLabels(Protocol):
    """What a person changes of stored runs: labels, and which are kept."""

    def save_label(self, run_id: str, label: str) -> None:
        """Save the label of a run in place of the one it had; an empty one removes it."""

    def labels(self) -> dict[str, str]:
        """Return the labels of all runs that have one, by id."""

    def delete(self, *run_ids: str) -> None:
        """Delete runs, their trials, and the blobs that no other run uses; raise RunBusy if a process works on one."""


class Store(RunLabels, Protocol):
    """Runs and their trials."""

    place: StorePlace
    """Where it is. Other files of a SQLite file begin with the same name."""

    def open_run(self, run: BenchmarkRun, frozen: Mapping[str, bytes]) -> None:
        """Save a new run, and its plan, tasks and datasets by hash."""

    def hold(self, run_id: str) -> RunLock:
        """Lock a run; raise RunBusy if another process has it."""

    def held(self, run_id: str) -> bool:
        """Return whether a process has locked a run."""

    def save(self, finished: Sequence[TrialRecord], after: ChainEnd) -> Sequence[TrialSeal]:
        """Save finished trials of one run; return their seals, chained to the last one in the caller's ledger."""

    def save_regraded(self, task_run: TaskRun, graded: TaskRun, after: ChainEnd) -> TrialSeal:
        """Save a trial that was graded again; its log, bodies and sidecar are those of the original."""

    def mark(self, run_id: str, status: str, at: str, ledger: Ledger | None = None) -> None:
        """Save that a run ended or was resumed, with a seal over the trials of the ledger.

        The caller has kept the ledger since it saved the trials. Without one, the seals in the store are used.
        """

    def ledger(self, run_id: str) -> Ledger:
        """Load the seals of a run, to add to them."""

    def check_seals(self, run_id: str, *, task: str | None = None, ledger: Ledger | None = None) -> SealCheck:
        """Check a run against its seals, or one task of it; with a ledger, against what the caller has in memory."""

    def data_version(self) -> int:
        """Return a number that differs if another connection has written to the store since."""

    def is_replaced(self) -> bool:
        """Return whether the store's file was replaced or deleted since it was opened."""

    def check_head(self, run_id: str) -> SealCheck:
        """Check a run's record, status and counts against their seals; no trial is read."""

    def check_plan(self, run_id: str) -> SealCheck:
        """Check a run's record and its plan against their seals."""

    def save_calibration(self, calibration: Calibration) -> None:
        """Save a calibration of a judge."""

    def calibrations(self, model: str) -> tuple[Calibration, ...]:
        """Return the calibrations of a model, oldest first."""

    def runs(self, limit: int = 50, damaged: list[str] | None = None) -> list[tuple[BenchmarkRun, Counts]]:
        """Return the newest runs, newest first. For `damaged` see `task_runs`."""

    def run(self, reference: str) -> BenchmarkRun:
        """Return a run by id, by the start of its id, by `latest`, or by `latest~1` for the one before."""

    def counts(self, run_id: str) -> Counts:
        """Return the number of trials by outcome."""

    def task_runs(
        self,
        run_id: str,
        *,
        failed: bool = False,
        task: str | None = None,
        attempts: bool = False,
        damaged: list[str] | None = None,
    ) -> list[TaskRun]:
        """Return a run's trials in order: all, those that did not pass, or those of one task.

        Only the last attempt of each is returned, unless all are requested. A record that cannot be parsed raises
        StoreDamaged; with a list `damaged` it is left out, and a sentence about it is added to the list.
        """

    def task_run(self, run_id: str, task: str, trial: int) -> TaskRun | None:
        """Return the last attempt of one trial; None if there is none."""

    def each(self, run_id: str, *, attempts: bool = False) -> Iterator[TaskRun]:
        """Yield a run's trials in the same order, one at a time, for runs too large for memory."""

    def outcomes(self, run_id: str) -> list[TrialOutcome]:
        """Return the outcome of each trial's last attempt, without its record."""

    def log(self, task_run: TaskRun, after: int = 0) -> Iterator[bytes]:
        """Yield the lines of a trial's log after a position, without loading all of it."""

    def sidecar(self, task_run: TaskRun) -> bytes:
        """Return the sidecar of a trial."""

    def blob(self, digest: str) -> bytes:
        """Return a blob by its hash."""

    def close(self) -> None: ...
