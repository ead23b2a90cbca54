"""Connections to a store's SQLite file, transactions, and errors with advice."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from clerkship.kit.wall import monotonic
from clerkship.store.contract import StoreFailed
from clerkship.store.schema import READABLE, VERSION, substitutes, upgrade

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


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Raise errors of SQLite and of the system as StoreFailed, with advice."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        advice = next((words for mark, words in _ADVICE.items() if mark in str(error).lower()), "")
        raise StoreFailed(f"the store {path} failed: {error}{advice}") from error


def open_database(path: Path, *, create: bool) -> sqlite3.Connection:
    """Connect to a store and upgrade its tables; read-only if it need not be created and cannot be written."""
    if create:
        _make_folder(path.parent)
    elif not path.exists():
        raise StoreFailed(f"there is no store at {path}; `clerkship run` makes one")
    database = _connect(path)
    try:
        _enable_write_ahead_log(database)
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
    database = _connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        found = _version(database)
        if found not in READABLE:
            raise StoreFailed(
                f"{path} is of version {found}, this is made for {VERSION}; copy it where it can be written"
            )
        for statement in substitutes(found):
            database.execute(statement)
    except BaseException:
        database.close()
        raise
    return database


@contextmanager
def write_transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Write in one transaction."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:  # a full disk has rolled it back already
            database.execute("ROLLBACK")
        raise


def file_identities(path: Path) -> dict[str, tuple[int, int]]:
    """Return the device and inode of a store's file and of its write-ahead log, as far as they exist."""
    found = {}
    for file in (path, path.with_name(f"{path.name}-wal")):
        with suppress(FileNotFoundError):
            status = file.stat()
            found[file.name] = (status.st_dev, status.st_ino)
    return found


def _connect(path: Path | str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT, check_same_thread=False, uri=uri)


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _upgrade(database: sqlite3.Connection, path: Path) -> None:
    if _version(database) == VERSION:
        return
    with write_transaction(database):  # another process may have been faster
        version = _version(database)
        statements = upgrade(version)
        if statements is None:
            raise StoreFailed(f"{path} is of version {version}, this is made for {VERSION}; name another store")
        for statement in statements:
            database.execute(statement)
        database.execute(f"PRAGMA user_version={VERSION}")


def _enable_write_ahead_log(database: sqlite3.Connection) -> None:
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
