"""Measure the engine under load: many trials, high concurrency, many playgrounds, a long log.

    python -m benchmarks.load [--picture docs/load.svg]

Each case runs in its own process, so that its peak memory can be measured.
"""

import argparse
import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.picture import Curve, draw
from benchmarks.processes import ROOT, run_case
from benchmarks.table import print_table
from clerkship.actors.contract import Message
from clerkship.actors.python import PythonSolver
from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.engine.regrade import parse_log
from clerkship.engine.spec import FinishedTrial
from clerkship.events.evidence import Evidence
from clerkship.events.log import open_log
from clerkship.model.environment import Environment, Simulator
from clerkship.model.run import TaskRun
from clerkship.model.snapshot import Plan, Snapshot
from clerkship.model.task import Task
from clerkship.sandbox.request import Request
from clerkship.service.planning.plan import build_run, plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.service.task_view import EventFilter, load_task_view
from clerkship.settings import Settings
from clerkship.simulators import files
from clerkship.simulators.files.events import FileRead
from clerkship.store.seal import ChainEnd
from clerkship.store.sqlite import SqliteStore

TASK = """
task:
  name: Two turns with a pause
  scenario:
    starts: person
    person: {opening: "Hello?", script: [{when: moment, say: Well?}], end: {when: done, say: Thanks.}}
  criteria:
    - label: In order
      assertion: {sequencing: [{event: chat.message.sent, actor: person}, {event: chat.message.sent, actor: agent}]}
"""
PAUSE = 0.05
WAITING = 1_000
"""Trials whose agents wait."""
RowsAndCurves = tuple[Sequence[tuple[str, ...]], list[Curve]]
"""Rows of the table, and curves."""


async def waits(message: Message) -> str:
    """An agent that mostly waits for another service, as most agents do."""
    await asyncio.sleep(PAUSE)
    return "One moment." if message.turn == 1 else "It is done."


def answers(message: Message) -> str:
    """An agent that replies at once."""
    return "One moment." if message.turn == 1 else "It is done."


