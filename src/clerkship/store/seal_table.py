"""The tables of seals in SQLite: writing them, and checking a run against them."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from clerkship.model.run import Attempt, Counts
from clerkship.model.seals import SealChange, SealCheck
from clerkship.store.seal import (
    ChainEnd,
    EndSeal,
    Ledger,
    RunSeal,
    SealKey,
    TrialSeal,
    Validity,
    as_bytes,
    digest,
    trials_digest,
)

SEALS = """
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
PAGE = 200
"""Trials whose records are read at once."""
MAX_REMEMBERED = 10_000
"""Blobs known to be intact; each is hashed once as long as there are no more."""
_FIRST = ("", -(2**63), -(2**63))
_SEAL_COLUMNS = ", ".join(f"s.{name}" for name in ("run_id", *TrialSeal._fields[1:]))
_TRIALS = (
    "SELECT t.id, ifnull(r.graded, t.id), t.task, t.trial, t.attempt, t.status, t.verdict, t.agent_error, t.record,"
    f" t.sidecar, {_SEAL_COLUMNS} FROM task_runs AS t LEFT JOIN regraded AS r ON r.task_run = t.id"
    " LEFT JOIN trial_seals AS s ON s.run_id = t.run_id AND s.task = t.task AND s.trial = t.trial"
    " AND s.attempt = t.attempt WHERE t.run_id = ? AND (t.task, t.trial, t.attempt) > (?, ?, ?)"
)
_DELETED = (
    "SELECT task, trial, attempt FROM trial_seals AS s WHERE run_id = ? AND NOT EXISTS (SELECT 1 FROM task_runs AS t"
    " WHERE t.run_id = s.run_id AND t.task = s.task AND t.trial = s.trial AND t.attempt = s.attempt)"
)
_HAS_SEALS = (
    "SELECT EXISTS (SELECT 1 FROM trial_seals WHERE run_id = :run) OR EXISTS (SELECT 1 FROM end_seals"
    " WHERE run_id = :run)"
)
_OWN = 10
"""Columns of `_TRIALS` before those of the seal."""
Segments = Callable[[int], Iterable[tuple[int, bytes]]]
"""The segments of a log by the row of its trial, each with the number of its first line."""
BlobState = Literal["intact", "changed", "missing"]


