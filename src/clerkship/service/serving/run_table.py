"""The server's own facts about runs: who started them, and which task runs they have.

Records of runs, verdicts and logs are in the run store. The API's ids of task runs are kept here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Protocol

from clerkship.model.run import Verdict
from clerkship.model.server_objects import Phase, RunState
from clerkship.service.serving.database import ListPage, ListRequest, ServerDatabase
from clerkship.service.serving.refusals import ObjectNotFound

TABLES = """
CREATE TABLE served_runs (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, benchmark TEXT NOT NULL, digest TEXT NOT NULL,
  agent TEXT NOT NULL, scored INTEGER NOT NULL, solver TEXT, phase TEXT NOT NULL, status TEXT NOT NULL,
  created_at TEXT NOT NULL, expires_at TEXT NOT NULL, verdict TEXT, score REAL
);
CREATE INDEX served_runs_by_solver ON served_runs (solver, number);
CREATE INDEX served_runs_by_benchmark ON served_runs (benchmark, number);
CREATE INDEX served_runs_open ON served_runs (phase) WHERE phase != 'completed';
CREATE TABLE served_tasks (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run TEXT NOT NULL, task TEXT NOT NULL, trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL, phase TEXT NOT NULL, started_at TEXT, completed_at TEXT
);
CREATE INDEX served_tasks_by_run ON served_tasks (run, number);
"""

_RUN_COLUMNS = "id, benchmark, digest, agent, scored, solver, phase, status, created_at, expires_at, verdict, score"
_RUN = f"SELECT {_RUN_COLUMNS} FROM served_runs"
_TASK = "SELECT id, run, task, trial, attempt, phase, started_at, completed_at FROM served_tasks"


@dataclass(frozen=True)
class ServedRun:
    """A benchmark run that was started through the API."""

    id: str
    benchmark: str
    """Slug and version."""
    digest: str
    agent: str
    """The name of the agent."""
    scored: bool
    """Whether criteria and evidence are hidden from the agent, during the run and after it."""
    solver: str | None
    """The id of the solver whose key started it; None if a person did."""
    phase: Phase
    status: RunState
    created_at: str
    expires_at: str
    """When its token ends, and with it the run."""
    verdict: Verdict | None = None
    score: float | None = None


@dataclass(frozen=True)
class ServedTask:
    """One task run of a benchmark run: a trial of a task."""

    id: str
    run: str
    task: str
    trial: int
    attempt: int
    """The number of the attempt under way, or of the last one: an attempt that the server's end cut off is repeated."""
    phase: Phase
    started_at: str | None = None
    completed_at: str | None = None


class RunTable(Protocol):
    """Where the server's facts about runs are kept."""

    def add(self, run: ServedRun, tasks: Iterable[ServedTask]) -> None:
        """Save a new run with its task runs."""

    def run(self, id: str) -> ServedRun:
        """Return a run. Raise ObjectNotFound."""

    def runs(self, request: ListRequest, *, solver: str | None, benchmark: str | None) -> ListPage[ServedRun]:
        """Return runs, newest first."""

    def remove(self, id: str) -> None:
        """Remove a run with its task runs, if there is one."""

    def unfinished(self) -> list[ServedRun]:
        """Return the runs that have not ended."""

    def count_open(self, solver: str) -> int:
        """Return how many runs of a solver have not ended."""

    def set_run(self, run: ServedRun) -> None:
        """Save phase, status, verdict and score of a run."""

    def task(self, id: str) -> ServedTask:
        """Return a task run. Raise ObjectNotFound."""

    def find_task(self, run: str, task: str, trial: int) -> ServedTask:
        """Return the task run of a trial. Raise ObjectNotFound."""

    def tasks(self, run: str) -> list[ServedTask]:
        """Return the task runs of a run, in their order."""

    def is_done(self, run: str) -> bool:
        """Return whether all task runs of a run have ended."""

    def set_tasks(self, tasks: Sequence[ServedTask]) -> None:
        """Save attempt, phase and times of task runs."""


