"""Measure a server of the REST interface: task runs, playgrounds at once, lists and logs, beside `clerkship run`.

    python -m benchmarks.serve [--sizes 50 500] [--runs 1000 10000 100000] [--events 10000 100000] [--trials 300]

The server is `clerkship serve`, a process of its own; this one sends the requests, from several threads. Times are wall
times as the client sees them; what a trial costs is the processor time of the server, and of `run` without its start.
"""

import argparse
import json
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.http_load import keep_asking, render_request
from benchmarks.processes import cpu_seconds
from benchmarks.start import CLERKSHIP, build_environment, run_command
from benchmarks.table import print_table, seconds, times
from clerkship.engine.catalog import build_catalog_without_plugins
from clerkship.events.lifecycle import AgentAnswered
from clerkship.service.publishing import PublishRequest, publish
from clerkship.service.serving.benchmark_cache import RunSelection
from clerkship.service.serving.live_runs import NewRun
from clerkship.service.serving.server import Server, open_server
from clerkship.settings import Settings

SUITE = """
environment: {name: desk, datasets: [forms], simulators: {drop: {kind: files}}}
dataset: {name: forms, type: files, files: {form.txt: "NAME: Ada"}}
benchmark: {name: Forms, slug: forms, version: 1, environment: desk, tasks: ["*"]}
tasks:
  - name: Copy
    timeout: 3600
    task_item: {to: out.txt}
    criteria: [{label: there, gate: true, assertion: {file_present: {path: out.txt, text: {contains: Ada}}}}]
    solution: solution.py
"""
SOLUTION = 'def on_task(task_item, sandboxes):\n    sandboxes["drop"].write("out.txt", "NAME: Ada")\n'
FORM = b"NAME: Ada"
MAX_TRIALS = 100
"""Trials of a task in one run of the interface."""
CLIENTS = 4
EVENTS_SECONDS = 3.0
PAGE = 1000
READS = 15
"""How often a page of a list is read."""
TRIAL_HEAD = (
    "playgrounds at once",
    "start p50",
    "p99",
    "starts a second",
    "memory of each",
    "events a second",
    "complete p50",
    "p99",
    "completes a second",
)
LIST_HEAD = ("runs in the table", "first page of 100", "page in the middle", "runs of one solver")
LOG_HEAD = ("events in the log", "first page of 1,000", "last page", "all pages", "events a second")
RATIO_HEAD = ("trials", "`clerkship run`, each", "server, each", "server ÷ run")


