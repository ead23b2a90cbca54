"""The store in one SQLite file, through the standard library. Rows are added, never changed."""

import glob
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import orjson
from pydantic import ValidationError

from clerkship.kit.depth import MAX_DEPTH, cut_at_depth
from clerkship.kit.wall import monotonic
from clerkship.model.calibration import Calibration
from clerkship.model.frozen import plain
from clerkship.model.run import Attempt, BenchmarkRun, Counts, Outcome, TaskRun
from clerkship.model.seals import SealCheck
from clerkship.store.contract import Kept, RunBusy, StoreDamaged, StoreFailed, UnknownRun
from clerkship.store.journal import Journal, is_held
from clerkship.store.seal import ChainEnd, Ledger, SealKey, TrialSeal, as_bytes, digest
from clerkship.store.seal_table import SEALS, SealTable

T = TypeVar("T")
VERSION = 4
CALIBRATED, SEALED = 3, 4
"""The first versions that have calibrations, and seals."""
READABLE = (2, 3, VERSION)
"""Versions that can be read without an upgrade, where nothing may be written."""
SEGMENTS = 1 << 32
"""Segments of one log lie side by side, found by the table's own key: trial, then the `seq` of the first line."""
SEGMENT = 1 << 20
"""Bytes of a log that are read, and held, at once."""
PAGE = 200
"""Trials that are, where there may be many."""
MAX_RECORD_DEPTH = MAX_DEPTH + 5
"""Levels of a trial's record: what evidence copies from an agent is five levels down."""
_REST = "`clerkship list` and `clerkship show RUN` show everything else"
BUSY_FOR = 30.0
"""Seconds that another process may take before we give up."""
_SCHEMA = """
CREATE TABLE runs (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, solver TEXT NOT NULL, started_at TEXT NOT NULL, record BLOB NOT NULL
);
CREATE TABLE task_runs (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, task TEXT NOT NULL, trial INTEGER NOT NULL, attempt INTEGER NOT NULL,
  status TEXT NOT NULL, verdict TEXT, agent_error INTEGER NOT NULL, record BLOB NOT NULL, sidecar BLOB NOT NULL
);
CREATE UNIQUE INDEX task_runs_by_trial ON task_runs (run_id, task, trial, attempt);
CREATE INDEX task_runs_by_outcome ON task_runs (run_id, verdict, status, agent_error);
CREATE TABLE log_segments (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE blobs (sha256 TEXT PRIMARY KEY, data BLOB NOT NULL);
"""
_SECOND_LOOKS = """
CREATE TABLE run_marks (id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, status TEXT NOT NULL, at TEXT NOT NULL);
CREATE INDEX run_marks_by_run ON run_marks (run_id, id);
CREATE INDEX task_runs_again ON task_runs (run_id, task, trial, attempt) WHERE attempt > 1;
CREATE TABLE regraded (task_run INTEGER PRIMARY KEY, graded INTEGER NOT NULL);
"""
_FROM_FIRST = """
INSERT INTO run_marks (run_id, status, at) SELECT run_id, status, completed_at FROM run_ends;
DROP TABLE run_ends;
DROP INDEX runs_by_start;
UPDATE log_segments SET id = (id >> 20 << 32) + 1;
"""
_CALIBRATIONS = """
CREATE TABLE calibrations (id INTEGER PRIMARY KEY, model TEXT NOT NULL, record BLOB NOT NULL);
CREATE INDEX calibrations_by_model ON calibrations (model, id);
"""
_UPGRADES = {
    0: _SCHEMA + _SECOND_LOOKS + _CALIBRATIONS + SEALS,
    1: _SECOND_LOOKS + _FROM_FIRST + _CALIBRATIONS + SEALS,
    2: _CALIBRATIONS + SEALS,
    3: SEALS,
}
"""The statements that bring a store of each version up to date: 0 is a new one, 1 is from before runs could be resumed,
2 from before judges were calibrated, 3 from before trials were sealed."""


