"""What a store does. It only ever adds: a run, its trials as they finish, its end."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from clerkship.model.problem import ClerkshipError, PlatformError
from clerkship.model.run import BenchmarkRun, Counts, TaskRun


class StoreFailed(PlatformError):
    """The store could not be opened, read or written."""


class UnknownRun(ClerkshipError):
    """There is no such run."""


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


class Store(Protocol):
    """Runs, and what is known of them."""

    def open_run(self, run: BenchmarkRun, snapshots: Mapping[str, bytes], datasets: Mapping[str, bytes]) -> None:
        """A run begins: its frozen tasks and datasets first, by hash."""
        ...

    def save(self, finished: Sequence[Kept]) -> None:
        """Trials have finished; when this returns they are kept."""
        ...

    def end_run(self, run_id: str, status: str, completed_at: str) -> None:
        """A run ends."""
        ...

    def runs(self, limit: int = 50) -> list[tuple[BenchmarkRun, Counts]]:
        """The newest runs, newest first."""
        ...

    def run(self, reference: str) -> BenchmarkRun:
        """A run by id, by the start of its id, or `latest`."""
        ...

    def counts(self, run_id: str) -> Counts:
        """How a run's trials came out."""
        ...

    def task_runs(self, run_id: str, *, failed: bool = False, task: str | None = None) -> list[TaskRun]:
        """A run's trials in order; all, or those with anything wrong, or those of one task."""
        ...

    def each(self, run_id: str) -> Iterator[TaskRun]:
        """A run's trials in the same order, one at a time: for runs too large to hold."""
        ...

    def log(self, task_run: TaskRun) -> list[bytes]:
        """A trial's log."""
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
