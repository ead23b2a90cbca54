"""Measure runs on Temporal: the share of the ideal time, and what the engine costs for each trial.

    python -m benchmarks.temporal [--trials 1000] [--workers 4] [--concurrency 50] [--pause 2] [--file]

The server is Temporal's development server, in memory unless `--file` is given: with a file it waits for the disk. The
workers are processes of `clerkship worker`, all on this machine; agents wait for `--pause` seconds. The ideal is
trials × pause / (workers × concurrency). The times of processors are those of the whole run, without its start.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.processes import cpu_seconds
from benchmarks.table import print_table
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.kit.wall import monotonic, process_time
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.service.temporal.address import TemporalAddress
from clerkship.service.temporal.executor import TemporalExecutor
from clerkship.settings import Settings
from clerkship.store.sqlite import SqliteStore
from tests.clients.temporal.processes import Fleet, open_fleet

SUITE = """
environment: {name: desk, simulators: {drop: {kind: files}}}
tasks:
  - {name: Wait, task_item: {name: Wait}, criteria: [{label: filed, assertion: {file_present: second.txt}}]}
"""


def measure(
    folder: Path, trials: int, workers: int, concurrency: int, pause: float, *, in_memory: bool
) -> Mapping[str, float]:
    """Run trials that wait, and return the seconds that passed and that processors worked."""
    with open_fleet(folder / "fleet", pause=pause, in_memory=in_memory) as fleet:
        (folder / "tasks.yml").write_text(SUITE, encoding="utf-8")
        sys.path.insert(0, str(fleet.folder))  # the agent is found here, too
        fleet.add_workers(workers, concurrency)
        _run(fleet, folder, workers)  # so that each worker has loaded what it needs
        before = _processor_seconds(fleet)
        started = monotonic()
        passed = _run(fleet, folder, trials)
        wall = monotonic() - started
        used = {name: seconds - before[name] for name, seconds in _processor_seconds(fleet).items()}
    ideal = trials * pause / (workers * concurrency)
    return {"trials": trials, "passed": passed, "ideal s": ideal, "wall s": wall, "share": ideal / wall} | {
        f"{name} ms per trial": seconds / trials * 1000 for name, seconds in used.items()
    }


def _run(fleet: Fleet, folder: Path, trials: int) -> int:
    """Run the suite on the fleet, and return how many trials passed."""
    catalog = build_catalog_without_plugins()
    request = RunRequest(path=folder / "tasks.yml", agent="python:clerk_agent:Clerk", trials=trials)
    plan = plan_run(request, Settings(), catalog)
    executor = TemporalExecutor(TemporalAddress.parse(fleet.server.address, "--on"), catalog)
    with SqliteStore(folder / "store.db") as store:
        return execute(plan, store, catalog, executor=executor).counts.passed


def _processor_seconds(fleet: Fleet) -> dict[str, float]:
    workers = sum(cpu_seconds(worker.pid) for worker in fleet.workers)
    return {"server": cpu_seconds(fleet.server.pid), "workers": workers, "client": process_time()}


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--concurrency", type=int, default=50)
    parser.add_argument("--pause", type=float, default=2.0)
    parser.add_argument("--file", dest="in_memory", action="store_false", help="the server keeps its data in a file")
    options = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = measure(Path(folder), **options)
    print_table(("measure", "value"), [(name, f"{value:,.2f}") for name, value in found.items()])


if __name__ == "__main__":
    main()
