"""Measure how long another client waits while one client sends slow requests.

    python -m benchmarks.slow [--seconds 4] [--hold 21]

The server runs in a process of its own, with two playgrounds behind one listener. A probe reads one small resource over
and over while other clients do something slow: in another playground than theirs, or in the same, where it also waits
for that playground's lock.
"""

import argparse
import contextlib
import json
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import urlsplit

from benchmarks.fhir_work import chart, transaction
from benchmarks.http_load import render_request
from benchmarks.table import print_table
from clerkship.formats.fhir.resource import render_resource
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators import fhir

ROOT = Path(__file__).resolve().parent.parent
CHART_SIZE = 2_000
HALF_OPEN = 800
HEAVY_CLIENTS = 2
AIM = 50
"""Milliseconds that a client of another playground may wait, for 99 of 100 requests."""
PAUSE = 0.002
"""Seconds between two requests of the probe."""


class Target(NamedTuple):
    """One FHIR sandbox over HTTP."""

    url: str
    token: str


class Waits(NamedTuple):
    """How long a probe waited, in milliseconds."""

    p50: float
    p99: float
    longest: float
    requests: int


# The server.


def serve(lines: IO[str]) -> None:
    """Open two playgrounds, print where they are, and serve until standard input ends."""
    base = chart(CHART_SIZE)
    gateway = Gateway()
    listener = open_http(gateway)
    targets = []
    for name in ("busy", "quiet"):
        environment = Environment(name=name, simulators={"fhir": Simulator(kind="fhir")})
        playground = Playground(environment, {"fhir": PreparedSimulator(fhir.SPEC, fhir.SPEC.config(), base)}, name)
        door = open_sandboxes(gateway, playground, listener.url)["fhir"]
        targets.append(Target(door.url, door.token))
    print(json.dumps(targets), flush=True)
    lines.read()
    listener.close()