def peak() -> float:
    """Return the peak memory of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def trials(folder: Path, count: int, at_once: int, agent: Callable[..., Any]) -> dict[str, float]:
    """Run so many trials in one batch with a concurrency."""
    (folder / "suite").mkdir()
    (folder / "suite" / "task.yml").write_text(TASK)
    catalog = RegisteredCatalog()
    request = RunRequest(path=folder / "suite", agent=PythonSolver("agent", agent), trials=count, concurrency=at_once)
    plan = plan_run(request, Settings(), catalog)
    before = peak()
    with SqliteStore(folder / "store.db") as store:
        began = time.perf_counter()
        result = execute(plan, store, catalog)
        taken = time.perf_counter() - began
    assert result.counts.passed == count, result.counts
    return {"seconds": taken, "before": before, "peak": peak()}


def playgrounds(folder: Path, count: int) -> dict[str, float]:
    """Open so many playgrounds at once, and measure a request to one of them."""
    before, began = peak(), time.perf_counter()
    rigs = [SimulatorRig(files.SPEC).__enter__() for _ in range(count)]
    opened = time.perf_counter() - began
    last = rigs[-1]
    last.send(Request("PUT", "/files/a.txt", body=b"hello"))
    began = time.perf_counter()
    for _ in range(1000):
        last.send(Request("GET", "/files/a.txt"))
    request = (time.perf_counter() - began) / 1000
    for rig in rigs:
        rig.__exit__(None, None, None)
    return {"seconds": opened, "request_ms": request * 1000, "before": before, "peak": peak()}


def long_log(folder: Path, count: int) -> dict[str, float]:
    """Measure a log of so many events: store, read in another process, verify and query."""
    write = folder / "long.db"
    wrote = measure(f"write_log:{count}:{write}")
    before = peak()
    with SqliteStore(write) as store:
        [task_run] = store.task_runs(store.run("latest").id)
        began = time.perf_counter()
        view = load_task_view(store, task_run, EventFilter(limit=0))
        checked = time.perf_counter() - began
        assert view.intact
        began = time.perf_counter()
        tail = list(store.log(task_run, after=count - 20))
        sought = time.perf_counter() - began
        assert len(tail) == 20
        streamed = peak()
        catalog = RegisteredCatalog()
        began = time.perf_counter()
        events = parse_log(store.log(task_run), catalog.events, store.blob)
        parsed = time.perf_counter() - began
    evidence = Evidence(task=view.snapshot.task, events=events, states={}, ending="agent_done")
    check = catalog.assertion("event_count").model_validate({"event": "files.file.read", "expected": {"gte": count}})
    began = time.perf_counter()
    assert check.check(evidence).passed
    asked = time.perf_counter() - began
    return {
        "write_seconds": wrote["seconds"],
        "write_peak": wrote["peak"],
        "size_mb": write.stat().st_size / 1e6,
        "checked_seconds": checked,
        "sought_ms": sought * 1000,
        "before": before,
        "streamed_peak": streamed,
        "parsed_seconds": parsed,
        "asked_seconds": asked,
        "peak": peak(),
    }


def write_log(count: int, path: Path) -> dict[str, float]:
    """Write a log of so many events, and store it."""
    began = time.perf_counter()
    log, writer = open_log()
    start = datetime(2026, 3, 2, tzinfo=UTC)
    for number in range(count):
        payload = FileRead(path=f"inbox/{number}.txt", size=number)
        writer.append("drop", payload, actor="agent", at=start + timedelta(seconds=number))
    snapshot = Snapshot(
        task=Task(name="Long"),
        environment=Environment(name="desk", simulators={"drop": Simulator(kind="files")}),
        timeout=1,
    )
    plan = Plan(snapshots=(snapshot.hash,), seed=0, trials=1)
    run = build_run(plan, [snapshot], "agent", name="long")
    task_run = TaskRun(
        run=run.id,
        task="Long",
        status="completed",
        ending="agent_done",
        head=log.head,
        events=count,
        snapshot=snapshot.hash,
    )
    with SqliteStore(path) as store:
        store.open_run(run, {plan.hash: plan.data, snapshot.hash: snapshot.data})
        store.save([FinishedTrial(task_run, log.data(), {}, b"{}")], ChainEnd())
    return {"seconds": time.perf_counter() - began, "peak": peak()}


def stopped(folder: Path, at_once: int) -> dict[str, float]:
    """Return the seconds from Ctrl-C to the end of the command, with so many agents that do not end by themselves."""
    (folder / "suite").mkdir()
    (folder / "suite" / "task.yml").write_text(TASK)
    (folder / "busy.py").write_text(
        "import asyncio, pathlib, os\n"
        "async def agent(message):\n"
        "    pathlib.Path(f'at-{id(message)}').touch()\n"
        "    await asyncio.sleep(600)\n"
    )
    command = [sys.executable, "-m", "clerkship", "run", "suite", "--agent", "python:busy:agent", "--json"]
    process = subprocess.Popen(
        [*command, "-k", str(at_once * 2), "-c", str(at_once)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    until = time.monotonic() + 60
    while len(list(folder.glob("at-*"))) < at_once and time.monotonic() < until:
        time.sleep(0.01)
    began = time.perf_counter()
    process.send_signal(signal.SIGINT)
    code = process.wait()
    assert code == 130, code
    return {"seconds": time.perf_counter() - began, "peak": 0}


CASES: dict[str, Callable[..., dict[str, float]]] = {
    "waiting": lambda folder, count, at_once: trials(folder, int(count), int(at_once), waits),
    "busy": lambda folder, count, at_once: trials(folder, int(count), int(at_once), answers),
    "playgrounds": lambda folder, count: playgrounds(folder, int(count)),
    "long_log": lambda folder, count: long_log(folder, int(count)),
    "write_log": lambda _, count, path: write_log(int(count), Path(path)),
    "stopped": lambda folder, at_once: stopped(folder, int(at_once)),
}


def measure(case: str) -> dict[str, float]:
    """Measure one case in its own process."""
    return run_case("benchmarks.load", case)


def grow_in_trials() -> RowsAndCurves:
    """Measure batches of growing size."""
    found = {size: measure(f"busy:{size}:200") for size in (1_000, 2_000, 5_000, 10_000)}
    rows = [
        (
            f"{size:,} trials, 200 at once",
            f"{case['seconds']:.1f} s ({case['seconds'] / size * 1000:.2f} ms each)",
            f"{case['peak']:.0f} MB",
        )
        for size, case in found.items()
    ]
    return rows, [
        Curve("one batch, 200 at once", "trials", "ms each", {n: c["seconds"] / n * 1000 for n, c in found.items()}),
        Curve("one batch, 200 at once", "trials", "MB at most", {n: c["peak"] for n, c in found.items()}),
    ]


def grow_at_once() -> RowsAndCurves:
    """Measure growing concurrency with agents that wait."""
    found = {at_once: measure(f"waiting:{WAITING}:{at_once}") for at_once in (20, 50, 100, 200)}
    rows = []
    for at_once, case in found.items():
        ideal = WAITING * 2 * PAUSE / at_once
        spent = f"{case['seconds']:.1f} s ({case['seconds'] / ideal:.2f}× the agents' own {ideal:.1f} s)"
        what = f"{WAITING:,} trials with {2 * PAUSE} s of waiting each, {at_once} at once"
        rows.append((what, spent, f"{case['peak']:.0f} MB"))
    rates = {at_once: WAITING / case["seconds"] for at_once, case in found.items()}
    return rows, [Curve(f"{WAITING:,} trials that wait {2 * PAUSE} s", "at once", "trials/s", rates)]


def grow_in_playgrounds() -> RowsAndCurves:
    """Measure growing numbers of open playgrounds."""
    found = {number: measure(f"playgrounds:{number}") for number in (1, 100, 500, 1_000)}
    rows = []
    for number, case in found.items():
        each = (case["peak"] - case["before"]) * 1024 / number
        spent = f"{case['seconds'] * 1000:.0f} ms to open, {case['request_ms']:.3f} ms a request"
        memory = f"{each:.0f} KB each" if number > 1 else f"{case['peak']:.0f} MB"
        rows.append((f"{number:,} playgrounds open together", spent, memory))
    waits = {number: case["request_ms"] for number, case in found.items()}
    return rows, [Curve("playgrounds open together", "playgrounds", "ms a request", waits)]


def grow_in_length() -> RowsAndCurves:
    """Measure logs of growing length."""
    found = {number: measure(f"long_log:{number}") for number in (10_000, 100_000, 300_000)}
    rows: list[tuple[str, ...]] = []
    for number, case in found.items():
        checked = f"{case['checked_seconds']:.2f} s to open and check against its head"
        asked = f"{case['parsed_seconds']:.1f} s to read back as objects, {case['asked_seconds']:.2f} s to count a kind"
        rows += [
            (f"log of {number:,} events, {case['size_mb']:.0f} MB", checked, f"{case['streamed_peak']:.0f} MB"),
            ("… its last 20 events", f"{case['sought_ms']:.1f} ms"),
            ("… a criterion over all of it", asked, f"{case['peak']:.0f} MB"),
            ("… to write and keep it", f"{case['write_seconds']:.1f} s", f"{case['write_peak']:.0f} MB"),
        ]
    return rows, [
        Curve("a long log", "events", "s to open and check", {n: c["checked_seconds"] for n, c in found.items()}),
        Curve("a long log", "events", "MB to open and check", {n: c["streamed_peak"] for n, c in found.items()}),
    ]


def measure_all(curves: list[Curve]) -> Iterator[tuple[str, ...]]:
    """Yield all rows, and add the curves to a list."""
    for grow in (grow_in_trials, grow_at_once, grow_in_playgrounds, grow_in_length):
        rows, drawn = grow()
        yield from rows
        curves += drawn
    stopping = measure("stopped:200")["seconds"]
    yield "Ctrl-C with 200 agents at work: until it has ended", f"{stopping:.2f} s"


def main() -> None:
    """Print the table, and draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--case", help="one case, as JSON")
    parser.add_argument("--picture", type=Path, help="where to draw the curves")
    options = parser.parse_args()
    if options.case:
        name, *values = options.case.split(":")
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(CASES[name](Path(folder), *values)))
        return
    curves: list[Curve] = []
    print_table(("what", "time", "memory at most"), measure_all(curves))
    if options.picture:
        options.picture.write_text(draw(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
