"""Read runs, trials and logs from a store."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self, TypeVar

import orjson
from pydantic import ValidationError

from clerkship.kit.depth import MAX_DEPTH, cut_at_depth
from clerkship.model.calibration import Calibration
from clerkship.model.run import BenchmarkRun, Counts, TaskRun, TrialOutcome
from clerkship.model.store_place import StorePlace
from clerkship.store.connection import storage_errors
from clerkship.store.contract import StoreDamaged, StoreFailed, UnknownRun
from clerkship.store.database import Database
from clerkship.store.seal import as_bytes
from clerkship.store.seal_table import SEGMENTS

T = TypeVar("T")
PAGE_SIZE = 200
"""Trials that are read at once, where there may be many."""
MAX_RECORD_DEPTH = MAX_DEPTH + 5
"""Levels of a trial's record: what evidence copies from an agent is five levels down."""
_REST = "`clerkship list` and `clerkship show RUN` show everything else"
_LATEST = re.compile(r"latest(?:~(\d{1,9}))?")
RUN_QUERY = (
    "SELECT runs.record, run_marks.status, run_marks.at, runs.id FROM runs LEFT JOIN run_marks"
    " ON run_marks.run_id = runs.id"
    " AND run_marks.id = (SELECT max(last.id) FROM run_marks AS last WHERE last.run_id = runs.id)"
)
_TASK_RUN = "SELECT record, task, trial, attempt, run_id FROM task_runs"
_LAST = (
    "NOT EXISTS (SELECT 1 FROM task_runs AS later WHERE later.run_id = task_runs.run_id AND later.task = task_runs.task"
    " AND later.trial = task_runs.trial AND later.attempt = task_runs.attempt + 1 AND later.attempt > 1)"
)
_COUNT = (
    "SELECT verdict, status, agent_error, count(*) FROM task_runs"
    " WHERE run_id = ? GROUP BY verdict, status, agent_error"
)
_COUNT_AGAIN = (
    "SELECT task_runs.verdict, task_runs.status, task_runs.agent_error, -1 FROM task_runs AS later JOIN task_runs"
    " ON task_runs.run_id = later.run_id AND task_runs.task = later.task AND task_runs.trial = later.trial"
    " AND task_runs.attempt = later.attempt - 1 WHERE later.run_id = ? AND later.attempt > 1"
)


