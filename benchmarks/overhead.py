"""Measure the overhead of a run, compared with a bare asyncio and SQLite loop that does the same work.

    python -m benchmarks.overhead [--runs 1000]

The work is three turns of conversation. Each message is a validated event, chained by hash; the log is stored in
SQLite with a commit per run; and a sequence of three events is checked. Ratios mean more than milliseconds.
"""

import argparse
import asyncio
import contextlib
import gc
import hashlib
import http.client
import resource
import shlex
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson
from pydantic import BaseModel, ConfigDict

from benchmarks.peers import our_size
from benchmarks.table import print_table, times
from clerkship.actors.contract import Message
from clerkship.actors.isolation.contract import READY, Isolation, Level, offered
from clerkship.actors.python import PythonSolver
from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.sandbox.request import Request
from clerkship.service.planning.plan import plan_run
from clerkship.service.planning.request import RunRequest
from clerkship.service.running import execute
from clerkship.settings import Settings
from clerkship.simulators import files
from clerkship.store.seal import ChainEnd
from clerkship.store.sqlite import SqliteStore

HANDLE_AIM = 0.15
Row = tuple[str, ...]
TASK = """
task:
  name: Three turns
  scenario:
    starts: person
    person:
      opening: Hello, can you help me?
      script:
        - {when: how, say: My parcel is late.}
        - {when: number, say: It is 4711.}
      end: {when: tomorrow, say: Thank you.}
  criteria:
    - label: In order
      assertion:
        sequencing:
          - {event: chat.message.sent, actor: person, where: {text: {contains: late}}}
          - {event: chat.message.sent, actor: agent, where: {text: {contains: number}}}
          - {event: chat.message.sent, actor: agent, where: {text: {contains: tomorrow}}}
"""
REPLIES = {
    "Hello, can you help me?": "Gladly, how?",
    "My parcel is late.": "What is its number?",
    "It is 4711.": "It comes tomorrow.",
}


def answer(message: Message) -> str:
    """The smallest possible agent."""
    return REPLIES[message.text]


