"""A store in a database: saving, sealing and checking. Rows are added, and only deleted with their run.

See docs/decisions/0002-store-and-seals.md and 0049-postgresql.md.
"""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import orjson

from clerkship.by_name import load
from clerkship.model.calibration import Calibration
from clerkship.model.frozen import encode_model
from clerkship.model.run import Attempt, BenchmarkRun, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.model.store_place import StorePlace
from clerkship.store.connection import build_storage_error
from clerkship.store.contract import RunLock, StoreFailed, TrialRecord, UnknownRun
from clerkship.store.database import Database, WriteTransaction
from clerkship.store.reader import StoreReader
from clerkship.store.seal import ChainEnd, Ledger, SealKey, TrialSeal, build_seal, digest
from clerkship.store.seal_table import SEGMENTS, SealTable
from clerkship.store.verification import SealVerification

SEGMENT = 1 << 20
"""Bytes of a log that are read, and held, at once."""
NEW_RUN = "INSERT INTO runs (id, name, solver, started_at, record) VALUES (?, ?, ?, ?, ?)"
NEW_BLOB = "INSERT INTO blobs (sha256, data) VALUES (?, ?) ON CONFLICT DO NOTHING"
NEW_SEGMENT = "INSERT INTO log_segments (id, data) VALUES (?, ?)"
NEW_REGRADED = "INSERT INTO regraded (task_run, graded) VALUES (?, ?)"
NEW_MARK = "INSERT INTO run_marks (id, run_id, status, at) VALUES (?, ?, ?, ?)"
NEW_TRIAL = (
    "INSERT INTO task_runs (id, run_id, task, trial, attempt, status, verdict, agent_error, record, sidecar)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class _Unfinished(Exception):
    """A run was left before its end."""


class SqlStore(StoreReader, ABC):
    """A store in a database. What differs between databases is in its connection, and in how runs are locked."""

    def __init__(self, place: StorePlace, database: Database, seal_key: str) -> None:
        super().__init__(place, database)
        self._seals = SealTable(self._db, SealKey(seal_key))

    @abstractmethod
    def _lock_run(self, run_id: str) -> RunLock:
        """Lock a run; raise RunBusy if another process has it."""

    @abstractmethod
    def held(self, run_id: str) -> bool:
        """Return whether a process has locked a run."""

    @abstractmethod
    def begun(self, run_id: str) -> Sequence[Attempt]:
        """Return the attempts of an unfinished run that were begun."""

    @abstractmethod
    def data_version(self) -> int:
        """Return a number that differs if another connection has written to the store since."""

    @abstractmethod
    def is_replaced(self) -> bool:
        """Return whether the store was replaced since it was opened."""

    def open_run(self, run: BenchmarkRun, frozen: Mapping[str, bytes]) -> None:
        """Save a new run, and its plan, tasks and datasets by hash."""
        with self._writing():
            self._save_blobs(frozen)
            record = run.model_dump_json().encode()
            row = (run.id, run.name, run.solver, run.started_at, record)
            self._db.execute(NEW_RUN, row)
            self._seals.add_run(run.id, record)

    def hold(self, run_id: str) -> RunLock:
        """Lock a run; raise StoreFailed if the store has triggers or views."""
        for kind, name in self._seals.added_code():
            raise StoreFailed(f"the store {self.place} has a {kind} `{name}`, which can change results; drop it")
        return self._lock_run(run_id)

    def save(self, finished: Sequence[TrialRecord], after: ChainEnd) -> list[TrialSeal]:
        """Save and seal finished trials of a run in one transaction; return their seals."""
        with self._writing():
            numbered = list(zip(self._db.new_rows(len(finished)), finished, strict=True))
            rows = [_build_row(number, record.task_run, record.sidecar) for number, record in numbered]
            self._db.executemany(NEW_TRIAL, rows)
            logs = [
                (number * SEGMENTS + line, data)
                for number, record in numbered
                for line, data in _split_segments(record.log)
            ]
            self._db.executemany(NEW_SEGMENT, logs)
            for record in finished:
                if record.blobs:
                    self._save_blobs(record.blobs)
            seals = [
                _build_seal(row, record.task_run, digest(record.log), " ".join(sorted(record.blobs)))
                for row, record in zip(rows, finished, strict=True)
            ]
            return self._seals.add_trials(seals, after)

    def save_regraded(self, task_run: TaskRun, graded: TaskRun, after: ChainEnd) -> TrialSeal:
        """Save only the record, and a reference to the original; the seal has the log and the blobs of the original."""
        of = self._row_of(graded)
        with self._writing():
            [new], logged = self._db.new_rows(1), self._log_of(of)
            row = _build_row(new, task_run, self._sidecar(of))
            self._db.execute(NEW_TRIAL, row)
            self._db.execute(NEW_REGRADED, (new, logged))
            first = self._seals.trial_seal(graded.run, Attempt(*graded.outcome()[:3]))
            log, blobs = (first.log, first.blobs) if first is not None else (self._seals.log_digest(logged), "")
            return self._seals.add_trials([_build_seal(row, task_run, log, blobs)], after)[0]

    def mark(self, run_id: str, status: str, at: str, ledger: Ledger | None = None) -> None:
        """Save and seal that a run ended or was resumed."""
        with self._writing(self._db.begin_alone):
            number = int(self._db.execute("SELECT coalesce(max(id), 0) + 1 FROM run_marks").fetchone()[0])
            self._db.execute(NEW_MARK, (number, run_id, status, at))
            self._seals.add_end(
                number, run_id, status, at, ledger if ledger is not None else self._seals.ledger(run_id)
            )

    def save_calibration(self, calibration: Calibration) -> None:
        """Save a calibration of a judge."""
        row = (calibration.judge.model, calibration.model_dump_json().encode())
        with self._writing():
            self._db.execute("INSERT INTO calibrations (model, record) VALUES (?, ?)", row)

    def labels(self) -> dict[str, str]:
        """Return the labels of all runs that have one, by id."""
        return dict(self._read("SELECT run_id, label FROM run_labels"))

    def save_label(self, run_id: str, label: str) -> None:
        """Save the label of a run in place of the one it had; an empty one removes it."""
        with self._writing():
            self._db.execute("DELETE FROM run_labels WHERE run_id = ?", (run_id,))
            if label:
                self._db.execute("INSERT INTO run_labels SELECT id, ? FROM runs WHERE id = ?", (label, run_id))

    def delete(self, *run_ids: str) -> None:
        """Delete runs in one transaction; raise RunBusy if a process works on one, and UnknownRun if there is none."""
        for run_id in run_ids:
            if not self._read("SELECT 1 FROM runs WHERE id = ?", run_id):
                raise UnknownRun(f"there is no run {run_id!r}; `clerkship list` shows them")
        with ExitStack() as held:
            for run_id in run_ids:
                held.enter_context(self.hold(run_id))
            with self._writing(self._db.begin_alone):
                load("clerkship.store.deletion:delete_runs")(self._db, run_ids)

    def copy_run(self, run_id: str, target: "SqlStore") -> None:
        """Copy a run to another store, with its seals, in one transaction."""
        copy, begun = load("clerkship.store.copying:copy_run_rows"), self.begun(run_id)
        with suppress(_Unfinished), target.hold(run_id) as hold:
            with self._reading(), target._writing():
                copy(self._db, target._db, run_id)
            for attempt in begun:
                hold.begin(attempt)
            if begun:
                raise _Unfinished  # so that the attempts stay on record

    def copy_calibrations(self, target: "SqlStore") -> int:
        """Copy the calibrations that another store does not have; return how many."""
        with self._reading(), target._writing():
            return int(load("clerkship.store.copying:copy_calibrations")(self._db, target._db))

    def ledger(self, run_id: str) -> Ledger:
        """Load the seals of a run."""
        with self._reading():
            return self._seals.ledger(run_id)

    def check_seals(self, run_id: str, *, task: str | None = None, ledger: Ledger | None = None) -> SealCheck:
        """Check a run, or one task of it, against its seals."""
        if ledger is not None:
            ledger.checked_at = self.data_version()
        with self._reading():
            check = SealVerification(self._seals, run_id, ledger)
            check.check_plan()
            check.check_trials(task)
            check.check_end(self.counts(run_id), with_trials=task is None and ledger is None)
            return check.result()

    def check_head(self, run_id: str) -> SealCheck:
        """Check a run's record, status and counts; no trial is read."""
        with self._reading():
            check = SealVerification(self._seals, run_id)
            check.check_end(self.counts(run_id), with_trials=False)
            return check.result()

    def check_plan(self, run_id: str) -> SealCheck:
        """Check a run's record and its plan."""
        with self._reading():
            check = SealVerification(self._seals, run_id)
            check.check_plan()
            return check.result()

    @contextmanager
    def _writing(self, begin: str = "") -> Iterator[None]:
        try:
            with WriteTransaction(self._db, begin):
                yield
        except (sqlite3.Error, OSError) as error:
            raise build_storage_error(self.place, error) from error

    def _save_blobs(self, blobs: Mapping[str, bytes]) -> None:
        self._db.executemany(NEW_BLOB, sorted(blobs.items()))  # in one order: two that wait for each other would fail


def _build_row(number: int, run: TaskRun, sidecar: bytes) -> tuple[Any, ...]:
    record = orjson.dumps(run.__dict__, default=encode_model)
    outcome = (run.status, run.verdict, int(bool(run.agent_error)))
    return (number, run.run, run.task, run.trial, run.attempt, *outcome, record, sidecar)


def _build_seal(row: tuple[Any, ...], run: TaskRun, log: bytes, blobs: str) -> TrialSeal:
    """Take the digests of a new row of `task_runs`, before it is sealed."""
    _, *columns, record, sidecar = row
    return build_seal(columns, (digest(record), digest(sidecar), log), run.snapshot, blobs)


def _split_segments(log: bytes) -> Iterator[tuple[int, bytes]]:
    """Split a log into segments of whole lines, each with the number of its first line."""
    if len(log) <= SEGMENT:
        yield 1, log
        return
    begin, first = 0, 1
    while begin < len(log):
        end = log.find(b"\n", begin + SEGMENT)
        data = log[begin : end if end >= 0 else len(log)]
        yield first, data
        begin += len(data) + 1
        first += data.count(b"\n") + 1