class StoreReader:
    """The read access to a store, by a connection."""

    def __init__(self, place: StorePlace, database: Database) -> None:
        self.place, self._db = place, database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def calibrations(self, model: str) -> tuple[Calibration, ...]:
        """Return the calibrations of a model, oldest first."""
        rows = self._read("SELECT record FROM calibrations WHERE model = ? ORDER BY id", model)
        try:
            return tuple(Calibration.model_validate_json(row[0]) for row in rows)
        except ValidationError as error:
            raise StoreDamaged(
                f"a calibration of {model} in {self.place} is corrupt: {_describe_error(error)}"
            ) from None

    def runs(self, limit: int = 50, damaged: list[str] | None = None) -> list[tuple[BenchmarkRun, Counts]]:
        """Return the newest runs, newest first: by the order of saving, because clocks may go backwards."""
        rows = self._read(f"{RUN_QUERY} ORDER BY runs.rowid DESC LIMIT ?", limit)
        return [(run, self.counts(run.id)) for run in self._readable(_parse_run, rows, damaged)]

    def run(self, reference: str) -> BenchmarkRun:
        """Return a run by id, by the start of its id, by `latest`, or by `latest~1` for the one before."""
        newest = _LATEST.fullmatch(reference)
        if newest is not None:
            rows = self._read(f"{RUN_QUERY} ORDER BY runs.rowid DESC LIMIT 1 OFFSET ?", int(newest[1] or 0))
        else:
            starting = f"{RUN_QUERY} WHERE runs.id >= ? AND runs.id < ? LIMIT 3"
            rows = self._read(starting, reference, reference + "\U0010ffff")
        exact = [row for row in rows if row[3] == reference] or rows
        if len(exact) == 1:
            return next(self._readable(_parse_run, exact, None))
        problem = "several runs start with" if exact else "there is no run"
        raise UnknownRun(f"{problem} {reference!r}; `clerkship list` shows them")

    def counts(self, run_id: str) -> Counts:
        """Count trials by outcome from the indexes only: all attempts, minus those that were repeated."""
        verdicts: Counter[str] = Counter()
        statuses: Counter[str] = Counter()
        errors = 0
        for verdict, status, agent_error, count in self._read(_COUNT, run_id) + self._read(_COUNT_AGAIN, run_id):
            statuses[status] += count
            if verdict is not None:
                verdicts[verdict] += count
            errors += count if agent_error else 0
        return Counts(verdicts=dict(+verdicts), statuses=dict(+statuses), agent_errors=errors)

    def outcomes(self, run_id: str) -> list[TrialOutcome]:
        """Return the outcome of each trial's last attempt."""
        query = f"SELECT task, trial, attempt, status, verdict FROM task_runs WHERE run_id = ? AND {_LAST}"
        return [TrialOutcome(*row) for row in self._read(f"{query} ORDER BY task, trial", run_id)]

    def task_runs(
        self,
        run_id: str,
        *,
        failed: bool = False,
        task: str | None = None,
        attempts: bool = False,
        damaged: list[str] | None = None,
    ) -> list[TaskRun]:
        """Return a run's trials in order: all, those that did not pass, or those of one task."""
        where, values = ["run_id = ?"], [run_id]
        if not attempts:
            where.append(_LAST)
        if failed:
            where.append("(verdict IS NULL OR verdict NOT IN ('pass', 'ungraded'))")
        if task is not None:
            where.append("task = ?")
            values.append(task)
        query = f"{_TASK_RUN} WHERE {' AND '.join(where)} ORDER BY task, trial, attempt"
        return list(self._readable(_parse_task_run, self._read(query, *values), damaged))

    def task_run(self, run_id: str, task: str, trial: int) -> TaskRun | None:
        """Return the last attempt of one trial; None if there is none."""
        query = f"{_TASK_RUN} WHERE run_id = ? AND task = ? AND trial = ? ORDER BY attempt DESC LIMIT 1"
        return next(self._readable(_parse_task_run, self._read(query, run_id, task, trial), None), None)

    def each(self, run_id: str, *, attempts: bool = False) -> Iterator[TaskRun]:
        """Yield a run's trials in the same order, a page at a time; nothing is held open between pages."""
        query = (
            f"{_TASK_RUN} WHERE run_id = ? AND (task, trial, attempt) > (?, ?, ?)"
            f"{'' if attempts else f' AND {_LAST}'} ORDER BY task, trial, attempt LIMIT ?"
        )
        place: Sequence[Any] = ("", 0, 0)
        while rows := self._read(query, run_id, *place, PAGE_SIZE):
            yield from self._readable(_parse_task_run, rows, None)
            place = rows[-1][1:4]

    def log(self, task_run: TaskRun, after: int = 0) -> Iterator[bytes]:
        """Yield the lines of a trial's log after a position, a segment at a time: it may be larger than memory."""
        base = self._log_of(self._row_of(task_run)) * SEGMENTS
        part = "(SELECT max(id) FROM log_segments WHERE id > ? AND id <= ?)"
        [(begin, last)] = self._read(f"SELECT {part}, {part}", base, base + after + 1, base, base + SEGMENTS - 1)
        query = "SELECT id, data FROM log_segments WHERE id >= ? AND id <= ? ORDER BY id LIMIT 1"
        first = begin or base
        while last is not None and first <= last and (rows := self._read(query, first, last)):
            [(segment, data)] = rows
            lines = as_bytes(data).split(b"\n") if data else []
            yield from lines[max(after + 1 - (segment - base), 0) :]
            first = segment + 1

    def sidecar(self, task_run: TaskRun) -> bytes:
        """Return the sidecar of a trial."""
        return self._sidecar(self._row_of(task_run))

    def blob(self, digest: str) -> bytes:
        """Return a blob by its hash."""
        rows = self._read("SELECT data FROM blobs WHERE sha256 = ?", digest)
        if not rows:
            raise StoreFailed(f"the store has no blob {digest}")
        return as_bytes(rows[0][0])

    def _sidecar(self, row: int) -> bytes:
        return as_bytes(self._read("SELECT sidecar FROM task_runs WHERE id = ?", row)[0][0])

    def _row_of(self, run: TaskRun) -> int:
        rows = self._read(
            "SELECT id FROM task_runs WHERE run_id = ? AND task = ? AND trial = ? AND attempt = ?",
            *(run.run, run.task, run.trial, run.attempt),
        )
        if not rows:
            raise UnknownRun(f"{run.task} (trial {run.trial}) is not in {run.run}")
        return int(rows[0][0])

    def _log_of(self, row: int) -> int:
        """Return the row that holds the log: its own, unless the trial was graded again."""
        rows = self._read("SELECT graded FROM regraded WHERE task_run = ?", row)
        return int(rows[0][0]) if rows else row

    def _readable(self, parse: Callable[[Any], T], rows: Iterable[Any], damaged: list[str] | None) -> Iterator[T]:
        """Parse rows; add those that are corrupt to `damaged`, or raise if it is None."""
        for row in rows:
            try:
                yield parse(row)
            except StoreDamaged as error:
                sentence = f"the store {self.place} is damaged: {error}"
                if damaged is None:
                    raise StoreDamaged(f"{sentence}; {_REST}") from None
                damaged.append(sentence)

    def _read(self, query: str, *values: Any) -> list[Any]:
        with storage_errors(self.place):
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Read one consistent state of the store, while other processes may write."""
        with storage_errors(self.place):
            self._db.execute(self._db.begin_read)
            try:
                yield
            finally:
                self._db.execute("ROLLBACK")


def _parse_task_run(row: Any) -> TaskRun:
    """Parse the record of a trial; raise StoreDamaged if it is corrupt."""
    record, task, trial, _, run_id = row
    with suppress(ValidationError):
        return TaskRun.model_validate_json(record)
    try:  # earlier versions wrote up to 254 levels, of which pydantic reads 200
        return TaskRun.model_validate(cut_at_depth(orjson.loads(record), MAX_RECORD_DEPTH))
    except ValueError as error:
        raise StoreDamaged(
            f"the record of {task} (trial {trial}) in {run_id} is corrupt: {_describe_error(error)}"
        ) from None


def _parse_run(row: Any) -> BenchmarkRun:
    """Parse the record of a run; raise StoreDamaged if it is corrupt."""
    try:
        run = BenchmarkRun.model_validate_json(row[0])
    except ValidationError as error:
        raise StoreDamaged(f"the record of the run {row[3]} is corrupt: {_describe_error(error)}") from None
    if row[1] is None:
        return run
    return run.model_copy(update={"status": row[1], "completed_at": row[2] if row[1] != "active" else None})


def _describe_error(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return ": ".join(part for part in (".".join(map(str, first["loc"])), first["msg"]) if part)
    return str(error)