class MessagePayload(BaseModel):
    """The payload of the bare loop's events."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    text: str
    turn: int


class BareEvent(NamedTuple):
    """The event of the bare loop, with as many fields as ours."""

    seq: int
    at: datetime
    source: str
    kind: str
    actor: str
    cause: int | None
    payload: MessagePayload


SCRIPT = [
    ("run", "started"),
    ("person", "here"),
    ("agent", "started"),
    *((a, t) for pair in REPLIES.items() for a, t in zip(("person", "agent"), pair, strict=True)),
    ("person", "Thank you."),
    ("person", "gone"),
    ("run", "ended"),
]


def bare(runs: int, folder: Path) -> float:
    """Do the same work without the platform: as many events, validated, chained, stored with a commit per run."""
    database = sqlite3.connect(folder / "bare.db", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=NORMAL")
    database.execute("CREATE TABLE runs (id INTEGER PRIMARY KEY, head TEXT, passed INTEGER, log BLOB)")
    start = datetime(2026, 3, 2, tzinfo=UTC)

    async def one() -> None:
        digest = bytes(32)
        lines: list[bytes] = []
        events: list[BareEvent] = []
        for turn, (actor, text) in enumerate(SCRIPT):
            at = start + timedelta(seconds=turn)
            event = BareEvent(
                len(events) + 1, at, "chat", "chat.message.sent", actor, None, MessagePayload(text=text, turn=turn)
            )
            line = orjson.dumps({**event._asdict(), "payload": event.payload.__dict__}, option=orjson.OPT_SORT_KEYS)
            digest = hashlib.sha256(digest + line).digest()
            events.append(event)
            lines.append(line)
            if actor == "agent":
                await asyncio.sleep(0)
        wanted = iter(("late", "number", "tomorrow"))
        word = next(wanted, None)
        for event in events:
            if word is not None and word in event.payload.text:
                word = next(wanted, None)
        row = (digest.hex(), word is None, b"\n".join(lines))
        database.execute("BEGIN")
        database.execute("INSERT INTO runs (head, passed, log) VALUES (?, ?, ?)", row)
        database.execute("COMMIT")

    async def every() -> None:
        for _ in range(runs):
            await one()

    began = time.perf_counter()
    asyncio.run(every())
    return time.perf_counter() - began


def ours(runs: int, folder: Path, concurrency: int = 1, store: SqliteStore | None = None) -> float:
    """Plan, execute and store a run."""
    (folder / "suite").mkdir(exist_ok=True)
    (folder / "suite" / "task.yml").write_text(TASK)
    catalog = RegisteredCatalog()
    store = store or SqliteStore(folder / f"ours-{concurrency}.db")
    request = RunRequest(
        path=folder / "suite", agent=PythonSolver("answer", answer), trials=runs, concurrency=concurrency
    )
    plan = plan_run(request, Settings(), catalog)
    gc.collect()
    began = time.perf_counter()
    result = execute(plan, store, catalog)
    taken = time.perf_counter() - began
    assert result.counts.passed == runs, result.counts
    return taken


def best_of(times: int, measure: Callable[[], float]) -> float:
    """Return the least of several measurements, because noise only adds."""
    return min(measure() for _ in range(times))


def grown(folder: Path) -> tuple[float, float]:
    """Return the cost per run in a store with 100 runs, and in one with 10,000."""
    store = SqliteStore(folder / "grown.db")
    ours(100, folder, store=store)
    few = best_of(3, lambda: ours(200, folder, store=store)) / 200
    ours(10_000, folder, store=store)
    many = best_of(3, lambda: ours(200, folder, store=store)) / 200
    return few, many


def sealing(folder: Path, runs: int) -> tuple[float, float, float]:
    """Return the seconds to seal so many trials, to check all of them, and to check one."""
    with SqliteStore(folder / "sealed.db") as store:
        ours(runs, folder, store=store)
        run = store.run("latest").id
        trials = list(store.ledger(run).trials.values())
        with store._writing():
            sealed = seconds(lambda: store._seals.add_trials(trials, ChainEnd()))
        checked = best_of(3, lambda: seconds(lambda: store.check_seals(run, ledger=store.ledger(run))))
        loaded = best_of(3, lambda: seconds(lambda: store.ledger(run)))
    suite_of_many(folder).close()
    with SqliteStore(folder / "many.db") as store:
        run = store.run("latest").id
        return sealed, checked - loaded, best_of(3, lambda: seconds(lambda: store.check_seals(run, task="Task 500")))


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that some work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def suite_of_many(folder: Path) -> SqliteStore:
    """Return a store with a run of 1,000 tasks, a tenth of them failed; it is created once."""
    if (folder / "many.db").exists():
        return SqliteStore(folder / "many.db")
    suite = folder / "many"
    suite.mkdir()
    criteria = "criteria: [{label: right, assertion: {answer_matches: 1}}]"
    listed = "\n".join(f"  - {{name: Task {n}, task_item: {{n: {n}}}, {criteria}}}" for n in range(1000))
    (suite / "tasks.yml").write_text(f"tasks:\n{listed}\n")
    catalog = RegisteredCatalog()
    store = SqliteStore(folder / "many.db")

    def mostly_right(task_item: dict[str, int]) -> int:
        return int(task_item["n"] % 10 != 0)

    request = RunRequest(path=suite, agent=PythonSolver("mostly", mostly_right))
    execute(plan_run(request, Settings(), catalog), store, catalog)
    return store


def failures(folder: Path) -> tuple[float, int]:
    """Open a store and list the failures of a run of 1,000 tasks, a tenth of them failed."""
    suite_of_many(folder).close()
    found = 0

    def once() -> float:
        nonlocal found
        began = time.perf_counter()
        store = SqliteStore(folder / "many.db")
        run = store.run("latest")
        store.counts(run.id)
        found = len(store.task_runs(run.id, failed=True))
        store.close()
        return time.perf_counter() - began

    return best_of(5, once), found


def round_trip(door: str, requests: int = 1000) -> float:
    """Measure the read of a file, in process or over HTTP on one connection, including the client's work."""
    with SimulatorRig(files.SPEC) as rig:
        rig.send(Request("PUT", "/files/a.txt", body=b"hello"))
        address = urlsplit(rig.url())
        connection = http.client.HTTPConnection(address.hostname or "", address.port)
        headers = {"Authorization": f"Bearer {rig.token}"}

        def over_http() -> None:
            connection.request("GET", f"{address.path}/files/a.txt", headers=headers)
            assert connection.getresponse().read() == b"hello"

        def in_process() -> None:
            assert rig.send(Request("GET", "/files/a.txt")).body == b"hello"

        once = over_http if door == "http" else in_process
        once()
        began = time.perf_counter()
        for _ in range(requests):
            once()
        connection.close()
        return (time.perf_counter() - began) / requests


def program_start(level: Level, folder: Path, starts: int = 20) -> float:
    """Return the seconds that it takes to start a program that ends at once, at a level of isolation."""
    isolation = Isolation(level, (folder.resolve(),))
    began = time.perf_counter()
    for _ in range(starts):
        with isolation.command(["true"]) as (words, descriptors):
            subprocess.run(words, input=READY, stdout=subprocess.DEVNULL, check=True, pass_fds=descriptors)
    return (time.perf_counter() - began) / starts


AGENTS = {
    "agent_of_benchmark.py": """
REPLIES = {replies}
def agent(message):
    return REPLIES[message.text]
def reader(message, sandboxes):
    sandboxes["chat"]
    return REPLIES[message.text]
""",
    "program_of_benchmark.py": """
import json, sys
REPLIES = {replies}
for line in sys.stdin:
    print(json.dumps({{"say": REPLIES[json.loads(line)["text"]]}}), flush=True)
""",
}


