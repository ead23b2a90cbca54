"""The tables of seals, and the digests of what the store has now."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal

import orjson

from clerkship.model.run import Attempt
from clerkship.store.database import Database
from clerkship.store.seal import (
    ChainEnd,
    EndSeal,
    Ledger,
    RunSeal,
    SealKey,
    TrialSeal,
    as_bytes,
    build_seal,
    digest,
    trials_digest,
)

SEGMENTS = 1 << 32
"""Segments of one log lie side by side, found by the table's own key: trial, then the `seq` of the first line."""
_SEAL_COLUMNS = ", ".join(f"s.{name}" for name in ("run_id", *TrialSeal._fields[1:]))
_LOGGED = "coalesce(r.graded, t.id)"
_TRIALS = (
    f"SELECT {_LOGGED}, t.run_id, t.task, t.trial, t.attempt, t.status, t.verdict, t.agent_error, t.record, t.sidecar,"
    f" (SELECT data FROM log_segments WHERE id = {_LOGGED} * {SEGMENTS} + 1 AND (SELECT count(*) FROM log_segments"
    f" WHERE id >= {_LOGGED} * {SEGMENTS} AND id < ({_LOGGED} + 1) * {SEGMENTS}) = 1),"
    f" {_SEAL_COLUMNS} FROM task_runs AS t LEFT JOIN regraded AS r ON r.task_run = t.id"
    " LEFT JOIN trial_seals AS s ON s.run_id = t.run_id AND s.task = t.task AND s.trial = t.trial"
    " AND s.attempt = t.attempt WHERE t.run_id = ?"
)
_OWN = 11
"""Columns of `_TRIALS` before those of the seal. The last of them is the log, where it has one segment."""
_DELETED = (
    "SELECT task, trial, attempt FROM trial_seals AS s WHERE run_id = ? AND NOT EXISTS (SELECT 1 FROM task_runs AS t"
    " WHERE t.run_id = s.run_id AND t.task = s.task AND t.trial = s.trial AND t.attempt = s.attempt)"
)
_HAS_SEALS = (
    "SELECT EXISTS (SELECT 1 FROM trial_seals WHERE run_id = ?) OR EXISTS (SELECT 1 FROM end_seals WHERE run_id = ?)"
)


def insert_or_replace(table: str, columns: Sequence[str], key: Sequence[str]) -> str:
    """Return the statement that inserts a row, or replaces the one with its key."""
    places, changed = ", ".join("?" * len(columns)), ", ".join(f"{name} = excluded.{name}" for name in columns)
    columns_listed, key_listed = ", ".join(columns), ", ".join(key)
    return (
        f"INSERT INTO {table} ({columns_listed}) VALUES ({places}) ON CONFLICT ({key_listed}) DO UPDATE SET {changed}"
    )


TRIAL_SEAL_COLUMNS = ("run_id", *TrialSeal._fields[1:])
_NEW_TRIAL_SEAL = insert_or_replace("trial_seals", TRIAL_SEAL_COLUMNS, ("run_id", "task", "trial", "attempt"))
_NEW_RUN_SEAL = insert_or_replace("run_seals", ("run_id", "record", "key", "seal"), ("run_id",))
END_SEAL_COLUMNS = ("mark", "run_id", *EndSeal._fields[2:])
_NEW_END_SEAL = insert_or_replace("end_seals", END_SEAL_COLUMNS, ("run_id", "mark"))
BlobState = Literal["intact", "changed", "missing"]


