"""Saving of trials in SQLite and in PostgreSQL, side by side.

The same finished trial is saved again and again: alone, 16 together, and by several processes, each with
a run of its own. The server is started for it, with its default durability: a commit is on the disk.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.table import print_table, seconds
from clerkship.actors.python import PythonSolver
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.model.run import Attempt
from clerkship.model.store_place import PostgresAddress, parse_store_place
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.store.opening import open_store
from clerkship.store.sql import SqlStore
from tests.postgres_server import serve_postgres

HEAD = ("store", "trials", "one at a time", "16 together", "processes", "all of them", "check of seals")
TASK = """
environment: {name: desk, simulators: {drop: {kind: files}}}
task: {name: Write, criteria: [{label: a, assertion: {file_present: a.txt}}]}
"""


class Saved:
    """A trial as the engine passes it to the store."""

    def __init__(self, first: Any, log: bytes, sidecar: bytes, trial: int) -> None:
        self.task_run = first.model_copy(update={"trial": trial})
        self.log, self.sidecar, self.blobs = log, sidecar, dict[str, bytes]()


def write_file(task_item: Any, sandboxes: Any) -> None:
    """Write three files, as an agent of a small task does."""
    for name in "abc":
        sandboxes["drop"].write(f"{name}.txt", name.encode() * 100)


def execute_first(folder: Path, store: SqlStore) -> Callable[[int], Saved]:
    """Execute one trial of a run; return a function that builds others like it."""
    (folder / "suite").mkdir(exist_ok=True)
    (folder / "suite" / "task.yml").write_text(TASK)
    catalog = RegisteredCatalog()
    request = RunRequest(path=folder / "suite", agent=PythonSolver("write", write_file))
    plan = plan_run(request, Settings(), catalog)
    run = execute(plan, store, catalog).run
    [first] = store.task_runs(run.id)
    log, sidecar = b"\n".join(store.log(first)), store.sidecar(first)
    return lambda trial: Saved(first, log, sidecar, trial)


def save(store: SqlStore, build: Callable[[int], Saved], numbers: range, together: int) -> float:
    """Begin and save trials as a run does; return the seconds."""
    run_id = build(2).task_run.run
    ledger = store.ledger(run_id)
    trials = [build(number) for number in numbers]
    with store.hold(run_id) as hold:
        began = time.perf_counter()
        for first in range(0, len(trials), together):
            several = trials[first : first + together]
            for each in several:
                hold.begin(Attempt(each.task_run.task, each.task_run.trial, 1))
            ledger.add(store.save(several, ledger.last))
        return time.perf_counter() - began


def measure(place: str, trials: int, processes: int) -> tuple[str, ...]:
    """Return a row of the table."""
    with tempfile.TemporaryDirectory() as name, open_store(Settings(), place, create=True) as store:
        build = execute_first(Path(name), store)
        alone = save(store, build, range(2, trials + 2), 1)
        together = save(store, build, range(trials + 2, 2 * trials + 2), 16)
        run_id = build(2).task_run.run
        store.mark(run_id, "completed", "2026-03-02T09:00:00+00:00")
        began = time.perf_counter()
        assert not store.check_seals(run_id).is_changed
        checked = time.perf_counter() - began
        words = [sys.executable, "-m", "benchmarks.stores", "--saver", place, "--trials", str(trials)]
        savers = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(processes)]
        for saver in savers:
            assert saver.stdout is not None
            saver.stdout.readline()
        began = time.perf_counter()
        for saver in savers:
            saver.communicate(b"go\n", timeout=600)
            assert saver.returncode == 0
        taken = time.perf_counter() - began
    kind = "PostgreSQL" if isinstance(parse_store_place(place), PostgresAddress) else "SQLite"
    rates = (f"{trials / alone:,.0f} per second", f"{trials / together:,.0f} per second")
    return (
        kind,
        f"{trials:,}",
        *rates,
        str(processes),
        f"{processes * trials / taken:,.0f} per second",
        seconds(checked),
    )


def save_when_told(place: str, trials: int) -> None:
    """Save trials to a run of its own, one at a time, when a line arrives."""
    with tempfile.TemporaryDirectory() as name, open_store(Settings(), place) as store:
        build = execute_first(Path(name), store)
        print("ready", flush=True)
        sys.stdin.readline()
        save(store, build, range(2, trials + 2), 1)


def measure_both(trials: int, processes: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each database."""
    with tempfile.TemporaryDirectory() as name, serve_postgres() as server:
        for place in (str(Path(name, "store.db")), server.new_database()):
            yield measure(place, trials, processes)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--saver", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("CLERKSHIP_CACHE", cache)
        if options.saver is not None:
            save_when_told(options.saver, options.trials)
        else:
            print_table(HEAD, measure_both(options.trials, options.processes))


if __name__ == "__main__":
    main()
