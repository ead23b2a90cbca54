"""The store in one SQLite file, through the standard library.

See docs/decisions/0002-store-and-seals.md.
"""

import glob
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from clerkship.model.run import Attempt
from clerkship.store.connection import SqliteDatabase, file_identities, open_database, storage_errors
from clerkship.store.contract import RunBusy, StoreFailed
from clerkship.store.journal import Journal, is_held, read_begun
from clerkship.store.reader import RUN_QUERY
from clerkship.store.sql import SqlStore


class SqliteStore(SqlStore):
    """A store in one SQLite file: one writer at a time, readable while it is written (WAL)."""

    _db: SqliteDatabase

    def __init__(self, path: Path, *, create: bool = True, seal_key: str = "") -> None:
        if str(path).startswith((":", "file:")):
            raise StoreFailed(f"the store is a file; {str(path)!r} is none")
        self.path = path
        with storage_errors(path):
            database = open_database(path, create=create)
            self._files = file_identities(path)
        super().__init__(path, database, seal_key)

    def held(self, run_id: str) -> bool:
        """Return whether a process has locked a run."""
        with storage_errors(self.path):
            return is_held(self._journal(run_id))

    def begun(self, run_id: str) -> Sequence[Attempt]:
        """Return the attempts of an unfinished run that were begun."""
        with storage_errors(self.path):
            return read_begun(self._journal(run_id))

    def data_version(self) -> int:
        """Return a number that differs if another connection has written to the store since."""
        return int(self._read("PRAGMA data_version")[0][0])

    def is_replaced(self) -> bool:
        """Return whether the opened files are no longer those at the store's path."""
        now = file_identities(self.path)
        return any(now.get(name) != identity for name, identity in self._files.items())

    def _lock_run(self, run_id: str) -> Journal:
        with storage_errors(self.path):
            self._remove_stale_journals()
            return Journal(self._journal(run_id), run_id)

    def _journal(self, run_id: str) -> Path:
        return self.path.with_name(f"{self.path.name}-{run_id}.journal")

    def _remove_stale_journals(self) -> None:
        """Delete the journals of processes that were killed before their run began, or after it had ended."""
        for path in self.path.parent.glob(f"{glob.escape(self.path.name)}-*.journal"):
            run_id = path.name.removeprefix(f"{self.path.name}-").removesuffix(".journal")
            rows = self._read(f"{RUN_QUERY} WHERE runs.id = ?", run_id)
            if not rows or rows[0][1] not in (None, "active"):
                with suppress(RunBusy), Journal(path, run_id):
                    pass
