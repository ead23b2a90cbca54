"""Measure MCP: a tool call beside the same one in process, the tools of all simulators, and the start of the forwarder.

    python -m benchmarks.mcp [--calls 500]

Playground and client are one process, with a connection that is kept. Each figure of a call is the median; of a start,
the smallest processor time of several.
"""

import argparse
import http.client
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks.table import print_table
from clerkship.actors.toolbox import Toolbox
from clerkship.checks.conformance.rig import prepare_domains
from clerkship.mcp.task import McpTask
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground, PlaygroundOptions
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.providers.contract import ModelToolCall
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.mcp_access import McpAddress
from clerkship.simulators import files
from clerkship.simulators.registry import KINDS

READ = ("read_file", {"path": "orders.csv"})
AIMS = {"call": "≤ 2 ms", "start": "≤ 0.4 s"}
STARTS, LISTS = 5, 20


class OpenTrial(NamedTuple):
    """A trial with a file, and the address of its tools."""

    sandboxes: Sandboxes
    address: McpAddress


@contextmanager
def open_trial(*, all_kinds: bool = False) -> Iterator[OpenTrial]:
    """Open a playground with a folder of files, or with a sandbox of each kind, and its HTTP server."""
    specs = {entry.kind: entry.load() for entry in KINDS} if all_kinds else {"files": files.SPEC}
    prepared = {kind: PreparedSimulator(spec, spec.config(), spec.prepare(())) for kind, spec in specs.items()}
    domains = {name: domain for spec in specs.values() for name, domain in prepare_domains(spec).items()}
    environment = Environment(name="bench", simulators={kind: Simulator(kind=kind) for kind in specs})
    playground = Playground(environment, prepared, "bench", PlaygroundOptions(domains=domains))
    gateway = Gateway()
    listener = open_http(gateway)
    sandboxes = open_sandboxes(gateway, playground, listener.url)
    address = gateway.tools.open(playground, listener.url, McpTask({}, takes_answer=True), sandboxes)
    sandboxes["files"].request("PUT", "/files/orders.csv", body=b"masks,30\n" * 20, media="application/octet-stream")
    try:
        yield OpenTrial(sandboxes, address)
    finally:
        gateway.remove_playground(playground)
        listener.close()


class McpClient:
    """A client that keeps its connection."""

    def __init__(self, address: McpAddress) -> None:
        parts = urlsplit(address.url)
        self._connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        self._path = parts.path
        self._headers = {"Authorization": f"Bearer {address.token}", "Content-Type": "application/json"}

    def ask(self, method: str, **params: object) -> bytes:
        """Return the body of the response to a request."""
        message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self._connection.request("POST", self._path, message, self._headers)
        response = self._connection.getresponse()
        body = response.read()
        if response.status != 200 or b'"error"' in body[:80]:
            raise RuntimeError(f"{method}: status {response.status}: {body[:200]!r}")
        return body

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def time_each(calls: int, work: Callable[[], object]) -> float:
    """Return the median milliseconds of a call, after a tenth of the calls to warm up."""
    for _ in range(max(calls // 10, 1)):
        work()
    spent = []
    for _ in range(calls):
        started = time.perf_counter()
        work()
        spent.append((time.perf_counter() - started) * 1000)
    return median(spent)


def measure_calls(calls: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for a call in process, one over HTTP, and one over MCP."""
    name, arguments = READ
    with open_trial() as trial:
        drop, client = trial.sandboxes["files"], McpClient(trial.address)
        tools = Toolbox(trial.sandboxes)
        path = f"/files/{arguments['path']}"
        handle = time_each(calls, lambda: drop.request("GET", path))
        in_process = time_each(calls, lambda: tools.call(ModelToolCall("1", name, arguments)))
        over_mcp = time_each(calls, lambda: client.ask("tools/call", name=name, arguments=arguments))
        ping = time_each(calls, lambda: client.ask("ping"))
        client.close()
    yield "a request in process", f"{handle:.2f} ms"
    yield "a tool call of a model that the run calls", f"{in_process:.2f} ms"
    yield "a tool call over MCP", f"{over_mcp:.2f} ms", AIMS["call"]
    yield "`ping` over MCP", f"{ping:.2f} ms"


def measure_list() -> tuple[str, ...]:
    """Return a row for the first and a later list of the tools of all kinds of simulators."""
    with open_trial(all_kinds=True) as trial:
        client, times = McpClient(trial.address), []
        for _ in range(LISTS):
            started = time.perf_counter()
            body = client.ask("tools/list")
            times.append((time.perf_counter() - started) * 1000)
        client.close()
    first, later = times[0], median(times[1:])
    count = len(json.loads(body)["result"]["tools"])
    return f"`tools/list`, the first {count} of all kinds", f"{later:.1f} ms, once {first:.0f} ms"


def measure_start() -> tuple[str, ...]:
    """Return a row for a start of `clerkship mcp` that forwards one message."""
    with open_trial() as trial:
        variables = {"CLERKSHIP_MCP_URL": trial.address.url, "CLERKSHIP_MCP_TOKEN": trial.address.token}
        seconds = [_start_forwarder(os.environ | variables) for _ in range(STARTS + 1)]
    return "`clerkship mcp` with one message, processor time", f"{min(seconds[1:]):.2f} s", AIMS["start"]


def _start_forwarder(environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    message = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    command = [sys.executable, "-m", "clerkship", "mcp"]
    done = subprocess.run(command, input=message, env=environment, capture_output=True, check=True, timeout=60)
    if b'"result"' not in done.stdout:
        raise RuntimeError(f"clerkship mcp answered {done.stdout[:200]!r}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(calls: int) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    yield from measure_calls(calls)
    yield measure_list()
    yield measure_start()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=500)
    print_table(("", "time", "aim"), run(parser.parse_args().calls))


if __name__ == "__main__":
    main()
