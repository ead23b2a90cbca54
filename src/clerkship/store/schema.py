"""The tables of a store, and the steps from each version to the next and back, for SQLite and PostgreSQL.

Each script stands once, in SQLite's types. See docs/decisions/0049-postgresql.md.
"""

from typing import NamedTuple

VERSION = 6
READABLE = (2, 3, 4, 5, VERSION)
"""Versions that can be read without an upgrade, where nothing may be written."""
SHARED_MARKS = 6
"""The first version in which marks of two runs may have the same number."""
OLDEST_BACK = 2
"""The oldest version that a store can be taken back to."""
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
_LABELS = """
CREATE TABLE run_labels (run_id TEXT PRIMARY KEY, label TEXT NOT NULL);
"""
_END_COLUMNS = "mark, run_id, status, at, counts, trials, number, key, seal"
_MARKS_BY_RUN = f"""
ALTER TABLE run_marks RENAME TO former_marks;
CREATE TABLE run_marks (
  id INTEGER NOT NULL, run_id TEXT NOT NULL, status TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (run_id, id)
) WITHOUT ROWID;
INSERT INTO run_marks (id, run_id, status, at) SELECT id, run_id, status, at FROM former_marks;
DROP TABLE former_marks;
CREATE INDEX run_marks_by_number ON run_marks (id);
ALTER TABLE end_seals RENAME TO former_seals;
CREATE TABLE end_seals (
  mark INTEGER NOT NULL, run_id TEXT NOT NULL, status TEXT NOT NULL, at TEXT NOT NULL, counts BLOB NOT NULL,
  trials BLOB NOT NULL, number INTEGER NOT NULL, key TEXT NOT NULL, seal BLOB NOT NULL, PRIMARY KEY (run_id, mark)
) WITHOUT ROWID;
INSERT INTO end_seals ({_END_COLUMNS}) SELECT {_END_COLUMNS} FROM former_seals;
DROP TABLE former_seals;
"""
_MARKS_TOGETHER = f"""
ALTER TABLE run_marks RENAME TO former_marks;
CREATE TABLE run_marks (id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, status TEXT NOT NULL, at TEXT NOT NULL);
INSERT INTO run_marks (id, run_id, status, at) SELECT id, run_id, status, at FROM former_marks;
DROP TABLE former_marks;
CREATE INDEX run_marks_by_run ON run_marks (run_id, id);
ALTER TABLE end_seals RENAME TO former_seals;
CREATE TABLE end_seals (
  mark INTEGER PRIMARY KEY, run_id TEXT NOT NULL, status TEXT NOT NULL, at TEXT NOT NULL, counts BLOB NOT NULL,
  trials BLOB NOT NULL, number INTEGER NOT NULL, key TEXT NOT NULL, seal BLOB NOT NULL
);
INSERT INTO end_seals ({_END_COLUMNS}) SELECT {_END_COLUMNS} FROM former_seals;
DROP TABLE former_seals;
CREATE INDEX end_seals_by_run ON end_seals (run_id, mark);
"""


class Migration(NamedTuple):
    """The step to a version from the one before, and back."""

    version: int
    forward: str
    back: str
    loses: str = ""
    """What is deleted by the step back."""
    adds_tables: bool = True
    """Whether it only adds tables: a store of the version before is then read as one in which they are empty."""


MIGRATIONS = (
    Migration(3, _CALIBRATIONS, "DROP TABLE calibrations", "calibrations"),
    Migration(4, _SEALS, "DROP TABLE run_seals;\nDROP TABLE trial_seals;\nDROP TABLE end_seals", "seals"),
    Migration(5, _LABELS, "DROP TABLE run_labels", "labels"),
    Migration(6, _MARKS_BY_RUN, _MARKS_TOGETHER, adds_tables=False),
)
"""In order. Version 2 is the first that PostgreSQL has. Version 3 has calibrations of judges, 4 seals, 5 labels. In 6
marks of two runs may have the same number, so that runs can be copied: numbers are sealed."""
_BEGINNINGS = {0: _FIRST + _ATTEMPTS, 1: _ATTEMPTS + _FROM_FIRST}
"""How a new store, and one from before runs could be resumed, become version 2."""


def split_script(script: str) -> list[str]:
    """Return the statements of a script."""
    return [part for part in script.split(";\n") if part.strip()]


def upgrade(version: int) -> list[str] | None:
    """Return the statements that upgrade a store of this version; None for an unknown version."""
    if version not in range(VERSION + 1):
        return None
    later = (step.forward for step in MIGRATIONS if step.version > version)
    return [statement for script in (_BEGINNINGS.get(version, ""), *later) for statement in split_script(script)]


def take_back(version: int, wanted: int) -> list[str]:
    """Return the statements that take a store back from one version to an earlier one."""
    steps = [step.back for step in reversed(MIGRATIONS) if wanted < step.version <= version]
    return [statement for script in steps for statement in split_script(script)]


def list_losses(version: int, wanted: int) -> list[str]:
    """Return what is deleted when a store is taken back."""
    return [step.loses for step in MIGRATIONS if wanted < step.version <= version and step.loses]


def substitutes(version: int) -> list[str]:
    """Return the statements that create the missing tables of a readable version as empty temporary tables."""
    added = [step.forward for step in MIGRATIONS if step.version > version and step.adds_tables]
    return [
        statement.replace("CREATE TABLE", "CREATE TEMP TABLE") for script in added for statement in split_script(script)
    ]