class SealTable:
    """The seals of one store. The tables are missing in a store of an older version that may not be written."""

    def __init__(self, database: sqlite3.Connection, key: SealKey, segments: Segments, *, exists: bool) -> None:
        self._db = database
        self.key = key
        self._segments = segments
        self._exists = exists

    def add_run(self, run_id: str, record: bytes) -> None:
        seal = RunSeal(run_id, digest(record)).sealed(self.key)
        self._db.execute("INSERT OR REPLACE INTO run_seals VALUES (?, ?, ?, ?)", seal)

    def add_trials(self, seals: Iterable[TrialSeal], after: ChainEnd) -> list[TrialSeal]:
        """Seal trials as the next of a run, and keep their seals; one that is there already is replaced."""
        sealed: list[TrialSeal] = []
        for seal in seals:
            sealed.append(seal.sealed(self.key, after))
            after = ChainEnd(sealed[-1].number, sealed[-1].seal)
        places = ", ".join("?" * len(TrialSeal._fields))
        self._db.executemany(f"INSERT OR REPLACE INTO trial_seals VALUES ({places})", sealed)
        return sealed

    def add_end(self, mark: int, run_id: str, status: str, at: str, ledger: Ledger) -> None:
        """Seal a mark of a run: that it ended, or that it was resumed."""
        counts = orjson.dumps(ledger.counts().model_dump(), option=orjson.OPT_SORT_KEYS)
        seal = EndSeal(mark, run_id, status, at, counts, ledger.digest(), ledger.last.number).sealed(self.key)
        self._db.execute("INSERT OR REPLACE INTO end_seals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", seal)

    def log_digest(self, row: int) -> bytes:
        """Hash a trial's log a segment at a time; a segment at another place gives another digest."""
        found, line = hashlib.sha256(), 1
        for first, data in self._segments(row):
            content = as_bytes(data)
            found.update(b"\n" if line > 1 else b"")
            found.update(b"" if first == line else b"misplaced")
            found.update(content)
            line += content.count(b"\n") + 1
        return found.digest()

    def trial_seal(self, run_id: str, place: Attempt) -> TrialSeal | None:
        """Return the seal of one attempt."""
        if not self._exists:
            return None
        query = (
            f"SELECT {_SEAL_COLUMNS} FROM trial_seals AS s WHERE run_id = ? AND task = ? AND trial = ? AND attempt = ?"
        )
        row = self._db.execute(query, (run_id, *place)).fetchone()
        return TrialSeal(*row) if row else None

    def ledger(self, run_id: str) -> Ledger:
        """Load the seals of a run; for a trial that has none, take the digests of what the store has now."""
        found = Ledger(self._run_seal(run_id))
        found.add(sealed or self._now(run_id, row) for row, sealed in self._rows(run_id, None))
        return found

    def check(self, run_id: str, counts: Counts, *, task: str | None = None, ledger: Ledger | None = None) -> SealCheck:
        """Check a run, or one task of it, against its seals; with a ledger, against what is kept in memory.

        `counts` are those of the store now.
        """
        check = self._begin_check(run_id)
        run_seal = self._check_record(check, ledger)
        self._check_plan(check)
        seen = set[Attempt]()
        for row, sealed in self._rows(run_id, task):
            seen.add(Attempt(*row[2:5]))
            self._check_trial(check, row, sealed, run_seal, ledger)
        deleted = sorted(ledger.trials.keys() - seen) if ledger is not None else self._deleted(run_id, task)
        for place in deleted:
            check.add(place, ["deleted"])
        self._check_end(check, counts, run_seal, with_trials=task is None and ledger is None)
        return check.result()

    def check_head(self, run_id: str, counts: Counts) -> SealCheck:
        """Check a run's record, its status and its counts; no trial is read."""
        check = self._begin_check(run_id)
        self._check_end(check, counts, self._check_record(check, None), with_trials=False)
        return check.result()

    def check_plan(self, run_id: str) -> SealCheck:
        """Check a run's record and the plan that it names."""
        check = self._begin_check(run_id)
        self._check_record(check, None)
        self._check_plan(check)
        return check.result()

    def _begin_check(self, run_id: str) -> "_SealFindings":
        """Begin with what is wrong whatever the records are: triggers and views in the store."""
        check = _SealFindings(run_id, self.key)
        check.add(None, [f"the store has a {kind} `{name}`" for kind, name in self.added_code()])
        return check

    def added_code(self) -> list[tuple[str, str]]:
        """List the triggers and views in the store, by kind and name. We make none: they change what is read."""
        query = "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view') ORDER BY name LIMIT 20"
        return [(str(kind), str(name)) for kind, name in self._db.execute(query)]

    def _rows(self, run_id: str, task: str | None) -> Iterator[tuple[Any, TrialSeal | None]]:
        """Yield each trial as the store has it now, with its seal; a page at a time."""
        only = " AND t.task = ?" if task is not None else ""
        query = _TRIALS if self._exists else _without_seals(_TRIALS)
        query = f"{query}{only} ORDER BY t.task, t.trial, t.attempt LIMIT {PAGE}"
        place: tuple[Any, ...] = _FIRST
        while rows := self._db.execute(query, (run_id, *place, *((task,) if task is not None else ()))).fetchall():
            for row in rows:
                yield row, TrialSeal(*row[_OWN:]) if row[_OWN] is not None else None
            place = rows[-1][2:5]

    def _now(self, run_id: str, row: Any) -> TrialSeal:
        """Take the digests of a trial as the store has it now."""
        _, logged, task, trial, attempt, status, verdict, agent_error, record, sidecar = row[:_OWN]
        log = self.log_digest(logged)
        outcome = (status, verdict, agent_error)
        return TrialSeal(run_id, task, trial, attempt, *outcome, digest(record), digest(sidecar), log, "", "")

    def _run_seal(self, run_id: str) -> RunSeal | None:
        if not self._exists:
            return None
        row = self._db.execute("SELECT run_id, record, key, seal FROM run_seals WHERE run_id = ?", (run_id,)).fetchone()
        return RunSeal(*row) if row else None

    def _record(self, run_id: str) -> Any:
        row = self._db.execute("SELECT record FROM runs WHERE id = ?", (run_id,)).fetchone()
        return row[0] if row else b""

    def _field(self, run_id: str, name: str) -> Any:
        """Return a field of a run's record; None if it has none, or cannot be parsed."""
        with suppress(ValueError, AttributeError):
            return orjson.loads(self._record(run_id)).get(name)
        return None

    def _check_record(self, check: "_SealFindings", ledger: Ledger | None) -> RunSeal | None:
        """Check the run's own record; return its seal, if it has one."""
        stored = self._run_seal(check.run)
        expected = ledger.run if ledger is not None else stored
        check.must_be_sealed = expected is not None or self._is_sealed(check.run)
        if expected is None:
            check.add_unsealed(None, "seal (removed)")
            return None
        parts = ["record"] if digest(self._record(check.run)) != expected.record else []
        if ledger is None:
            parts += check.verify(expected.key, expected.seal, expected.parts())
        elif stored != expected:
            parts.append("seal")
        check.add(None, parts)
        return expected

    def _is_sealed(self, run_id: str) -> bool:
        """Whether a run was saved with seals: its record says so, or its trials or its end have one."""
        if self._field(run_id, "sealed") is True:
            return True
        return self._exists and bool(self._db.execute(_HAS_SEALS, {"run": run_id}).fetchone()[0])

    def _check_plan(self, check: "_SealFindings") -> None:
        plan = self._field(check.run, "plan")
        if plan and self._blob_state(check, plan) != "intact":
            check.add(None, ["plan"])

    def _check_trial(
        self,
        check: "_SealFindings",
        row: Any,
        stored: TrialSeal | None,
        run_seal: RunSeal | None,
        ledger: Ledger | None,
    ) -> None:
        place = Attempt(*row[2:5])
        expected = stored if ledger is None else ledger.trials.get(place)
        if expected is None and ledger is not None:
            check.add(place, ["added"])
        elif expected is None:
            check.add_unsealed(place, "added, or its seal was removed")
        else:
            parts = expected.changes_to(self._now(check.run, row))
            parts += self._check_blobs(check, expected)
            parts += self._check_seal(check, expected, stored, run_seal, ledger)
            check.add(place, parts)

    def _check_seal(
        self,
        check: "_SealFindings",
        expected: TrialSeal,
        stored: TrialSeal | None,
        run_seal: RunSeal | None,
        ledger: Ledger | None,
    ) -> list[str]:
        """Check the seal itself: as it was made, or in a run of one key not with another or without one."""
        if ledger is not None:
            return ["seal"] if expected.seal and stored != expected else []
        return _sealed_alike(expected, run_seal) or check.verify(expected.key, expected.seal, expected.parts())

    def _check_blobs(self, check: "_SealFindings", sealed: TrialSeal) -> list[str]:
        found = []
        for blob in sealed.blobs.split():
            state = self._blob_state(check, blob)
            found += [f"blob {blob[:12]} ({state})"] if state != "intact" else []
        if sealed.snapshot:
            found += self._check_snapshot(check, sealed.snapshot)
        return found

    def _check_snapshot(self, check: "_SealFindings", address: str) -> list[str]:
        """Check the snapshot of a task, and the datasets that it names; once for all its trials."""
        if address not in check.snapshots:
            state, data = self._blob(address)
            found = [f"snapshot ({state})"] if state != "intact" else []
            datasets = orjson.loads(data).get("datasets", {}) if state == "intact" else {}
            states = ((name, self._blob_state(check, blob)) for name, blob in datasets.items())
            found += [f"dataset {name} ({state})" for name, state in states if state != "intact"]
            check.snapshots[address] = found
        return check.snapshots[address]

    def _blob_state(self, check: "_SealFindings", address: str) -> BlobState:
        if address in check.intact:
            return "intact"
        state = self._blob(address)[0]
        if state == "intact":
            if len(check.intact) >= MAX_REMEMBERED:
                check.intact.clear()
            check.intact.add(address)
        return state

    def _blob(self, address: str) -> tuple[BlobState, bytes]:
        """Hash a blob against its name."""
        row = self._db.execute("SELECT data FROM blobs WHERE sha256 = ?", (address,)).fetchone()
        if row is None:
            return "missing", b""
        data = as_bytes(row[0])
        return ("intact" if hashlib.sha256(data).hexdigest() == address else "changed"), data

    def _deleted(self, run_id: str, task: str | None) -> list[Attempt]:
        """Find seals whose trial is gone."""
        if not self._exists:
            return []
        only = " AND task = ?" if task is not None else ""
        query = f"{_DELETED}{only} ORDER BY task, trial, attempt"
        rows = self._db.execute(query, (run_id, *((task,) if task is not None else ())))
        return [Attempt(*row) for row in rows]

    def _check_end(
        self, check: "_SealFindings", counts: Counts, run_seal: RunSeal | None, *, with_trials: bool
    ) -> None:
        """Check the status of a run, its counts, and that no trial is missing.

        Stop at the first change: one that is named already also changes the counts and the chain.
        """
        end = self._end(check.run)
        self._check_mark(check, end, run_seal)
        if end is not None and not check.changes:
            self._check_ended_with(check, end, counts, with_trials=with_trials)
        if with_trials and not check.changes:
            self._check_chain(check)

    def _check_mark(self, check: "_SealFindings", end: EndSeal | None, run_seal: RunSeal | None) -> None:
        """Check that the last mark of a run, which is its status, is the one that was sealed last."""
        last = "SELECT id, status, at FROM run_marks WHERE run_id = ? ORDER BY id DESC LIMIT 1"
        mark = self._db.execute(last, (check.run,)).fetchone() if self._exists else None
        if end is None:
            if run_seal is not None and mark is not None:
                check.add(None, [f"status ({mark[1]}, without a seal)"])
            return
        check.add(None, _sealed_alike(end, run_seal) or check.verify(end.key, end.seal, end.parts()))
        if mark is None or mark != (end.mark, end.status, end.at):
            check.add(None, [f"status (was {end.status}, is {mark[1] if mark else 'active'})"])

    def _check_ended_with(self, check: "_SealFindings", end: EndSeal, counts: Counts, *, with_trials: bool) -> None:
        """Check the trials that a run ended with; of one that was resumed, those that it had then."""
        ended_with = Counts.model_validate_json(end.counts)
        if end.status != "active" and ended_with != counts:
            check.add(None, [f"counts (were {_in_words(ended_with)}; are {_in_words(counts)})"])
        elif with_trials and self._trials_digest(check.run, end) != end.trials:
            check.add(None, ["seals of its trials"])

    def _check_chain(self, check: "_SealFindings") -> None:
        """Check that the trials of a run are all there, up to the last: each seal covers the one before it."""
        if not self._exists:
            return
        query = "SELECT number, before, seal FROM trial_seals WHERE run_id = ? ORDER BY number"
        expected, last = 1, b""
        for number, before, seal in self._db.execute(query, (check.run,)):
            if (number, before) != (expected, last):
                check.add(None, [f"seals of its trials (number {expected} is missing, or not the one that was saved)"])
                return
            expected, last = expected + 1, seal

    def _end(self, run_id: str) -> EndSeal | None:
        """Return the last seal of a run's end or resumption."""
        if not self._exists:
            return None
        query = "SELECT mark, run_id, status, at, counts, trials, number, key, seal FROM end_seals WHERE run_id = ?"
        row = self._db.execute(f"{query} ORDER BY mark DESC LIMIT 1", (run_id,)).fetchone()
        return EndSeal(*row) if row else None

    def _trials_digest(self, run_id: str, end: EndSeal) -> bytes:
        """Hash the seals of all trials; of a run that was resumed, of those that it had then."""
        only = " AND ifnull(s.number, 0) <= ?" if end.status == "active" else ""
        rows = self._db.execute(
            "SELECT t.task, t.trial, t.attempt, s.seal FROM task_runs AS t LEFT JOIN trial_seals AS s ON"
            " s.run_id = t.run_id AND s.task = t.task AND s.trial = t.trial AND s.attempt = t.attempt"
            f" WHERE t.run_id = ?{only} ORDER BY t.task, t.trial, t.attempt",
            (run_id, *((end.number,) if only else ())),
        )
        return trials_digest((Attempt(*row[:3]), as_bytes(row[3])) for row in rows)


