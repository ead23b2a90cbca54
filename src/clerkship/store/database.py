"""What a store needs of a connection, and transactions. The SQL of a store is the same for every database."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from clerkship.store.contract import StoreFailed
from clerkship.store.schema import SHARED_MARKS


class Rows(Protocol):
    """The rows that a statement returned."""

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """A connection to the database of a store. Values stand for `?` in statements."""

    begin_write: str
    """Begins a transaction that writes."""
    begin_alone: str
    """Begins a transaction during which no other connection writes."""
    begin_read: str
    """Begins a transaction that reads one state."""

    own_tables: tuple[str, ...]
    """Tables with a column `run_id` that only this kind of database has."""

    @property
    def in_transaction(self) -> bool: ...

    def execute(self, query: str, values: Sequence[Any] = ..., /) -> Rows: ...

    def executemany(self, query: str, values: Iterable[Sequence[Any]], /) -> object: ...

    def stream(self, query: str, values: Sequence[Any] = ..., /) -> Iterable[Any]:
        """Yield rows as they are read, for many or large ones. Only inside a transaction."""

    def new_rows(self, count: int) -> list[int]:
        """Return numbers for new rows of `task_runs`, in ascending order, inside a transaction that writes."""

    def added_code(self) -> list[tuple[str, str]]:
        """List the triggers and views, by kind and name. We make none: they change what is read."""

    def close(self) -> None: ...


def require_distinct_marks(database: Database, version: int, wanted: int) -> None:
    """Raise StoreFailed if a store cannot go back to a version in which no two runs have marks of the same number."""
    if wanted < SHARED_MARKS <= version:
        query = "SELECT run_id FROM run_marks WHERE id IN (SELECT id FROM run_marks GROUP BY id HAVING count(*) > 1)"
        runs = sorted({str(row[0]) for row in database.execute(query)})
        if runs:
            raise StoreFailed(
                f"{len(runs):,} runs, such as {runs[0]}, have numbers that others have too, because some were copied"
                f" here; version {wanted} cannot store them together: delete the copies first"
            )


class WriteTransaction:
    """Writes in one transaction. A class, because a generator would take twice as long, and every trial has one."""

    __slots__ = ("_begin", "_database")

    def __init__(self, database: Database, begin: str = "") -> None:
        self._database, self._begin = database, begin or database.begin_write

    def __enter__(self) -> None:
        self._database.execute(self._begin)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        database = self._database
        try:
            if kind is None:
                database.execute("COMMIT")
        finally:
            if database.in_transaction:  # after an error; a full disk has rolled it back already
                database.execute("ROLLBACK")
