"""Delete runs with everything that only they use.

Records are otherwise only added. See docs/decisions/0002-store-and-seals.md.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import orjson

from clerkship.store.database import Database
from clerkship.store.seal import as_bytes
from clerkship.store.seal_table import SEGMENTS

_BLOB_IN_LOG = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_TABLES = ("task_runs", "trial_seals", "end_seals", "run_seals", "run_marks", "run_labels")


def delete_runs(database: Database, run_ids: Sequence[str]) -> None:
    """Delete runs, inside a transaction. Logs that a rescored run refers to stay until that run is deleted too."""
    blobs = {blob for run_id in run_ids for blob in list_blobs(database, run_id)}
    owners = {row for run_id in run_ids for row in _list_log_owners(database, run_id)}
    for run_id in run_ids:
        database.execute(
            "DELETE FROM regraded WHERE task_run IN (SELECT id FROM task_runs WHERE run_id = ?)", (run_id,)
        )
        for table in (*_TABLES, *database.own_tables):
            database.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))
        database.execute("DELETE FROM runs WHERE id = ?", (run_id,))
    for used in list_blobs(database) if blobs else ():
        blobs.discard(used)
    still_used = "SELECT 1 FROM task_runs WHERE id = ? UNION ALL SELECT 1 FROM regraded WHERE graded = ?"
    for row in owners:
        if not database.execute(still_used, (row, row)).fetchone():
            place = (row * SEGMENTS, (row + 1) * SEGMENTS)
            database.execute("DELETE FROM log_segments WHERE id >= ? AND id < ?", place)
    database.executemany("DELETE FROM blobs WHERE sha256 = ?", [(blob,) for blob in blobs])


def _list_log_owners(database: Database, run_id: str) -> list[int]:
    """Return the rows whose logs a run has: its own, and those that it graded again."""
    query = (
        "SELECT id FROM task_runs WHERE run_id = ? UNION SELECT graded FROM regraded"
        " WHERE task_run IN (SELECT id FROM task_runs WHERE run_id = ?)"
    )
    return [int(row[0]) for row in database.execute(query, (run_id, run_id))]


def list_blobs(database: Database, run_id: str | None = None) -> Iterator[str]:
    """Yield the hashes of the blobs that a run uses, or all runs: plans, snapshots, datasets and bodies."""
    values = () if run_id is None else (run_id,)
    seen: set[str] = set()
    for (record,) in database.stream(f"SELECT record FROM runs{_where('id', run_id)}", values):
        plan = _parse(record).get("plan") or ""
        if plan in seen:
            continue
        seen.add(plan)
        yield plan
        for snapshot in _read_blob(database, plan).get("snapshots", ()):
            yield from _list_snapshot(database, snapshot, seen)
    sealed = f"SELECT DISTINCT snapshot, blobs FROM trial_seals{_where('run_id', run_id)}"
    for snapshot, blobs in database.stream(sealed, values):
        yield from _list_snapshot(database, snapshot, seen)
        yield from blobs.split()
    unsealed = (
        "SELECT t.record, coalesce(r.graded, t.id) FROM task_runs AS t LEFT JOIN regraded AS r ON r.task_run = t.id"
        " LEFT JOIN trial_seals AS s ON s.run_id = t.run_id AND s.task = t.task AND s.trial = t.trial"
        f" AND s.attempt = t.attempt{_where('t.run_id', run_id) or ' WHERE TRUE'}"
        " AND (s.run_id IS NULL OR r.graded IS NOT NULL)"  # the seal of a regraded trial may name no bodies
    )
    for record, row in database.stream(unsealed, values):
        yield from _list_snapshot(database, _parse(record).get("snapshot") or "", seen)
        place = (row * SEGMENTS, (row + 1) * SEGMENTS)
        for (data,) in database.stream("SELECT data FROM log_segments WHERE id >= ? AND id < ?", place):
            yield from (found.decode() for found in _BLOB_IN_LOG.findall(as_bytes(data)))


def _where(column: str, run_id: str | None) -> str:
    return "" if run_id is None else f" WHERE {column} = ?"


def _list_snapshot(database: Database, snapshot: str, seen: set[str]) -> Iterator[str]:
    """Yield a snapshot and its datasets, once."""
    if snapshot not in seen:
        seen.add(snapshot)
        yield snapshot
        yield from _read_blob(database, snapshot).get("datasets", {}).values()


def _read_blob(database: Database, address: str) -> dict[str, Any]:
    row = database.execute("SELECT data FROM blobs WHERE sha256 = ?", (address,)).fetchone()
    return _parse(row[0]) if row else {}


def _parse(data: object) -> dict[str, Any]:
    """Parse a record; a damaged one names nothing."""
    with suppress(orjson.JSONDecodeError):
        record = orjson.loads(as_bytes(data))
        if isinstance(record, dict):
            return record
    return {}
