"""The tables of a store, their versions, and the statements that upgrade an older store."""

VERSION = 4
READABLE = (2, 3, VERSION)
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
_UPGRADES = {
    0: _FIRST + _ATTEMPTS + _CALIBRATIONS + _SEALS,
    1: _ATTEMPTS + _FROM_FIRST + _CALIBRATIONS + _SEALS,
    2: _CALIBRATIONS + _SEALS,
    3: _SEALS,
    VERSION: "",
}
"""By the version that a store has: 0 is a new one, 1 is from before runs could be resumed, 2 from before judges were
calibrated, 3 from before trials were sealed."""


def upgrade(version: int) -> list[str] | None:
    """Return the statements that upgrade a store of this version; None for an unknown version."""
    statements = _UPGRADES.get(version)
    return None if statements is None else [part for part in statements.split(";\n") if part.strip()]


def substitutes(version: int) -> list[str]:
    """Return the statements that create the missing tables of a readable version as empty temporary tables."""
    return [statement.replace("CREATE TABLE", "CREATE TEMP TABLE") for statement in upgrade(version) or ()]