@dataclass
class RunningServer:
    """A server process, and keys for it."""

    process: "subprocess.Popen[str]"
    url: str
    person: str
    solver: str

    def memory(self) -> float:
        """Return the kilobytes that the server has in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return float(status.partition("VmRSS:")[2].split()[0])


class Client:
    """One connection with a key."""

    def __init__(self, url: str, key: str) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=120)
        self._headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, and return its answer. Raise SystemExit if it is refused."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        self._connection.request(method, path, content, self._headers)
        response = self._connection.getresponse()
        answer = response.read()
        if response.status >= 300:
            raise SystemExit(f"{method} {path}: {response.status} {answer[:500].decode(errors='replace')}")
        return json.loads(answer) if answer else None


def prepare(folder: Path) -> tuple[str, str]:
    """Make the data folder of a server with a published version; return the keys of a person and a solver."""
    suite = folder / "suite"
    suite.mkdir()
    (suite / "suite.yml").write_text(SUITE)
    (suite / "solution.py").write_text(SOLUTION)
    server = open_data(folder)
    try:
        request = PublishRequest(path=suite, name="forms@1", to=server.published.folder)
        publish(request, Settings(), build_catalog_without_plugins())
        solver = server.solvers.create("robin", "", "", "")
        return server.keys.create_person("Ada").key, server.keys.create_solver_key(solver.id).key
    finally:
        server.close()


def open_data(folder: Path) -> Server:
    """Open the data of the server in this process, while no server runs."""
    return open_server(folder / "data", Settings(), build_catalog_without_plugins())


@contextmanager
def start_server(folder: Path, keys: tuple[str, str]) -> Iterator[RunningServer]:
    """Run `clerkship serve`, and stop it at the end."""
    command = [*CLERKSHIP, "serve", "--data", str(folder / "data"), "--port", "0", "--json"]
    with (
        (folder / "log").open("ab") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            yield RunningServer(process, json.loads(process.stdout.readline())["url"], *keys)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def create_runs(server: RunningServer, trials: int) -> list[tuple[str, str]]:
    """Create runs with so many task runs in all; return the token and the id of each."""
    client = Client(server.url, server.solver)
    created: list[tuple[str, str]] = []
    while (left := trials - len(created)) > 0:
        request = {"benchmark": "forms@1", "trials": min(left, MAX_TRIALS)}
        run = client.send("POST", "/v1/benchmark-runs", request)
        created += [(run["bearer_token"], task["id"]) for task in run["task_runs"]]
    return created


def spread(jobs: Sequence[tuple[str, str]], url: str, work: Callable[[Client, str], Any]) -> list[tuple[float, Any]]:
    """Do a job for each task run, by several clients at once; return the seconds and the result of each."""
    local = threading.local()

    def do(job: tuple[str, str]) -> tuple[float, Any]:
        token, task = job
        if getattr(local, "token", "") != token:
            local.token, local.client = token, Client(url, token)
        began = time.perf_counter()
        result = work(local.client, task)
        return time.perf_counter() - began, result

    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(do, jobs))


def percentiles(measured: Sequence[float]) -> tuple[str, str]:
    """Return the median and the 99th percentile as text."""
    ordered = sorted(measured)
    return seconds(statistics.median(ordered)), seconds(ordered[int(len(ordered) * 0.99)])


def start_task(client: Client, task: str) -> Any:
    """Start a task run."""
    return client.send("POST", f"/v1/task-runs/{task}/start", {})


def complete_task(client: Client, task: str) -> Any:
    """Complete a task run."""
    return client.send("POST", f"/v1/task-runs/{task}/complete", {})


def put_form(started: Any) -> None:
    """Do the task through the sandbox."""
    drop = started["sandboxes"]["drop"]
    Client(drop["url"], drop["token"]).send("PUT", f"{urlsplit(drop['url']).path}/files/out.txt", FORM)


def measure_trials(sizes: Sequence[int], folder: Path) -> Iterator[tuple[str, ...]]:
    """Start, use and complete task runs, so many at once, each time on a new server."""
    for size in sizes:
        work = folder / f"trials-{size}"
        work.mkdir()
        with start_server(work, prepare(work)) as server:
            [(_, warm)] = spread(create_runs(server, 1), server.url, start_task)
            jobs = create_runs(server, size)
            before, began = server.memory(), time.perf_counter()
            started = spread(jobs, server.url, start_task)
            rate, memory = size / (time.perf_counter() - began), (server.memory() - before) / size
            for _, item in started:
                put_form(item)
            drop = warm["sandboxes"]["drop"]
            request = render_request("PUT", f"{drop['url']}/files/out.txt", drop["token"], FORM, "text/plain")
            load = keep_asking(urlsplit(drop["url"]).netloc, request, CLIENTS, EVENTS_SECONDS, 20_000)
            began = time.perf_counter()
            completed = spread(jobs, server.url, complete_task)
            completes = size / (time.perf_counter() - began)
            assert all(result["verdict"] == "pass" for _, result in completed)
            yield (
                f"{size:,}",
                *percentiles([each for each, _ in started]),
                f"{rate:,.0f}",
                f"{memory:,.0f} KB",
                f"{load.rate:,.0f}",
                *percentiles([each for each, _ in completed]),
                f"{completes:,.0f}",
            )


def fill_table(folder: Path, count: int) -> None:
    """Put runs that have ended into the table of a server; one of a hundred is by a solver of its own."""
    server = open_data(folder)
    moment = "2026-01-01T00:00:00.000000+00:00"
    state = ("completed", "completed", moment, moment, None, None)
    solvers = ["sol_rare", *["sol_often"] * 99]
    try:
        with server.database.write() as connection:
            rows = (
                (
                    f"run-{number:08}",
                    "forms@1",
                    "0" * 64,
                    "robin",
                    0,
                    solvers[number % 100],
                    *state,
                )
                for number in range(count)
            )
            connection.executemany(f"INSERT INTO served_runs VALUES (NULL{', ?' * 12})", rows)
    finally:
        server.close()


def measure_lists(sizes: Sequence[int], folder: Path) -> Iterator[tuple[str, ...]]:
    """Read pages of the list of runs, with so many runs in the table."""
    for size in sizes:
        work = folder / f"list-{size}"
        work.mkdir()
        keys = prepare(work)
        fill_table(work, size)
        with start_server(work, keys) as server:
            client, path = Client(server.url, server.person), "/v1/benchmark-runs?limit=100"
            cursor = client.send("GET", path)["_meta"]["next"]
            for _ in range(min(size // 200, 20)):
                cursor = client.send("GET", f"{path}&cursor={cursor}")["_meta"]["next"] or cursor
            paths = (path, f"{path}&cursor={cursor}", f"{path}&solver_id=sol_rare")
            yield f"{size:,}", *(seconds(measure_reads(client, each)) for each in paths)


def measure_reads(client: Client, path: str) -> float:
    """Return the median seconds of some reads."""
    taken = []
    for _ in range(READS):
        began = time.perf_counter()
        client.send("GET", path)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def measure_logs(sizes: Sequence[int], folder: Path) -> Iterator[tuple[str, ...]]:
    """Read the log of a task run that has so many events, page by page."""
    for size in sizes:
        work = folder / f"log-{size}"
        work.mkdir()
        keys = prepare(work)
        task = write_log(work, size)
        with start_server(work, keys) as server:
            client, path = Client(server.url, server.person), f"/v1/task-runs/{task}/events?limit={PAGE}"
            began, count, after = time.perf_counter(), 0, 0
            while after is not None:
                page = client.send("GET", f"{path}&after={after}")
                count, after = count + len(page["data"]), page["_meta"]["next"]
            taken = time.perf_counter() - began
            assert count >= size
            first, last = (measure_reads(client, f"{path}&after={place}") for place in (0, count - PAGE))
            yield f"{count:,}", seconds(first), seconds(last), seconds(taken), f"{count / taken:,.0f}"


def write_log(folder: Path, size: int) -> str:
    """Make a task run whose log has so many events; return its id."""
    server = open_data(folder)
    try:
        archive = server.published.get("forms@1").archive
        _, [task] = server.live.create(NewRun(RunSelection(archive.path), "robin"))
        server.live.start(task.id)
        trial = server.live.get_trial(task)
        assert trial is not None
        with trial.playground.lock:
            for number in range(size):
                trial.playground.emit("run", AgentAnswered(answer={"number": number}), "agent")
        server.live.answer(task.id, {"answer": None})
        return task.id
    finally:
        server.close()


def measure_ratio(trials: int, folder: Path) -> Iterator[tuple[str, ...]]:
    """Do the same task by `clerkship run` and through the server, and yield the processor seconds of a trial."""
    work = folder / "ratio"
    work.mkdir()
    keys, environment = prepare(work), build_environment(folder)
    words = (*CLERKSHIP, "run", str(work / "suite"), "--agent", "oracle", "--trials")
    run_command((*words, "1"), folder, environment)
    begin, whole = (run_command((*words, count), folder, environment) for count in ("1", str(trials + 1)))
    run_each = (whole - begin) / trials
    with start_server(work, keys) as server:
        for count in (1, trials):  # the first one fills caches
            before = cpu_seconds(server.process.pid)
            jobs = create_runs(server, count)
            spread(jobs, server.url, lambda client, task: put_form(start_task(client, task)))
            spread(jobs, server.url, complete_task)
            server_each = (cpu_seconds(server.process.pid) - before) / count
    yield f"{trials:,}", seconds(run_each), seconds(server_each), times(server_each / run_each)


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 500])
    parser.add_argument("--runs", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--events", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--trials", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, chdir(name):
        folder = Path(name)
        print_table(TRIAL_HEAD, measure_trials(options.sizes, folder))
        print()
        print_table(LIST_HEAD, measure_lists(options.runs, folder))
        print()
        print_table(LOG_HEAD, measure_logs(options.events, folder))
        print()
        print_table(RATIO_HEAD, measure_ratio(options.trials, folder))


if __name__ == "__main__":
    main()