class SqliteRunTable:
    """The table in the server's SQLite file."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database

    def add(self, run: ServedRun, tasks: Iterable[ServedTask]) -> None:
        """Save a new run with its task runs."""
        rows = [astuple(each) for each in tasks]
        with self._database.write() as connection:
            connection.execute(f"INSERT INTO served_runs ({_RUN_COLUMNS}) VALUES ({', '.join('?' * 12)})", astuple(run))
            connection.executemany(
                "INSERT INTO served_tasks (id, run, task, trial, attempt, phase, started_at, completed_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

    def run(self, id: str) -> ServedRun:
        """Return a run. Raise ObjectNotFound."""
        rows = self._database.read(f"{_RUN} WHERE id = ?", id)
        if not rows:
            raise ObjectNotFound(f"there is no benchmark run {id[:100]}")
        return _build_run(rows[0])

    def runs(
        self, request: ListRequest, *, solver: str | None = None, benchmark: str | None = None
    ) -> ListPage[ServedRun]:
        """Return runs, newest first."""
        page = self._database.read_page("served_runs", _RUN_COLUMNS, request, solver=solver, benchmark=benchmark)
        return page.map(_build_run)

    def remove(self, id: str) -> None:
        """Remove a run with its task runs, if there is one."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM served_tasks WHERE run = ?", (id,))
            connection.execute("DELETE FROM served_runs WHERE id = ?", (id,))

    def unfinished(self) -> list[ServedRun]:
        """Return the runs that have not ended."""
        return [_build_run(row) for row in self._database.read(f"{_RUN} WHERE phase != 'completed' ORDER BY number")]

    def count_open(self, solver: str) -> int:
        """Return how many runs of a solver have not ended."""
        sql = "SELECT count(*) FROM served_runs INDEXED BY served_runs_open WHERE phase != 'completed' AND solver = ?"
        [(number,)] = self._database.read(sql, solver)
        return int(number)

    def set_run(self, run: ServedRun) -> None:
        """Save phase, status, verdict and score of a run."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE served_runs SET phase = ?, status = ?, verdict = ?, score = ? WHERE id = ?",
                (run.phase, run.status, run.verdict, run.score, run.id),
            )

    def task(self, id: str) -> ServedTask:
        """Return a task run. Raise ObjectNotFound."""
        return self._find_task(f"there is no task run {id[:100]}", "id = ?", id)

    def find_task(self, run: str, task: str, trial: int) -> ServedTask:
        """Return the task run of a trial. Raise ObjectNotFound."""
        return self._find_task(f"{run} has no such trial", "run = ? AND task = ? AND trial = ?", run, task, trial)

    def tasks(self, run: str) -> list[ServedTask]:
        """Return the task runs of a run, in their order."""
        return [ServedTask(*row) for row in self._database.read(f"{_TASK} WHERE run = ? ORDER BY number", run)]

    def is_done(self, run: str) -> bool:
        """Return whether all task runs of a run have ended."""
        return not self._database.read("SELECT 1 FROM served_tasks WHERE run = ? AND phase != 'completed' LIMIT 1", run)

    def set_tasks(self, tasks: Sequence[ServedTask]) -> None:
        """Save attempt, phase and times of task runs."""
        rows = [(task.attempt, task.phase, task.started_at, task.completed_at, task.id) for task in tasks]
        with self._database.write() as connection:
            connection.executemany(
                "UPDATE served_tasks SET attempt = ?, phase = ?, started_at = ?, completed_at = ? WHERE id = ?", rows
            )

    def _find_task(self, missing: str, condition: str, *values: object) -> ServedTask:
        rows = self._database.read(f"{_TASK} WHERE {condition}", *values)
        if not rows:
            raise ObjectNotFound(missing)
        return ServedTask(*rows[0])


def _build_run(row: tuple[Any, ...]) -> ServedRun:
    id, benchmark, digest, agent, scored, *others = row
    return ServedRun(id, benchmark, digest, agent, bool(scored), *others)
