"""The store in PostgreSQL, through psycopg: for many machines at once.

See docs/decisions/0049-postgresql.md.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Self, TypeVar

from clerkship.model.run import Attempt, BenchmarkRun, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.model.store_place import PostgresAddress
from clerkship.store.contract import TrialRecord
from clerkship.store.postgres_connection import (
    ConnectionLost,
    PostgresDatabase,
    RunLocks,
    lock_number,
    open_postgres,
    read_begun,
)
from clerkship.store.seal import ChainEnd, Ledger, TrialSeal
from clerkship.store.sql import SqlStore

T = TypeVar("T")
_REPEATS = 5
_IS_LOCKED = (
    "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted"
    " AND ((classid::bigint << 32) | objid::bigint) = ?"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
)


class RunLease:
    """The lock on a run, held on a connection: it ends with the process, or with its machine."""

    def __init__(self, locks: RunLocks, run_id: str) -> None:
        self._locks, self._run = locks, run_id
        self.begun = tuple(locks.lock(run_id))

    def begin(self, attempt: Attempt) -> None:
        """Save that an attempt begins."""
        self._locks.begin(self._run, attempt)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._locks.release(self._run, keeps_attempts=kind is not None)


class PostgresStore(SqlStore):
    """A store in PostgreSQL. Many processes write to it at once, each to its own runs.

    A server that is restarted is waited for, and what it had not committed is done again.
    """

    _db: PostgresDatabase

    def __init__(self, place: PostgresAddress, *, create: bool = True, seal_key: str = "") -> None:
        self._locks = RunLocks(place)
        super().__init__(place, open_postgres(place, create=create), seal_key)

    def close(self) -> None:
        """Close the connections, which frees the locks."""
        self._locks.close()
        super().close()

    def held(self, run_id: str) -> bool:
        """Return whether a process has locked a run."""
        return bool(self._read(_IS_LOCKED, lock_number("run", self._db.schema, run_id))[0][0])

    def begun(self, run_id: str) -> Sequence[Attempt]:
        """Return the attempts of an unfinished run that were begun."""
        return read_begun(self._db, run_id=run_id)

    def data_version(self) -> int:
        """Return a number that differs if a transaction was committed since, of whichever connection."""
        snapshot = str(self._read("SELECT pg_current_snapshot()::text")[0][0])
        return int.from_bytes(hashlib.sha256(snapshot.encode()).digest()[:7], "big")

    def is_replaced(self) -> bool:
        """Return False: a database that is dropped ends its connections."""
        return False

    def open_run(self, run: BenchmarkRun, frozen: Mapping[str, bytes]) -> None:
        """Save a new run, and its plan, tasks and datasets by hash."""
        self._repeat(partial(super().open_run, run, frozen), partial(self._find_run, run.id))

    def save(self, finished: Sequence[TrialRecord], after: ChainEnd) -> list[TrialSeal]:
        """Save and seal finished trials of a run in one transaction; return their seals."""
        saved = partial(self._find_saved, [record.task_run for record in finished], after)
        return self._repeat(partial(super().save, finished, after), saved)

    def save_regraded(self, task_run: TaskRun, graded: TaskRun, after: ChainEnd) -> TrialSeal:
        """Save only the record, and a reference to the original."""

        def find() -> tuple[TrialSeal] | None:
            saved = self._find_saved([task_run], after)
            return (saved[0][0],) if saved else None

        return self._repeat(partial(super().save_regraded, task_run, graded, after), find)

    def mark(self, run_id: str, status: str, at: str, ledger: Ledger | None = None) -> None:
        """Save and seal that a run ended or was resumed."""
        self._repeat(partial(super().mark, run_id, status, at, ledger), partial(self._find_mark, run_id, status, at))

    def save_label(self, run_id: str, label: str) -> None:
        """Save the label of a run in place of the one it had; an empty one removes it."""
        self._repeat(partial(super().save_label, run_id, label))

    def ledger(self, run_id: str) -> Ledger:
        """Load the seals of a run."""
        return self._repeat(partial(super().ledger, run_id))

    def check_seals(self, run_id: str, *, task: str | None = None, ledger: Ledger | None = None) -> SealCheck:
        """Check a run, or one task of it, against its seals."""
        return self._repeat(partial(super().check_seals, run_id, task=task, ledger=ledger))

    def check_head(self, run_id: str) -> SealCheck:
        """Check a run's record, status and counts; no trial is read."""
        return self._repeat(partial(super().check_head, run_id))

    def check_plan(self, run_id: str) -> SealCheck:
        """Check a run's record and its plan."""
        return self._repeat(partial(super().check_plan, run_id))

    def _lock_run(self, run_id: str) -> RunLease:
        return RunLease(self._locks, run_id)

    def _repeat(self, work: Callable[[], T], find: Callable[[], tuple[T] | None] = lambda: None) -> T:
        """Do something again if the connection was lost in its transaction, unless it had been carried out."""
        for _ in range(_REPEATS):
            try:
                return work()
            except ConnectionLost:
                self._db.reconnect()
                done = find()
                if done is not None:
                    return done[0]
        return work()

    def _find_run(self, run_id: str) -> tuple[None] | None:
        return (None,) if self._read("SELECT 1 FROM runs WHERE id = ?", run_id) else None

    def _find_mark(self, run_id: str, status: str, at: str) -> tuple[None] | None:
        last = self._seals.last_mark(run_id)
        return (None,) if last is not None and tuple(last[1:]) == (status, at) else None

    def _find_saved(self, task_runs: Sequence[TaskRun], after: ChainEnd) -> tuple[list[TrialSeal]] | None:
        """Return the seals of trials, if they were saved after this end of the chain."""
        found = [self._seals.trial_seal(each.run, Attempt(*each.outcome()[:3])) for each in task_runs]
        seals = [seal for seal in found if seal is not None]
        is_next = bool(seals) and (seals[0].number, seals[0].before) == (after.number + 1, after.seal)
        return (seals,) if is_next and len(seals) == len(found) else None
