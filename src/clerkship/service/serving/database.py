"""The database of a server: one SQLite file, its migrations, transactions of one writer at a time, and pages of lists.

Only the modules of this package that own tables contain SQL, in one small class for each table.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from clerkship.kit.wall import now
from clerkship.model.errors import InputError, InputProblem
from clerkship.store.connection import (
    CHECKPOINT_PAGES,
    SqliteDatabase,
    connect,
    enable_write_ahead_log,
    storage_errors,
)
from clerkship.store.contract import StoreFailed
from clerkship.store.database import WriteTransaction

T = TypeVar("T")
U = TypeVar("U")
on_write: ContextVar[Callable[[sqlite3.Connection], None] | None] = ContextVar("on_write", default=None)
"""Called in each transaction of a request, before what it writes: so a request is recorded together with its effect."""


def get_timestamp() -> str:
    """Return the current time in UTC, in the one form in which times are stored: as texts they sort by time."""
    return now().isoformat(timespec="microseconds")


def refuse_cursor() -> InputError:
    """Return the error for a position that a list does not have."""
    hint = "use `_meta.next` of the page before, at the same address"
    return InputError([InputProblem(key="cursor", message="it is not a cursor of this list", hint=hint)])


@dataclass(frozen=True)
class ListRequest:
    """Which part of a list is asked for."""

    limit: int = 20
    after: str | None = None
    """`next` of the page before."""

    @property
    def number(self) -> int | None:
        """The position as the number of a row. Raise InputError if it is none."""
        if self.after is None or self.after.isdecimal():
            return None if self.after is None else min(int(self.after[:20]), 2**63 - 1)
        raise refuse_cursor()


@dataclass(frozen=True)
class ListPage(Generic[T]):
    """A part of a list, and the position of the next part if there is more."""

    items: list[T]
    next: str | None = None

    def map(self, convert: Callable[[T], U]) -> "ListPage[U]":
        """Return the page with converted items."""
        return ListPage([convert(item) for item in self.items], self.next)


FIRST_PAGE = ListRequest()


class ServerDatabase:
    """One SQLite file. Any thread may read and write; other processes may too."""

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._idle: list[SqliteDatabase] = []
        self._is_closed = False
        with storage_errors(path):
            self._writer = self._connect()
            try:
                enable_write_ahead_log(self._writer)
                self._upgrade(migrations)
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Write in one transaction, which no other write interrupts; it is undone by an exception."""
        with self._lock, storage_errors(self.path), WriteTransaction(self._writer):
            if (record := on_write.get()) is not None:
                record(self._writer)
            yield self._writer

    def read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query. It never waits for a writer."""
        with storage_errors(self.path):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                return connection.execute(sql, values).fetchall()
            finally:
                if self._is_closed:
                    connection.close()
                else:
                    self._idle.append(connection)

    def read_page(self, table: str, columns: str, request: ListRequest, **equal: object) -> ListPage[tuple[Any, ...]]:
        """Return a page of a table that has a column `number`, newest first. A filter that is None does not count."""
        filters = {f"{name} = ?": value for name, value in equal.items() if value is not None}
        if request.number is not None:
            filters["number < ?"] = request.number
        condition = f"WHERE {' AND '.join(filters)}" if filters else ""
        sql = f"SELECT number, {columns} FROM {table} {condition} ORDER BY number DESC LIMIT ?"
        rows = self.read(sql, *filters.values(), request.limit + 1)
        shown = rows[: request.limit]
        return ListPage([row[1:] for row in shown], str(shown[-1][0]) if len(rows) > len(shown) else None)

    def close(self) -> None:
        """Close all connections."""
        self._is_closed = True
        with self._lock:
            for connection in (self._writer, *self._idle):
                connection.close()
        self._idle.clear()

    def _connect(self) -> SqliteDatabase:
        connection = connect(self.path)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
        return connection

    def _upgrade(self, migrations: Sequence[str]) -> None:
        with WriteTransaction(self._writer):
            version = int(self._writer.execute("PRAGMA user_version").fetchone()[0])
            if version > len(migrations):
                message = f"{self.path} is of version {version}, this program is made for {len(migrations)}"
                raise StoreFailed(f"{message}; use a newer version of Clerkship")
            for script in migrations[version:]:
                for statement in filter(str.strip, script.split(";\n")):
                    self._writer.execute(statement)
            self._writer.execute(f"PRAGMA user_version={len(migrations)}")