class SqliteStore:
    """One file, one writer at a time, readable while it is written (WAL)."""

    def __init__(self, path: Path, *, create: bool = True, seal_key: str = "") -> None:
        self.path = path
        if str(path).startswith((":", "file:")):
            raise StoreFailed(f"the store is a file; {str(path)!r} is none")
        with _told(path):
            if create:
                _make_folder(path.parent)
            elif not path.exists():
                raise StoreFailed(f"there is no store at {path}; `clerkship run` makes one")
            self._db = _connect(path)
            try:
                self._set_up(create=create)
                sealed = self._version() >= SEALED
                self._seals = SealTable(self._db, SealKey(seal_key), self._log_segments, exists=sealed)
                self._files = _identities(path)
            except BaseException:
                self._db.close()
                raise

    def _set_up(self, *, create: bool) -> None:
        try:
            _write_ahead(self._db)
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._prepare()
        except sqlite3.OperationalError as error:
            if create or not _is_readonly(error):
                raise
            self._db.close()
            self._db = _connect_to_read(self.path)  # who only looks need not be able to write

    def __enter__(self) -> Self:
        """Open as it is."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of it."""
        self.close()

    def _prepare(self) -> None:
        if self._version() == VERSION:
            return
        with self._writing():  # another process may have been faster
            version = self._version()
            if version != VERSION and version not in _UPGRADES:
                raise StoreFailed(
                    f"{self.path} is of version {version}, this is made for {VERSION}; name another store"
                )
            for statement in _UPGRADES.get(version, "").split(";\n"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version={VERSION}")

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # a full disk has rolled it back already
                self._db.execute("ROLLBACK")
            raise

    def open_run(self, run: BenchmarkRun, frozen: Mapping[str, bytes]) -> None:
        """A run begins: its plan, tasks and datasets first, by hash."""
        with _told(self.path), self._writing():
            self._keep_blobs(frozen)
            record = run.model_dump_json().encode()
            row = (run.id, run.name, run.solver, run.started_at, record)
            self._db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", row)
            self._seals.add_run(run.id, record)

    def hold(self, run_id: str) -> Journal:
        """Hold a run, so that no other process works on it; raise StoreFailed if the store has triggers or views."""
        with _told(self.path):
            for kind, name in self._seals.added_code():
                raise StoreFailed(f"the store {self.path} has a {kind} `{name}`, which can change results; drop it")
            self._sweep()
            return Journal(self._journal(run_id), run_id)

    def _sweep(self) -> None:
        """Put away the journals of processes that were killed before their run began, or after it had ended."""
        for path in self.path.parent.glob(f"{glob.escape(self.path.name)}-*.journal"):
            run_id = path.name.removeprefix(f"{self.path.name}-").removesuffix(".journal")
            rows = self._read(f"{_RUN} WHERE runs.id = ?", (run_id,))
            if not rows or rows[0][1] not in (None, "active"):
                with suppress(RunBusy), Journal(path, run_id):
                    pass

    def held(self, run_id: str) -> bool:
        """Whether a process is at work on it."""
        with _told(self.path):
            return is_held(self._journal(run_id))

    def _journal(self, run_id: str) -> Path:
        return self.path.with_name(f"{self.path.name}-{run_id}.journal")

    def save(self, finished: Sequence[Kept], after: ChainEnd) -> list[TrialSeal]:
        """Save and seal finished trials of a run in one transaction; return their seals."""
        with _told(self.path), self._writing():
            numbered = list(enumerate(finished, self._new_row()))
            rows = [_row(number, kept.task_run, kept.sidecar) for number, kept in numbered]
            self._db.executemany(_NEW_TRIAL, rows)
            logs = [(number * SEGMENTS + line, data) for number, kept in numbered for line, data in _segments(kept.log)]
            self._db.executemany("INSERT INTO log_segments VALUES (?, ?)", logs)
            for kept in finished:
                if kept.blobs:
                    self._keep_blobs(kept.blobs)
            seals = (
                _seal_of(row, kept.task_run, digest(kept.log), " ".join(sorted(kept.blobs)))
                for row, kept in zip(rows, finished, strict=True)
            )
            return self._seals.add_trials(seals, after)

    def _new_row(self) -> int:
        return int(self._db.execute("SELECT ifnull(max(id), 0) + 1 FROM task_runs").fetchone()[0])

    def save_regraded(self, task_run: TaskRun, graded: TaskRun, after: ChainEnd) -> TrialSeal:
        """Save the record alone, and where the rest is; the seal has the log and the blobs of the first."""
        of = self._row_of(graded)
        with _told(self.path), self._writing():
            new, sidecar = self._new_row(), self._read("SELECT sidecar FROM task_runs WHERE id = ?", (of,))[0][0]
            row, logged = _row(new, task_run, sidecar), self._log_of(of)
            self._db.execute(_NEW_TRIAL, row)
            self._db.execute("INSERT INTO regraded VALUES (?, ?)", (new, logged))
            first = self._seals.trial_seal(graded.run, Attempt(*graded.outcome()[:3]))
            log, blobs = (first.log, first.blobs) if first is not None else (self._seals.log_digest(logged), "")
            return self._seals.add_trials([_seal_of(row, task_run, log, blobs)], after)[0]

    def _keep_blobs(self, blobs: Mapping[str, bytes]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", blobs.items())

    def mark(self, run_id: str, status: str, at: str, ledger: Ledger | None = None) -> None:
        """Save and seal that a run ends or is resumed."""
        with _told(self.path), self._writing():
            new = self._db.execute("INSERT INTO run_marks (run_id, status, at) VALUES (?, ?, ?)", (run_id, status, at))
            if new.lastrowid is not None:
                seals = ledger if ledger is not None else self._seals.ledger(run_id)
                self._seals.add_end(new.lastrowid, run_id, status, at, seals)

    def ledger(self, run_id: str) -> Ledger:
        """Load the seals of a run."""
        with self._reading():
            return self._seals.ledger(run_id)

    def check_seals(self, run_id: str, *, task: str | None = None, ledger: Ledger | None = None) -> SealCheck:
        """Check a run, or one task of it, against its seals."""
        if ledger is not None:
            ledger.checked_at = self.data_version()
        with self._reading():
            return self._seals.check(run_id, self.counts(run_id), task=task, ledger=ledger)

    def data_version(self) -> int:
        """Return a number that differs if another connection has written to the store since."""
        return int(self._read("PRAGMA data_version", ())[0][0])

    def is_replaced(self) -> bool:
        """Whether the files that were opened are no longer those at the store's path."""
        now = _identities(self.path)
        return any(now.get(name) != identity for name, identity in self._files.items())

    def check_head(self, run_id: str) -> SealCheck:
        """Check a run's record, status and counts; no trial is read."""
        with self._reading():
            return self._seals.check_head(run_id, self.counts(run_id))

    def check_plan(self, run_id: str) -> SealCheck:
        """Check a run's record and its plan."""
        with self._reading():
            return self._seals.check_plan(run_id)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Read one state of the store, whatever other processes write meanwhile."""
        with _told(self.path):
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                self._db.execute("ROLLBACK")

    def save_calibration(self, calibration: Calibration) -> None:
        """A judge was held against people."""
        row = (calibration.judge.model, calibration.model_dump_json().encode())
        with _told(self.path), self._writing():
            self._db.execute("INSERT INTO calibrations (model, record) VALUES (?, ?)", row)

    def calibrations(self, model: str) -> tuple[Calibration, ...]:
        """Those of one model, oldest first."""
        if self._version() < CALIBRATED:
            return ()
        rows = self._read("SELECT record FROM calibrations WHERE model = ? ORDER BY id", (model,))
        try:
            return tuple(Calibration.model_validate_json(row[0]) for row in rows)
        except ValidationError as error:
            raise StoreDamaged(f"a calibration of {model} in {self.path} is corrupt: {_reason(error)}") from None

    def runs(self, limit: int = 50, damaged: list[str] | None = None) -> list[tuple[BenchmarkRun, Counts]]:
        """The newest runs, newest first: in the order they were saved, for clocks go backwards."""
        rows = self._read(f"{_RUN} ORDER BY runs.rowid DESC LIMIT ?", (limit,))
        runs = self._readable(_run, rows, damaged)
        return [(run, self.counts(run.id)) for run in runs]

    def _readable(self, parse: Callable[[Any], T], rows: Iterable[Any], damaged: list[str] | None) -> Iterator[T]:
        """Parse rows; add those that are corrupt to `damaged`, or raise if it is None."""
        for row in rows:
            try:
                yield parse(row)
            except StoreDamaged as error:
                sentence = f"the store {self.path} is damaged: {error}"
                if damaged is None:
                    raise StoreDamaged(f"{sentence}; {_REST}") from None
                damaged.append(sentence)

    def run(self, reference: str) -> BenchmarkRun:
        """A run by id, by the start of its id, `latest`, or `latest~1` for the one before."""
        newest = _LATEST.fullmatch(reference)
        if newest is not None:
            rows = self._read(f"{_RUN} ORDER BY runs.rowid DESC LIMIT 1 OFFSET ?", (int(newest[1] or 0),))
        else:
            rows = self._read(
                f"{_RUN} WHERE runs.id >= ? AND runs.id < ? LIMIT 3", (reference, reference + "\U0010ffff")
            )
        exact = [row for row in rows if row[3] == reference] or rows
        if len(exact) == 1:
            return next(self._readable(_run, exact, None))
        found = "several runs start with" if exact else "there is no run"
        raise UnknownRun(f"{found} {reference!r}; `clerkship list` shows them")

    def counts(self, run_id: str) -> Counts:
        """How a run's trials came out, from the indexes alone: all attempts, less those that were done again."""
        verdicts: Counter[str] = Counter()
        statuses: Counter[str] = Counter()
        errors = 0
        rows = self._read(f"{_COUNT} WHERE run_id = ? GROUP BY verdict, status, agent_error", (run_id,))
        again = self._read(_COUNT_AGAIN, (run_id,))
        for sign, (verdict, status, agent_error, count) in [*((1, row) for row in rows), *((-1, row) for row in again)]:
            statuses[status] += sign * count
            if verdict is not None:
                verdicts[verdict] += sign * count
            errors += sign * count if agent_error else 0
        return Counts(verdicts=dict(+verdicts), statuses=dict(+statuses), agent_errors=errors)

    def outcomes(self, run_id: str) -> list[Outcome]:
        """How each trial came out: the last attempt of each."""
        query = f"SELECT task, trial, attempt, status, verdict FROM task_runs WHERE run_id = ? AND {_LAST}"
        return [Outcome(*row) for row in self._read(f"{query} ORDER BY task, trial", (run_id,))]

    def task_runs(
        self,
        run_id: str,
        *,
        failed: bool = False,
        task: str | None = None,
        attempts: bool = False,
        damaged: list[str] | None = None,
    ) -> list[TaskRun]:
        """A run's trials in order; all, or those with anything wrong, or those of one task."""
        where, values = ["run_id = ?"], [run_id]
        if not attempts:
            where.append(_LAST)
        if failed:
            where.append("(verdict IS NULL OR verdict NOT IN ('pass', 'ungraded'))")
        if task is not None:
            where.append("task = ?")
            values.append(task)
        query = f"{_TASK_RUN} WHERE {' AND '.join(where)} ORDER BY task, trial, attempt"
        return list(self._readable(_task_run, self._read(query, values), damaged))

    def each(self, run_id: str, *, attempts: bool = False) -> Iterator[TaskRun]:
        """A run's trials in the same order, a page at a time; between pages nothing is held open."""
        query = (
            f"{_TASK_RUN} WHERE run_id = ? AND (task, trial, attempt) > (?, ?, ?)"
            f"{'' if attempts else f' AND {_LAST}'} ORDER BY task, trial, attempt LIMIT ?"
        )
        place: tuple[str, int, int] = ("", 0, 0)
        while rows := self._read(query, (run_id, *place, PAGE)):
            yield from self._readable(_task_run, rows, None)
            place = rows[-1][1:4]

    def log(self, task_run: TaskRun, after: int = 0) -> Iterator[bytes]:
        """A trial's log from some line on, a segment at a time: it may be larger than memory."""
        base = self._log_of(self._row_of(task_run)) * SEGMENTS
        begin = self._read("SELECT max(id) FROM log_segments WHERE id > ? AND id <= ?", (base, base + after + 1))[0][0]
        with _told(self.path):
            rows = self._db.execute(
                "SELECT id, data FROM log_segments WHERE id >= ? AND id < ? ORDER BY id",
                (begin or base, base + SEGMENTS),
            )
            for segment, data in rows:
                lines = as_bytes(data).split(b"\n") if data else []
                yield from lines[max(after + 1 - (segment - base), 0) :]

    def _log_segments(self, row: int) -> Iterator[tuple[int, bytes]]:
        """Yield the segments of a log, each with the number of its first line."""
        base = row * SEGMENTS
        query = "SELECT id - ?, data FROM log_segments WHERE id >= ? AND id < ? ORDER BY id"
        yield from self._db.execute(query, (base, base, base + SEGMENTS))

    def sidecar(self, task_run: TaskRun) -> bytes:
        """What differed between machines."""
        return as_bytes(self._read("SELECT sidecar FROM task_runs WHERE id = ?", (self._row_of(task_run),))[0][0])

    def blob(self, digest: str) -> bytes:
        """A blob by its hash."""
        rows = self._read("SELECT data FROM blobs WHERE sha256 = ?", (digest,))
        if not rows:
            raise StoreFailed(f"the store has no blob {digest}")
        return as_bytes(rows[0][0])

    def _row_of(self, run: TaskRun) -> int:
        rows = self._read(
            "SELECT id FROM task_runs WHERE run_id = ? AND task = ? AND trial = ? AND attempt = ?",
            (run.run, run.task, run.trial, run.attempt),
        )
        if not rows:
            raise UnknownRun(f"{run.task} (trial {run.trial}) is not in {run.run}")
        return int(rows[0][0])

    def _log_of(self, row: int) -> int:
        """The row whose log it is: its own, unless it was graded again."""
        found = self._read("SELECT graded FROM regraded WHERE task_run = ?", (row,))
        return int(found[0][0]) if found else row

    def _read(self, query: str, values: Sequence[Any]) -> list[Any]:
        with _told(self.path):
            return self._db.execute(query, values).fetchall()

    def close(self) -> None:
        """Let go of it."""
        self._db.close()


def _connect(path: Path | str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=BUSY_FOR, check_same_thread=False, uri=uri)


def _identities(path: Path) -> dict[str, tuple[int, int]]:
    """Return the device and inode of a store's file and of its write-ahead log, as far as they exist."""
    found = {}
    for file in (path, path.with_name(f"{path.name}-wal")):
        with suppress(FileNotFoundError):
            status = file.stat()
            found[file.name] = (status.st_dev, status.st_ino)
    return found


def _write_ahead(database: sqlite3.Connection) -> None:
    """Have it kept with a write-ahead log. SQLite does not wait for another who is making the same file so: we do."""
    until = monotonic() + BUSY_FOR
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > until:
                raise
            threading.Event().wait(0.005)
        else:
            return


def _is_readonly(error: sqlite3.OperationalError) -> bool:
    return "readonly" in str(error) or "unable to open" in str(error)


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Where nothing may be written, not even SQLite's own files beside it; what is in its log would not be seen."""
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreFailed(
            f"{path} cannot be written, and its last changes are not settled; copy {path.name}* elsewhere"
        )
    database = _connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        found = database.execute("PRAGMA user_version").fetchone()[0]
        if found not in READABLE:
            raise StoreFailed(
                f"{path} is of version {found}, this is made for {VERSION}; copy it where it can be written"
            )
    except BaseException:
        database.close()
        raise
    return database


_LATEST = re.compile(r"latest(?:~(\d{1,9}))?")
_RUN = (
    "SELECT runs.record, run_marks.status, run_marks.at, runs.id FROM runs LEFT JOIN run_marks"
    " ON run_marks.id = (SELECT max(last.id) FROM run_marks AS last WHERE last.run_id = runs.id)"
)
_TASK_RUN = "SELECT record, task, trial, attempt, run_id FROM task_runs"
_LAST = (
    "NOT EXISTS (SELECT 1 FROM task_runs AS later WHERE later.run_id = task_runs.run_id AND later.task = task_runs.task"
    " AND later.trial = task_runs.trial AND later.attempt = task_runs.attempt + 1 AND later.attempt > 1)"
)
_COUNT = "SELECT verdict, status, agent_error, count(*) FROM task_runs"
_COUNT_AGAIN = (
    "SELECT task_runs.verdict, task_runs.status, task_runs.agent_error, 1 FROM task_runs AS later JOIN task_runs"
    " ON task_runs.run_id = later.run_id AND task_runs.task = later.task AND task_runs.trial = later.trial"
    " AND task_runs.attempt = later.attempt - 1 WHERE later.run_id = ? AND later.attempt > 1"
)


_NEW_TRIAL = (
    "INSERT INTO task_runs (id, run_id, task, trial, attempt, status, verdict, agent_error, record, sidecar)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def _row(number: int, run: TaskRun, sidecar: bytes) -> tuple[Any, ...]:
    record = orjson.dumps(run.__dict__, default=plain)
    outcome = (run.status, run.verdict, int(bool(run.agent_error)))
    return (number, run.run, run.task, run.trial, run.attempt, *outcome, record, sidecar)


def _seal_of(row: tuple[Any, ...], run: TaskRun, log: bytes, blobs: str) -> TrialSeal:
    """Take the digests of a new row of `task_runs`, before it is sealed."""
    _, run_id, task, trial, attempt, *outcome, record, sidecar = row
    status, verdict, agent_error = outcome
    parts = (digest(record), digest(sidecar), log, run.snapshot, blobs)
    return TrialSeal(run_id, task, trial, attempt, status, verdict, agent_error, *parts)


def _segments(log: bytes) -> Iterator[tuple[int, bytes]]:
    """A log in parts of whole lines, each with the number of its first line."""
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


def _task_run(row: Any) -> TaskRun:
    """Parse the record of a trial; raise StoreDamaged where it is corrupt."""
    record, task, trial, _, run_id = row
    with suppress(ValidationError):
        return TaskRun.model_validate_json(record)
    try:  # earlier versions wrote up to 254 levels, of which pydantic reads 200
        return TaskRun.model_validate(cut_at_depth(orjson.loads(record), MAX_RECORD_DEPTH))
    except ValueError as error:
        raise StoreDamaged(f"the record of {task} (trial {trial}) in {run_id} is corrupt: {_reason(error)}") from None


def _reason(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return ": ".join(part for part in (".".join(map(str, first["loc"])), first["msg"]) if part)
    return str(error)


def _run(row: Any) -> BenchmarkRun:
    """Parse the record of a run; raise StoreDamaged where it is corrupt."""
    try:
        run = BenchmarkRun.model_validate_json(row[0])
    except ValidationError as error:
        raise StoreDamaged(f"the record of the run {row[3]} is corrupt: {_reason(error)}") from None
    if row[1] is None:
        return run
    return run.model_copy(update={"status": row[1], "completed_at": row[2] if row[1] != "active" else None})


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
    "full": "; free some space and go on with `clerkship resume`: what was finished before is kept",
    "disk i/o": "; the disk is full or failing; mend it and go on with `clerkship resume`: what was finished is kept",
    "no space": "; free some space and go on with `clerkship resume`: what was finished before is kept",
    "not a database": "; name another file with --store",
    "malformed": "; the file is damaged: restore a copy of it, or save what can be read with `sqlite3 FILE .recover`",
    "locked": "; another process is writing to it",
}


def _make_folder(folder: Path) -> None:
    """The folder of a store; one that is ours alone is nothing to be committed to anybody's repository."""
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if new and folder.name == ".clerkship":
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
