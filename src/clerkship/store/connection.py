"""Connections to a store's SQLite file, transactions, and errors with advice."""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from clerkship.kit.wall import monotonic
from clerkship.model.store_place import StorePlace
from clerkship.store.contract import StoreFailed
from clerkship.store.database import WriteTransaction, require_distinct_marks
from clerkship.store.schema import READABLE, VERSION, substitutes, take_back, upgrade

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


class SqliteDatabase(sqlite3.Connection):
    """A connection to a SQLite file."""

    begin_write = begin_alone = "BEGIN IMMEDIATE"
    begin_read = "BEGIN"
    own_tables: tuple[str, ...] = ()

    def stream(self, query: str, values: Sequence[Any] = ()) -> Iterable[Any]:
        """Yield rows as they are read."""
        return self.execute(query, values)

    def new_rows(self, count: int) -> list[int]:
        """Return the numbers of the next rows of `task_runs`."""
        first = int(self.execute("SELECT coalesce(max(id), 0) + 1 FROM task_runs").fetchone()[0])
        return list(range(first, first + count))

    def added_code(self) -> list[tuple[str, str]]:
        """List the triggers and views, by kind and name."""
        query = "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view') ORDER BY name LIMIT 20"
        return [(str(kind), str(name)) for kind, name in self.execute(query)]


@contextmanager
def storage_errors(place: StorePlace) -> Iterator[None]:
    """Raise errors of SQLite and of the system as StoreFailed, with advice."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise build_storage_error(place, error) from error


def build_storage_error(place: StorePlace, error: Exception) -> StoreFailed:
    """Return an error of SQLite or of the system as StoreFailed, with advice."""
    advice = next((words for mark, words in _ADVICE.items() if mark in str(error).lower()), "")
    return StoreFailed(f"the store {place} failed: {error}{advice}")


def open_database(path: Path, *, create: bool) -> SqliteDatabase:
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


def open_read_only(path: Path) -> SqliteDatabase:
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


def file_identities(path: Path) -> dict[str, tuple[int, int]]:
    """Return the device and inode of a store's file and of its write-ahead log, as far as they exist."""
    identities = {}
    for file in (path, path.with_name(f"{path.name}-wal")):
        with suppress(FileNotFoundError):
            status = file.stat()
            identities[file.name] = (status.st_dev, status.st_ino)
    return identities


def connect(path: Path | str, *, uri: bool = False) -> SqliteDatabase:
    """Connect to a file; transactions are begun by statements alone."""
    return sqlite3.connect(
        path, isolation_level=None, timeout=BUSY_TIMEOUT, check_same_thread=False, uri=uri, factory=SqliteDatabase
    )


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _upgrade(database: SqliteDatabase, path: Path) -> None:
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


def read_version(path: Path) -> int:
    """Return the version of a store; raise StoreFailed if there is none."""
    if not path.exists():
        raise StoreFailed(f"there is no store at {path}; `clerkship run` makes one")
    with storage_errors(path), closing(connect(path)) as database:
        return _version(database)


def take_back_to(path: Path, wanted: int) -> int:
    """Take a store back to an earlier version; return the one that it had."""
    read_version(path)
    with storage_errors(path), closing(connect(path)) as database, WriteTransaction(database):
        version = _version(database)
        if version not in READABLE:
            raise StoreFailed(f"{path} is of version {version}, this is made for {VERSION}")
        require_distinct_marks(database, version, wanted)
        for statement in take_back(version, wanted):
            database.execute(statement)
        database.execute(f"PRAGMA user_version={min(version, wanted)}")
    return version


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
