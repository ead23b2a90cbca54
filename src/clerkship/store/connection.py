"""Connections to a store's SQLite file, its schema, transactions, and errors with advice."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from clerkship.kit.wall import monotonic
from clerkship.store.contract import StoreFailed

VERSION = 5
READABLE = (2, 3, 4, VERSION)
"""Versions that can be read without an upgrade, where nothing may be written."""
_FIRST = """
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
_ATTEMPTS = """
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
_SEALS = """
CREATE TABLE run_seals (run_id TEXT PRIMARY KEY, record BLOB NOT NULL, key TEXT NOT NULL, seal BLOB NOT NULL);
CREATE TABLE trial_seals (
  run_id TEXT NOT NULL, task TEXT NOT NULL, trial INTEGER NOT NULL, attempt INTEGER NOT NULL,
  status TEXT NOT NULL, verdict TEXT, agent_error INTEGER NOT NULL, record BLOB NOT NULL, sidecar BLOB NOT NULL,
  log BLOB NOT NULL, snapshot TEXT NOT NULL, blobs TEXT NOT NULL, number INTEGER NOT NULL,
  before BLOB NOT NULL, key TEXT NOT NULL, seal BLOB NOT NULL,
  PRIMARY KEY (run_id, task, trial, attempt)
) WITHOUT ROWID;
CREATE TABLE end_seals (
  mark INTEGER PRIMARY KEY, run_id TEXT NOT NULL, status TEXT NOT NULL, at TEXT NOT NULL, counts BLOB NOT NULL,
  trials BLOB NOT NULL, number INTEGER NOT NULL, key TEXT NOT NULL, seal BLOB NOT NULL
);
CREATE INDEX end_seals_by_run ON end_seals (run_id, mark);
"""
_LABELS = """
CREATE TABLE run_labels (run_id TEXT PRIMARY KEY, label TEXT NOT NULL);
"""
_UPGRADES = {
    0: _FIRST + _ATTEMPTS + _CALIBRATIONS + _SEALS + _LABELS,
    1: _ATTEMPTS + _FROM_FIRST + _CALIBRATIONS + _SEALS + _LABELS,
    2: _CALIBRATIONS + _SEALS + _LABELS,
    3: _SEALS + _LABELS,
    4: _LABELS,
    VERSION: "",
}
"""By the version that a store has: 0 is a new one, 1 is from before runs could be resumed, 2 from before judges were
calibrated, 3 from before trials were sealed, 4 from before runs could be labelled."""
BUSY_TIMEOUT = 30.0
"""Seconds that another process may take before we give up."""
CHECKPOINT_PAGES = 4000
"""Pages of the write-ahead log after which it is copied to the file: one that changes often, as in an index, is copied
once for many changes."""
_WRITABLE = "; choose a writable place with --store"
_ADVICE = {
    "readonly": _WRITABLE,
    "read-only": _WRITABLE,
    "permission": _WRITABLE,
    "unable to open": _WRITABLE,
    "full": "; free some space and go on with `clerkship resume`: what was finished before is kept",
    "disk i/o": "; the disk is full or failing; mend it and go on with `clerkship resume`: what was finished is kept",
    "no space": "; free some space and go on with `clerkship resume`: what was finished before is kept",
    "not a database": "; name another file with --store",
    "malformed": "; the file is damaged: restore a copy of it, or save what can be read with `sqlite3 FILE .recover`",
    "locked": "; another process is writing to it",
}


def upgrade(version: int) -> list[str] | None:
    """Return the statements that upgrade a store of this version; None for an unknown version."""
    statements = _UPGRADES.get(version)
    return None if statements is None else [part for part in statements.split(";\n") if part.strip()]


def substitutes(version: int) -> list[str]:
    """Return the statements that create the missing tables of a readable version as empty temporary tables."""
    return [statement.replace("CREATE TABLE", "CREATE TEMP TABLE") for statement in upgrade(version) or ()]


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Raise errors of SQLite and of the system as StoreFailed, with advice."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise build_storage_error(path, error) from error


def build_storage_error(path: Path, error: Exception) -> StoreFailed:
    """Return an error of SQLite or of the system as StoreFailed, with advice."""
    advice = next((words for mark, words in _ADVICE.items() if mark in str(error).lower()), "")
    return StoreFailed(f"the store {path} failed: {error}{advice}")


def open_database(path: Path, *, create: bool) -> sqlite3.Connection:
    """Connect to a store and upgrade its tables; read-only if it need not be created and cannot be written."""
    if create:
        _make_folder(path.parent)
    elif not path.exists():
        raise StoreFailed(f"there is no store at {path}; `clerkship run` makes one")
    database = connect(path)
    try:
        enable_write_ahead_log(database)
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
        _upgrade(database, path)
    except BaseException as error:
        database.close()
        if create or not isinstance(error, sqlite3.OperationalError) or not _is_readonly(error):
            raise
        return open_read_only(path)
    return database


def open_read_only(path: Path) -> sqlite3.Connection:
    """Connect without writing anything, not even SQLite's own files.

    Raise StoreFailed if the write-ahead log is not empty, because it would not be read.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise StoreFailed(
            f"{path} cannot be written, and its last changes are not settled; copy {path.name}* elsewhere"
        )
    database = connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        version = _version(database)
        if version not in READABLE:
            raise StoreFailed(
                f"{path} is of version {version}, this is made for {VERSION}; copy it where it can be written"
            )
        for statement in substitutes(version):
            database.execute(statement)
    except BaseException:
        database.close()
        raise
    return database


class WriteTransaction:
    """Writes in one transaction. A class, because a generator would take twice as long, and every trial has one."""

    __slots__ = ("_database",)

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        database = self._database
        try:
            if kind is None:
                database.execute("COMMIT")
        finally:
            if database.in_transaction:  # after an error; a full disk has rolled it back already
                database.execute("ROLLBACK")


def file_identities(path: Path) -> dict[str, tuple[int, int]]:
    """Return the device and inode of a store's file and of its write-ahead log, as far as they exist."""
    identities = {}
    for file in (path, path.with_name(f"{path.name}-wal")):
        with suppress(FileNotFoundError):
            status = file.stat()
            identities[file.name] = (status.st_dev, status.st_ino)
    return identities


def connect(path: Path | str, *, uri: bool = False) -> sqlite3.Connection:
    """Connect to a file; transactions are begun by statements alone."""
    return sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT, check_same_thread=False, uri=uri)


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _upgrade(database: sqlite3.Connection, path: Path) -> None:
    if _version(database) == VERSION:
        return
    with WriteTransaction(database):  # another process may have been faster
        version = _version(database)
        statements = upgrade(version)
        if statements is None:
            raise StoreFailed(f"{path} is of version {version}, this is made for {VERSION}; name another store")
        for statement in statements:
            database.execute(statement)
        database.execute(f"PRAGMA user_version={VERSION}")


def enable_write_ahead_log(database: sqlite3.Connection) -> None:
    """Enable the write-ahead log. SQLite does not wait for another process that does the same: retry."""
    until = monotonic() + BUSY_TIMEOUT
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


def _make_folder(folder: Path) -> None:
    """Create the folder of a store; exclude `.clerkship` from version control."""
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if new and folder.name == ".clerkship":
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