class SealTable:
    """The seals of one store, and what they are compared with."""

    def __init__(self, database: Database, key: SealKey) -> None:
        self._db = database
        self.key = key

    def add_run(self, run_id: str, record: bytes) -> None:
        seal = RunSeal(run_id, digest(record)).sealed(self.key)
        self._db.execute(_NEW_RUN_SEAL, seal)

    def add_trials(self, seals: Iterable[TrialSeal], after: ChainEnd) -> list[TrialSeal]:
        """Seal trials as the next of a run, and keep their seals; one that is there already is replaced."""
        sealed: list[TrialSeal] = []
        for seal in seals:
            sealed.append(seal.sealed(self.key, after))
            after = ChainEnd(sealed[-1].number, sealed[-1].seal)
        self._db.executemany(_NEW_TRIAL_SEAL, sealed)
        return sealed

    def add_end(self, mark: int, run_id: str, status: str, at: str, ledger: Ledger) -> None:
        """Seal a mark of a run: that it ended, or that it was resumed."""
        counts = orjson.dumps(ledger.counts().model_dump(), option=orjson.OPT_SORT_KEYS)
        seal = EndSeal(mark, run_id, status, at, counts, ledger.digest(), ledger.last.number).sealed(self.key)
        self._db.execute(_NEW_END_SEAL, seal)

    def ledger(self, run_id: str) -> Ledger:
        """Load the seals of a run; for a trial that has none, take the digests of what the store has now."""
        ledger = Ledger(self.run_seal(run_id))
        ledger.add(sealed or self.digests(row) for row, sealed in self.trials(run_id))
        return ledger

    def trials(self, run_id: str, task: str | None = None) -> Iterator[tuple[Any, TrialSeal | None]]:
        """Yield each trial of a run, or of one task, as the store has it now, with its seal; hold one at a time."""
        query = f"{_TRIALS}{_only(task)} ORDER BY t.task, t.trial, t.attempt"
        for row in self._db.stream(query, _values(run_id, task)):
            yield row, TrialSeal(*row[_OWN:]) if row[_OWN] is not None else None

    def digests(self, row: Any) -> TrialSeal:
        """Take the digests of a trial as the store has it now."""
        logged, *columns, record, sidecar, log = row[:_OWN]
        log = self.log_digest(logged) if log is None else digest(log)
        return build_seal(columns, (digest(record), digest(sidecar), log))

    def log_digest(self, row: int) -> bytes:
        """Hash a trial's log a segment at a time; a segment at another place gives another digest."""
        digest, line, base = hashlib.sha256(), 1, row * SEGMENTS
        query = "SELECT id - ?, data FROM log_segments WHERE id >= ? AND id < ? ORDER BY id"
        for first, data in self._db.stream(query, (base, base, base + SEGMENTS)):
            content = as_bytes(data)
            digest.update(b"\n" if line > 1 else b"")
            digest.update(b"" if first == line else b"misplaced")
            digest.update(content)
            line += content.count(b"\n") + 1
        return digest.digest()

    def trial_seal(self, run_id: str, place: Attempt) -> TrialSeal | None:
        """Return the seal of one attempt."""
        where = "run_id = ? AND task = ? AND trial = ? AND attempt = ?"
        row = self._first(f"SELECT {_SEAL_COLUMNS} FROM trial_seals AS s WHERE {where}", run_id, *place)
        return TrialSeal(*row) if row else None

    def run_seal(self, run_id: str) -> RunSeal | None:
        row = self._first("SELECT run_id, record, key, seal FROM run_seals WHERE run_id = ?", run_id)
        return RunSeal(*row) if row else None

    def end_seal(self, run_id: str) -> EndSeal | None:
        """Return the last seal of a run's end or resumption."""
        query = "SELECT mark, run_id, status, at, counts, trials, number, key, seal FROM end_seals WHERE run_id = ?"
        row = self._first(f"{query} ORDER BY mark DESC LIMIT 1", run_id)
        return EndSeal(*row) if row else None

    def last_mark(self, run_id: str) -> Any:
        """Return the number, the status and the time of a run's last mark; None if it has none."""
        return self._first("SELECT id, status, at FROM run_marks WHERE run_id = ? ORDER BY id DESC LIMIT 1", run_id)

    def chain(self, run_id: str) -> Iterable[tuple[int, bytes, bytes]]:
        """Yield the number, the seal before and the seal of each trial, in the order they were saved."""
        return self._db.stream(
            "SELECT number, before, seal FROM trial_seals WHERE run_id = ? ORDER BY number", (run_id,)
        )

    def record(self, run_id: str) -> Any:
        row = self._first("SELECT record FROM runs WHERE id = ?", run_id)
        return row[0] if row else b""

    def record_field(self, run_id: str, name: str) -> Any:
        """Return a field of a run's record; None if it has none, or cannot be parsed."""
        with suppress(ValueError, AttributeError):
            return orjson.loads(self.record(run_id)).get(name)
        return None

    def is_sealed(self, run_id: str) -> bool:
        """Whether a run was saved with seals: its record says so, or its trials or its end have one."""
        if self.record_field(run_id, "sealed") is True:
            return True
        return bool(self._db.execute(_HAS_SEALS, (run_id, run_id)).fetchone()[0])

    def blob(self, address: str) -> tuple[BlobState, bytes]:
        """Hash a blob against its name."""
        row = self._first("SELECT data FROM blobs WHERE sha256 = ?", address)
        if row is None:
            return "missing", b""
        data = as_bytes(row[0])
        return ("intact" if hashlib.sha256(data).hexdigest() == address else "changed"), data

    def deleted(self, run_id: str, task: str | None) -> list[Attempt]:
        """Find seals whose trial is gone."""
        query = f"{_DELETED}{_only(task, 's')} ORDER BY task, trial, attempt"
        return [Attempt(*row) for row in self._db.execute(query, _values(run_id, task))]

    def trials_digest(self, run_id: str, end: EndSeal) -> bytes:
        """Hash the seals of all trials; of a run that was resumed, of those that it had then."""
        only = " AND coalesce(s.number, 0) <= ?" if end.status == "active" else ""
        rows = self._db.stream(
            "SELECT t.task, t.trial, t.attempt, s.seal FROM task_runs AS t LEFT JOIN trial_seals AS s ON"
            " s.run_id = t.run_id AND s.task = t.task AND s.trial = t.trial AND s.attempt = t.attempt"
            f" WHERE t.run_id = ?{only} ORDER BY t.task, t.trial, t.attempt",
            (run_id, *((end.number,) if only else ())),
        )
        return trials_digest((Attempt(*row[:3]), as_bytes(row[3])) for row in rows)

    def added_code(self) -> list[tuple[str, str]]:
        """List the triggers and views in the store, by kind and name. We make none: they change what is read."""
        return self._db.added_code()

    def _first(self, query: str, *values: Any) -> Any:
        return self._db.execute(query, values).fetchone()


def _only(task: str | None, table: str = "t") -> str:
    return f" AND {table}.task = ?" if task is not None else ""


def _values(run_id: str, task: str | None) -> tuple[str, ...]:
    return (run_id,) if task is None else (run_id, task)