def processes(folder: Path, trials: int = 10) -> dict[str, float]:
    """Return the CPU seconds of one trial, all processes together, by how its agent is started."""
    (folder / "suite").mkdir(exist_ok=True)
    (folder / "suite" / "task.yml").write_text(TASK)
    for name, source in AGENTS.items():
        (folder / name).write_text(source.format(replies=REPLIES))
    program = f"command:{shlex.quote(sys.executable)} program_of_benchmark.py"
    agents = {
        "in process": ("python:agent_of_benchmark:agent", False),
        "--agent-process": ("python:agent_of_benchmark:agent", True),
        "--agent-process, with a handle": ("python:agent_of_benchmark:reader", True),
        "command:python": (program, False),
    }
    with contextlib.chdir(folder):
        return {name: _cpu_of_trial(folder, *how, trials) for name, how in agents.items()}


def _cpu_of_trial(folder: Path, agent: str, apart: bool, trials: int) -> float:
    catalog, store = RegisteredCatalog(), SqliteStore(folder / "processes.db")
    # Not isolated: bubblewrap does not pass on what the processes in its namespace have used.
    how: dict[str, Any] = {"agent_process": apart, "isolate": "never", "trials": trials, "concurrency": 1}
    request = RunRequest(path=folder / "suite", agent=agent, **how)
    plan = plan_run(request, Settings(), catalog)
    before = _cpu_used()
    result = execute(plan, store, catalog)
    assert result.counts.passed == trials, result.counts
    store.close()
    return (_cpu_used() - before) / trials


def _cpu_used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def conversation_rows(folder: Path, runs: int) -> Iterator[Row]:
    """Measure conversations beside the bare loop."""
    ours(50, folder)
    numbers = count()

    def bare_once() -> float:
        place = folder / f"bare-{next(numbers)}"
        place.mkdir()
        return bare(runs, place)

    beside = best_of(3, bare_once)
    for concurrency in (1, 8):
        mine = best_of(3, lambda c=concurrency: ours(runs, folder, c))  # type: ignore[misc]
        what = f"{runs:,} three-turn conversations, {concurrency} at once"
        yield what, f"{mine:.3f} s", f"{beside:.3f} s (bare loop)", times(mine / beside), "≤ 0.5 s"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield "peak memory after them", f"{peak:.0f} MB", "", "", "≤ 80 MB"


def store_rows(folder: Path, runs: int) -> Iterator[Row]:
    """Measure the seals, the list of failures, and a store that grows."""
    sealed, checked, shown = sealing(folder, runs)
    yield f"seal {runs:,} trials, check them at the end", f"{sealed * 1000:.0f} ms, {checked * 1000:.0f} ms"
    yield "check the seals of one task of 1,000, to show it", f"{shown * 1000:.1f} ms"
    opened, found = failures(folder)
    yield f"open a store, list the {found} failures of 1,000 tasks", f"{opened * 1000:.1f} ms"
    few, many = grown(folder)
    change = f"{few * 1000:.3f} → {many * 1000:.3f} ms"
    yield "cost per run, 100 stored → 10,000 stored", change, "", times(many / few), "flat"


def agent_rows(folder: Path) -> Iterator[Row]:
    """Measure agents that are processes, isolation, and requests to a sandbox."""
    for how, spent in processes(folder).items():
        aim = f"≤ {HANDLE_AIM * 1000:.0f} ms" if "handle" in how else ""
        yield f"a three-turn conversation, CPU, {how}", f"{spent * 1000:.1f} ms", "", "", aim
    plain = best_of(3, lambda: program_start("none", folder))
    for level in offered()[:-1]:
        start = best_of(3, lambda one=level: program_start(one, folder))  # type: ignore[misc]
        yield f"start a program under {level}", f"{start * 1000:.1f} ms", f"{plain * 1000:.1f} ms (plain)"
    near, far = (best_of(3, lambda d=door: round_trip(d)) for door in ("process", "http"))  # type: ignore[misc]
    yield "read a file: in process, over HTTP on one connection", f"{near * 1000:.3f} ms, {far * 1000:.2f} ms"


def rows(runs: int, *, quick: bool) -> Iterator[Row]:
    """Measure everything."""
    with tempfile.TemporaryDirectory() as name:
        yield from conversation_rows(Path(name), runs)
        if quick:
            return
        yield from store_rows(Path(name), runs)
    with tempfile.TemporaryDirectory() as name:
        yield from agent_rows(Path(name))
    size = our_size()
    yield "core install", f"{size.distributions} distributions, {size.megabytes:.0f} MB", "", "", "≤ 30, ≤ 60 MB"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="the conversations alone")
    options = parser.parse_args()
    print_table(("what", "ours", "beside it", "ratio", "aim"), rows(options.runs, quick=options.quick))


if __name__ == "__main__":
    main()
