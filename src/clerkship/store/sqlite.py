"""The store in one SQLite file, through the standard library. Rows are added, never changed."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import orjson
from pydantic import BaseModel

from clerkship.model.run import BenchmarkRun, Counts, TaskRun
from clerkship.store.contract import Kept, StoreFailed, UnknownRun

VERSION = 1
SEGMENTS = 1 << 20
PAGE = 200
_SCHEMA = """
CREATE TABLE runs (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, solver TEXT NOT NULL, started_at TEXT NOT NULL, record BLOB NOT NULL
);
CREATE INDEX runs_by_start ON runs (started_at);
CREATE TABLE run_ends (run_id TEXT PRIMARY KEY, status TEXT NOT NULL, completed_at TEXT NOT NULL);
CREATE TABLE task_runs (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, task TEXT NOT NULL, trial INTEGER NOT NULL, attempt INTEGER NOT NULL,
  status TEXT NOT NULL, verdict TEXT, agent_error INTEGER NOT NULL, record BLOB NOT NULL, sidecar BLOB NOT NULL
);
CREATE UNIQUE INDEX task_runs_by_trial ON task_runs (run_id, task, trial, attempt);
CREATE INDEX task_runs_by_outcome ON task_runs (run_id, verdict, status, agent_error);
CREATE TABLE log_segments (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE blobs (sha256 TEXT PRIMARY KEY, data BLOB NOT NULL);
"""


class SqliteStore:
    """One file, one writer at a time, readable while it is written (WAL)."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.path = path
        if str(path).startswith((":", "file:")):
            raise StoreFailed(f"the store is a file; {str(path)!r} is none")
        with _told(path):
            if create:
                path.parent.mkdir(parents=True, exist_ok=True)
            elif not path.exists():
                raise StoreFailed(f"there is no store at {path}; `clerkship run` makes one")
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Self:
        """Open as it is."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of it."""
        self.close()

    def _prepare(self) -> None:
        version = self._version()
        if version == 0:
            with self._writing():
                if self._version() == 0:
                    for statement in _SCHEMA.split(";\n"):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version={VERSION}")
        elif version != VERSION:
            raise StoreFailed(f"{self.path} is of version {version}, this is made for {VERSION}; name another store")

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def open_run(self, run: BenchmarkRun, snapshots: Mapping[str, bytes], datasets: Mapping[str, bytes]) -> None:
        """A run begins: its frozen tasks and datasets first, by hash."""
        with _told(self.path), self._writing():
            self._keep_blobs(snapshots)
            self._keep_blobs(datasets)
            row = (run.id, run.name, run.solver, run.started_at, run.model_dump_json().encode())
            self._db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", row)

    def save(self, finished: Sequence[Kept]) -> None:
        """One transaction for all of them."""
        with _told(self.path), self._writing():
            for kept in finished:
                self._save_one(kept)

    def _save_one(self, kept: Kept) -> None:
        run = kept.task_run
        record = orjson.dumps(run.__dict__, default=_plain)
        outcome = (run.status, run.verdict, bool(run.agent_error))
        cursor = self._db.execute(
            "INSERT INTO task_runs (run_id, task, trial, attempt, status, verdict, agent_error, record, sidecar)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (run.run, run.task, run.trial, run.attempt, *outcome, record, kept.sidecar),
        )
        self._db.execute("INSERT INTO log_segments VALUES (?, ?)", (_first_segment(cursor.lastrowid), kept.log))
        if kept.blobs:
            self._keep_blobs(kept.blobs)

    def _keep_blobs(self, blobs: Mapping[str, bytes]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", blobs.items())

    def end_run(self, run_id: str, status: str, completed_at: str) -> None:
        """A run ends."""
        with _told(self.path), self._writing():
            self._db.execute("INSERT INTO run_ends VALUES (?, ?, ?)", (run_id, status, completed_at))

    def runs(self, limit: int = 50) -> list[tuple[BenchmarkRun, Counts]]:
        """The newest runs, newest first."""
        rows = self._read(f"{_RUN} ORDER BY runs.started_at DESC, runs.rowid DESC LIMIT ?", (limit,))
        return [(run, self.counts(run.id)) for run in map(_run, rows)]

    def run(self, reference: str) -> BenchmarkRun:
        """A run by id, by the start of its id, or `latest`."""
        if reference == "latest":
            rows = self._read(f"{_RUN} ORDER BY runs.started_at DESC, runs.rowid DESC LIMIT 1", ())
        else:
            rows = self._read(
                f"{_RUN} WHERE runs.id >= ? AND runs.id < ? LIMIT 3", (reference, reference + "\U0010ffff")
            )
        exact = [row for row in rows if orjson.loads(row[0])["id"] == reference] or rows
        if len(exact) == 1:
            return _run(exact[0])
        found = "several runs start with" if exact else "there is no run"
        raise UnknownRun(f"{found} {reference!r}; `clerkship list` shows them")

    def counts(self, run_id: str) -> Counts:
        """How a run's trials came out, from the index alone."""
        verdicts: dict[str, int] = {}
        statuses: dict[str, int] = {}
        errors = 0
        rows = self._read(
            "SELECT verdict, status, agent_error, count(*) FROM task_runs WHERE run_id = ?"
            " GROUP BY verdict, status, agent_error",
            (run_id,),
        )
        for verdict, status, agent_error, count in rows:
            statuses[status] = statuses.get(status, 0) + count
            if verdict is not None:
                verdicts[verdict] = verdicts.get(verdict, 0) + count
            errors += count if agent_error else 0
        return Counts(verdicts=verdicts, statuses=statuses, agent_errors=errors)

    def task_runs(self, run_id: str, *, failed: bool = False, task: str | None = None) -> list[TaskRun]:
        """A run's trials in order; all, or those with anything wrong, or those of one task."""
        where, values = ["run_id = ?"], [run_id]
        if failed:
            where.append("(verdict IS NULL OR verdict NOT IN ('pass', 'ungraded') OR agent_error)")
        if task is not None:
            where.append("task = ?")
            values.append(task)
        query = f"SELECT record FROM task_runs WHERE {' AND '.join(where)} ORDER BY task, trial, attempt"
        return [TaskRun.model_validate_json(row[0]) for row in self._read(query, values)]

    def each(self, run_id: str) -> Iterator[TaskRun]:
        """A run's trials in the same order, a page at a time; between pages nothing is held open."""
        query = (
            "SELECT record FROM task_runs WHERE run_id = ? AND (task, trial, attempt) > (?, ?, ?)"
            " ORDER BY task, trial, attempt LIMIT ?"
        )
        place: tuple[str, int, int] = ("", 0, 0)
        while rows := self._read(query, (run_id, *place, PAGE)):
            for row in rows:
                task_run = TaskRun.model_validate_json(row[0])
                yield task_run
            place = (task_run.task, task_run.trial, task_run.attempt)

    def log(self, task_run: TaskRun) -> list[bytes]:
        """A trial's log, its segments joined."""
        first = _first_segment(self._row_of(task_run))
        rows = self._read(
            "SELECT data FROM log_segments WHERE id >= ? AND id < ? ORDER BY id", (first, first + SEGMENTS)
        )
        return [line for row in rows for line in row[0].split(b"\n") if line]

    def sidecar(self, task_run: TaskRun) -> bytes:
        """What differed between machines."""
        data: bytes = self._read("SELECT sidecar FROM task_runs WHERE id = ?", (self._row_of(task_run),))[0][0]
        return data

    def blob(self, digest: str) -> bytes:
        """A blob by its hash."""
        rows = self._read("SELECT data FROM blobs WHERE sha256 = ?", (digest,))
        if not rows:
            raise StoreFailed(f"the store has no blob {digest}")
        data: bytes = rows[0][0]
        return data

    def _row_of(self, run: TaskRun) -> int:
        rows = self._read(
            "SELECT id FROM task_runs WHERE run_id = ? AND task = ? AND trial = ? AND attempt = ?",
            (run.run, run.task, run.trial, run.attempt),
        )
        if not rows:
            raise UnknownRun(f"{run.task} (trial {run.trial}) is not in {run.run}")
        return int(rows[0][0])

    def _read(self, query: str, values: Sequence[Any]) -> list[Any]:
        with _told(self.path):
            return self._db.execute(query, values).fetchall()

    def close(self) -> None:
        """Let go of it."""
        self._db.close()


_RUN = (
    "SELECT runs.record, run_ends.status, run_ends.completed_at FROM runs"
    " LEFT JOIN run_ends ON run_ends.run_id = runs.id"
)


def _first_segment(task_run: int | None) -> int:
    """Segments of one log lie side by side, found by the table's own key: no second index to keep."""
    return (task_run or 0) * SEGMENTS


def _run(row: Any) -> BenchmarkRun:
    run = BenchmarkRun.model_validate_json(row[0])
    return run.model_copy(update={"status": row[1], "completed_at": row[2]}) if row[1] is not None else run


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.__dict__
    raise TypeError(type(value).__name__)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """SQLite's and the system's errors, in words that say what to do."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        advice = next((words for mark, words in _ADVICE.items() if mark in str(error).lower()), "")
        raise StoreFailed(f"the store {path} failed: {error}{advice}") from error


_ADVICE = {
    "readonly": "; choose a writable place with --store",
    "read-only": "; choose a writable place with --store",
    "permission": "; choose a writable place with --store",
    "unable to open": "; choose a writable place with --store",
    "full": "; free some space, what was finished before is kept",
    "not a database": "; name another file with --store",
    "locked": "; another process is writing to it",
}