@contextlib.contextmanager
def served() -> Iterator[list[Target]]:
    """Run the server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.slow", "--serve"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield [Target(*each) for each in json.loads(server.stdout.readline())]
        finally:
            server.stdin.close()


# Clients.


def connect(target: Target) -> socket.socket:
    """Open a connection to the listener."""
    place = urlsplit(target.url)
    connection = socket.create_connection((place.hostname or "", place.port or 0), timeout=120)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def ask(connection: socket.socket, request: bytes) -> int:
    """Send a request, read the whole reply, and return its status."""
    connection.sendall(request)
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(262_144)
        if not more:
            raise ConnectionError("the server closed the connection")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    left = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0) - len(body)
    while left > 0:
        left -= len(connection.recv(262_144))
    return int(head[9:12])


def probe(target: Target, until: Callable[[], bool]) -> Waits:
    """Read one resource over and over."""
    request = render_request("GET", f"{target.url}/Patient/patient-0", target.token)
    waits = []
    with connect(target) as connection:
        while not until():
            began = time.perf_counter()
            assert ask(connection, request) == 200
            waits.append((time.perf_counter() - began) * 1000)
            time.sleep(PAUSE)
    waits.sort()
    return Waits(statistics.median(waits), waits[int(len(waits) * 0.99)], waits[-1], len(waits))


def keep_sending(target: Target, requests: list[bytes], until: Callable[[], bool], statuses: list[int]) -> None:
    """Send some requests over and over, each on a connection of its own."""
    while requests and not until():
        for request in requests:
            with connect(target) as connection, contextlib.suppress(ConnectionError):
                statuses.append(ask(connection, request))


# What is slow.


def no_load(target: Target) -> list[bytes]:
    """Nothing: the floor."""
    return []


def million_names(target: Target) -> list[bytes]:
    """A Patient of 14 MB."""
    body = b'{"resourceType":"Patient","name":[' + b",".join([b'{"text":"ab"}'] * 1_000_000) + b"]}"
    return [render_request("POST", f"{target.url}/Patient", target.token, body)]


def many_names(target: Target) -> list[bytes]:
    """A Patient with nearly as many elements as are allowed."""
    body = b'{"resourceType":"Patient","name":[' + b",".join([b'{"text":"ab"}'] * 49_000) + b"]}"
    return [render_request("POST", f"{target.url}/Patient", target.token, body)]


def large_bundle(target: Target) -> list[bytes]:
    """A transaction of 6 MB: one patient, and about 4,000 results."""
    body = render_resource(transaction(6_000_000, 1))
    return [render_request("POST", target.url, target.token, body)]


def repeated_includes(target: Target) -> list[bytes]:
    """190 times the same `_include:iterate` and `_revinclude:iterate`, on a page of 1,000."""
    includes = "&".join(["_include:iterate=*", "_revinclude:iterate=Observation:*"] * 95)
    return [render_request("GET", f"{target.url}/Observation?_count=1000&{includes}", target.token)]


CASES: dict[str, Callable[[Target], list[bytes]]] = {
    "nothing": no_load,
    "a Patient with 1,000,000 names": million_names,
    "a Patient with 49,000 names": many_names,
    "a transaction of 6 MB": large_bundle,
    "190 `_include:iterate`": repeated_includes,
}


class Measured(NamedTuple):
    """One case."""

    another: Waits
    """Of a client in another playground."""
    same: Waits
    """Of a client in the playground where the slow requests are made."""
    statuses: list[int]
    """What the slow requests were answered."""


def measure(case: str, seconds: float) -> Measured:
    """Measure one case against a fresh server."""
    with served() as (busy, quiet), ThreadPoolExecutor(HEAVY_CLIENTS + 1) as clients:
        requests = CASES[case](busy)
        probe(quiet, _after(0.3))
        until = _after(seconds)
        statuses: list[int] = []
        heavy = [clients.submit(keep_sending, busy, requests, until, statuses) for _ in range(HEAVY_CLIENTS)]
        same = clients.submit(probe, busy, until)
        another = probe(quiet, until)
        for client in heavy:
            client.result()
        return Measured(another, same.result(), statuses)


def half_open(seconds: float, count: int = HALF_OPEN) -> tuple[Waits, int]:
    """Hold connections that have sent half a head; return also how many the server still holds open at the end."""
    with served() as (_, quiet):
        held = [connect(quiet) for _ in range(count)]
        for connection in held:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        waits = probe(quiet, _after(seconds))
        still_open = sum(not _is_closed(connection) for connection in held)
        for connection in held:
            connection.close()
        return waits, still_open


def _is_closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        while connection.recv(4096):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


def rows(seconds: float, hold: float) -> Iterator[tuple[str, ...]]:
    """Measure every case."""
    for case in CASES:
        measured = measure(case, seconds)
        counts = Counter(measured.statuses)
        answers = ", ".join(f"{counts[status]} × {status}" for status in sorted(counts))
        yield case, *_cells(measured.another), answers, f"< {AIM}" if counts else ""
        yield "… a client of the same playground", *_cells(measured.same)
    waits, still_open = half_open(hold)
    what = f"{HALF_OPEN} half-open connections"
    yield what, *_cells(waits), f"{still_open} still open after {hold:.0f} s", f"< {AIM}"


def _cells(waits: Waits) -> tuple[str, ...]:
    return f"{waits.p50:.1f}", f"{waits.p99:.1f}", f"{waits.longest:.0f}"


def main() -> None:
    """Print the table of docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=4.0, help="seconds that each case lasts")
    parser.add_argument("--hold", type=float, default=21.0, help="seconds that half-open connections are held")
    options = parser.parse_args()
    if options.serve:
        serve(sys.stdin)
        return
    head = ("meanwhile", "p50 ms", "p99 ms", "longest ms", "answers to the slow requests", "aim for the p99")
    print_table(head, rows(options.seconds, options.hold))


if __name__ == "__main__":
    main()
