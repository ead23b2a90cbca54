"""Copy runs from one store to another: rows as they are, with their seals, under new row numbers."""

from collections.abc import Iterator, Sequence
from typing import Any

from clerkship.store.database import Database
from clerkship.store.deletion import list_blobs
from clerkship.store.seal_table import END_SEAL_COLUMNS, SEGMENTS, TRIAL_SEAL_COLUMNS
from clerkship.store.sql import NEW_BLOB, NEW_MARK, NEW_REGRADED, NEW_RUN, NEW_SEGMENT, NEW_TRIAL

PAGE_SIZE = 100
_PLACE = ("run_id", "task", "trial", "attempt")


def copy_run_rows(source: Database, target: Database, run_id: str) -> None:
    """Copy everything of a run, inside a transaction of each store."""
    _copy_blobs(source, target, run_id)
    query = "SELECT id, name, solver, started_at, record FROM runs WHERE id = ?"
    target.execute(NEW_RUN, source.execute(query, (run_id,)).fetchone())
    for table, columns in (
        ("run_seals", ("run_id", "record", "key", "seal")),
        ("trial_seals", TRIAL_SEAL_COLUMNS),
        ("end_seals", END_SEAL_COLUMNS),
        ("run_labels", ("run_id", "label")),
    ):
        _copy_table(source, target, table, columns, run_id)
    marks = source.execute("SELECT id, run_id, status, at FROM run_marks WHERE run_id = ? ORDER BY id", (run_id,))
    target.executemany(NEW_MARK, marks.fetchall())
    _copy_trials(source, target, run_id)


def copy_calibrations(source: Database, target: Database) -> int:
    """Copy the calibrations of judges that the other store does not have; return how many."""
    query = "SELECT model, record FROM calibrations ORDER BY id"
    known = {(row[0], bytes(row[1])) for row in target.execute(query)}
    missing = [row for row in source.execute(query).fetchall() if (row[0], bytes(row[1])) not in known]
    target.executemany("INSERT INTO calibrations (model, record) VALUES (?, ?)", missing)
    return len(missing)


def _copy_table(source: Database, target: Database, table: str, columns: Sequence[str], run_id: str) -> None:
    names = ", ".join(columns)
    insert = f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"
    for page in _pages(source.stream(f"SELECT {names} FROM {table} WHERE run_id = ?", (run_id,))):
        target.executemany(insert, page)


def _copy_blobs(source: Database, target: Database, run_id: str) -> None:
    """Copy the blobs of a run, one at a time: datasets may be large."""
    for address in sorted(set(filter(None, list_blobs(source, run_id)))):
        row = source.execute("SELECT data FROM blobs WHERE sha256 = ?", (address,)).fetchone()
        if row is not None:  # what is missing is a finding of the check of its seals, in both stores
            target.execute(NEW_BLOB, (address, row[0]))


def _copy_trials(source: Database, target: Database, run_id: str) -> None:
    columns = "run_id, task, trial, attempt, status, verdict, agent_error, record, sidecar"
    query = (
        f"SELECT t.id, r.graded, {', '.join(f't.{name}' for name in columns.split(', '))} FROM task_runs AS t"
        " LEFT JOIN regraded AS r ON r.task_run = t.id WHERE t.run_id = ? ORDER BY t.id"
    )
    for page in _pages(source.stream(query, (run_id,))):
        for old, graded, *row in page:
            logged = None if graded is None else _find_copied_log(source, target, graded)
            if graded is not None and logged is None:  # the run that the log is of was deleted, or is not copied
                [logged, new] = target.new_rows(2)
                _copy_log(source, target, graded, logged)
            else:
                [new] = target.new_rows(1)
            target.execute(NEW_TRIAL, (new, *row))
            if graded is None:
                _copy_log(source, target, old, new)
            else:
                target.execute(NEW_REGRADED, (new, logged))


def _find_copied_log(source: Database, target: Database, graded: int) -> int | None:
    """Return the number of a log in the other store, if a trial that has it was copied."""
    sharing = (
        "SELECT run_id, task, trial, attempt FROM task_runs WHERE id = ? OR id IN (SELECT task_run FROM regraded"
        " WHERE graded = ?)"
    )
    copied = (
        "SELECT coalesce(r.graded, t.id) FROM task_runs AS t LEFT JOIN regraded AS r ON r.task_run = t.id WHERE "
        + " AND ".join(f"t.{name} = ?" for name in _PLACE)
    )
    for place in source.execute(sharing, (graded, graded)).fetchall():
        row = target.execute(copied, tuple(place)).fetchone()
        if row is not None:
            return int(row[0])
    return None


def _copy_log(source: Database, target: Database, old: int, new: int) -> None:
    query = "SELECT id, data FROM log_segments WHERE id >= ? AND id < ? ORDER BY id"
    base, end = old * SEGMENTS, (old + 1) * SEGMENTS
    for number, data in source.stream(query, (base, end)):
        target.execute(NEW_SEGMENT, (number - base + new * SEGMENTS, data))


def _pages(rows: Any) -> Iterator[list[Any]]:
    page: list[Any] = []
    for row in rows:
        page.append(tuple(row))
        if len(page) == PAGE_SIZE:
            yield page
            page = []
    if page:
        yield page
