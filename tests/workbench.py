"""A folder in which tests write files and run them."""

import os
import sqlite3
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any, ClassVar

import orjson

from clerkship.actors.contract import Solver
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.events.evidence import Evidence
from clerkship.model.run import CriterionRun, TaskRun
from clerkship.sandbox.assertion import Assertion, Check
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import RunResult, execute
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore


def written(task_run: TaskRun) -> list[CriterionRun]:
    """Return the criteria of a task's file, without the implied gate."""
    return [criterion for criterion in task_run.criteria if not criterion.is_implied]


class Breaks(Assertion):
    """An assertion with a bug, which makes its criterion an error and affects nothing else."""

    name: ClassVar[str] = "breaks"

    def check(self, evidence: Evidence) -> Check:
        raise ZeroDivisionError("a bug of ours")


CATALOG = RegisteredCatalog()
CATALOG.assertions.add(Breaks.name, Breaks)


def get_dataset_cache() -> Path:
    """Return the folder of validated datasets that all tests of this process share."""
    return Path(os.environ["CLERKSHIP_CACHE"])


SEAL_TABLES = ("run_seals", "trial_seals", "end_seals")
LATER_TABLES = (*SEAL_TABLES, "run_labels")
"""Tables that stores of version 3 did not have."""
NOT_SEALED = """UPDATE runs SET record = CAST(replace(record, '"sealed":true', '"sealed":false') AS BLOB)"""


def unseal(database: sqlite3.Connection) -> None:
    """Remove all seals, so that the runs of a store look as if an older version had saved them."""
    for table in SEAL_TABLES:
        database.execute(f"DELETE FROM {table}")
    database.execute(NOT_SEALED)


class Workbench:
    """Write files, run them and read the results."""

    def __init__(self, folder: Path, store: Any = None) -> None:
        self.folder = folder / "suite"
        self.folder.mkdir(parents=True, exist_ok=True)
        if store is None:
            store = SqliteStore(folder / "store.db")
            weakref.finalize(self, store.close)
        self.store: SqliteStore = store
        """Of another class where a test is for both databases."""
        self.result: RunResult | None = None

    def write(self, name: str, text: str) -> Path:
        """Write a file in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def run(
        self, agent: Callable[..., Any] | type | str | Solver, settings: Settings | None = None, **options: Any
    ) -> list[TaskRun]:
        """Run the tasks of the folder with a function, a class or a named agent."""
        solver: Any = PythonSolver("agent", agent) if isinstance(agent, type) or callable(agent) else agent
        used = replace(settings or Settings(), timeout=20, cache=get_dataset_cache())
        plan = plan_run(RunRequest(path=self.folder, agent=solver, **options), used, CATALOG)
        self.result = execute(plan, self.store, CATALOG)
        return self.store.task_runs(self.result.run.id)

    def run_one(self, agent: Callable[..., Any] | type | str | Solver, **options: Any) -> TaskRun:
        """Run the only task of the folder."""
        [task_run] = self.run(agent, **options)
        return task_run

    def exit_code(self) -> int:
        """Return the exit code that the command line would have."""
        assert self.result is not None
        return self.result.exit_code()

    def events(self, task_run: TaskRun) -> list[dict[str, Any]]:
        """Return the log as data."""
        return [orjson.loads(line) for line in self.store.log(task_run)]

    def kinds(self, task_run: TaskRun) -> list[str]:
        """Return the kinds of the events, in order."""
        return [event["kind"] for event in self.events(task_run)]