def _without_seals(query: str) -> str:
    """Make a query for a store that has no seals."""
    begin, end = query.index(" LEFT JOIN trial_seals"), query.index(" WHERE")
    return (query[:begin] + query[end:]).replace(_SEAL_COLUMNS, "NULL")


def _sealed_alike(seal: TrialSeal | EndSeal, run_seal: RunSeal | None) -> list[str]:
    """All seals of a run are made with one key, or all without."""
    is_alike = run_seal is None or seal.key == run_seal.key
    return [] if is_alike else ["seal (not made with the key of the run)"]


def _in_words(counts: Counts) -> str:
    outcomes = counts.verdicts or counts.statuses
    return ", ".join(f"{number} {name}" for name, number in sorted(outcomes.items())) or "no trials"


@dataclass
class _SealFindings:
    """What one check has found so far."""

    run: str
    key: SealKey
    changes: dict[Attempt | None, list[str]] = field(default_factory=dict)
    must_be_sealed: bool = False
    """Whether a missing seal is a change: the run has any seal, or its record says that it was saved with seals."""
    unsealed: int = 0
    unverified: dict[Validity, int] = field(default_factory=dict)
    intact: set[str] = field(default_factory=set)
    snapshots: dict[str, list[str]] = field(default_factory=dict)

    def add(self, place: Attempt | None, parts: list[str]) -> None:
        if parts:
            self.changes.setdefault(place, []).extend(parts)

    def add_unsealed(self, place: Attempt | None, part: str) -> None:
        """Note a missing seal: a change, or no finding in a run of an older version."""
        if self.must_be_sealed:
            self.add(place, [part])
        else:
            self.unsealed += 1

    def verify(self, fingerprint: str, seal: bytes, parts: Iterable[bytes]) -> list[str]:
        validity = self.key.verify(fingerprint, as_bytes(seal), parts)
        self.unverified[validity] = self.unverified.get(validity, 0) + 1
        return ["seal"] if validity == "broken" else []

    def result(self) -> SealCheck:
        return SealCheck(
            run=self.run,
            changes=tuple(_change(place, parts) for place, parts in self.changes.items()),
            unsealed=self.unsealed,
            unkeyed=self.unverified.get("unkeyed", 0),
            locked=self.unverified.get("locked", 0),
            other_key=self.unverified.get("other_key", 0),
            has_key=bool(self.key.fingerprint),
        )


def _change(place: Attempt | None, parts: list[str]) -> SealChange:
    if place is None:
        return SealChange(parts=tuple(parts))
    trial, attempt = (number if isinstance(number, int) else 0 for number in place[1:])
    return SealChange(task=str(place.task), trial=trial, attempt=attempt, parts=tuple(parts))
