"""Measure the X12 sandbox: interchanges over HTTP, a batch through the file drop, and what an idle sandbox costs.

    python -m benchmarks.x12_sandbox [--quick]

The server is a process of its own, and one client keeps eight connections busy. Every interchange has a control number
of its own; each is validated, put to the payer, answered and logged. The batch and the idle sandboxes are measured in
processes of their own as well. Rates per CPU second count the server's time alone; on a busy machine only they count.
"""

import argparse
import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any, NamedTuple

from benchmarks.http_load import keep_asking, render_request
from benchmarks.processes import measure_case, resident, start_server
from benchmarks.table import render_table
from clerkship import payer
from clerkship.model.environment import Environment
from clerkship.payer.config import PayerConfig
from clerkship.playground.component import PreparedComponent
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground, PlaygroundOptions
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators import files, x12
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.handle import Files
from clerkship.simulators.x12.config import X12Config
from clerkship.simulators.x12.handle import X12
from clerkship.simulators.x12.http import EDI
from tests.simulators.x12.clearinghouse import MEMBERS, authorization, claim_status, eligibility, group, interchange

CONNECTIONS = 8
MOST = 4_000
"""Interchanges in one playground: each leaves several events, and the number of events is limited."""
BATCH = 4_000
IDLE = 500
REQUESTS: dict[str, tuple[str, Callable[[str], list[str]], int]] = {
    "270, one set": ("270", eligibility, 1),
    "276, one set": ("276", claim_status, 1),
    "278, one set": ("278", authorization, 1),
    "270, 100 sets": ("270", eligibility, 100),
}
"""By name: the kind of the sets, what builds one from its trace number, and how many are in an interchange."""


class Site:
    """Playgrounds with a clearinghouse, a file drop and a payer."""

    def __init__(self) -> None:
        simulators = {"clearing": {"kind": "x12"}, "drop": {"kind": "files"}}
        self.environment = Environment.model_validate(
            {
                "name": "payer",
                "simulators": simulators,
                "domains": {"payer": {"kind": "payer"}},
                "reactions": ["drop.file -> clearing", "clearing.batch.replied -> drop"],
            }
        )
        self.simulators = {
            "clearing": PreparedSimulator(x12.SPEC, X12Config(max_sets=BATCH), x12.SPEC.prepare(())),
            "drop": PreparedSimulator(files.SPEC, FilesConfig()),
        }
        config = PayerConfig.model_validate(MEMBERS)
        self.domains = {"payer": PreparedComponent(payer.SPEC, config, payer.SPEC.prepare(()))}
        self.gateway = Gateway()
        self.listener = open_http(self.gateway)
        self.opened = 0

    def open(self) -> tuple[Playground, Sandboxes]:
        """Open a new playground, as a trial does."""
        self.opened += 1
        options = PlaygroundOptions(domains=self.domains)
        playground = Playground(self.environment, self.simulators, f"seed-{self.opened}", options)
        return playground, open_sandboxes(self.gateway, playground, self.listener.url)


def build_interchange(name: str, number: int) -> str:
    """Return an interchange of `REQUESTS`; its number is in every trace."""
    code, build, sets = REQUESTS[name]
    return interchange(group(code, *(build(f"T{number}-{place}") for place in range(sets))), number=number)


def serve() -> None:
    """Open a new playground for each line read from standard input, and print its address and the CPU time so far."""
    site = Site()
    for _ in sys.stdin:
        _, sandboxes = site.open()
        handle = sandboxes.get_as(X12)
        print(json.dumps({"url": handle.url, "token": handle.token, "cpu": time.process_time()}), flush=True)
    site.listener.close()


class HttpRate(NamedTuple):
    """What one kind of interchange reaches over HTTP."""

    name: str
    interchanges: float
    """Per second."""
    sets: float
    """Per second."""
    sets_per_cpu_second: float


def build_requests(name: str, address: dict[str, Any]) -> Callable[[], bytes]:
    """Return a function that returns the next HTTP request, with the next control number."""
    numbers = count(1)
    url = f"{address['url']}/x12/interchanges"

    def next_request() -> bytes:
        body = build_interchange(name, next(numbers)).encode()
        return render_request("POST", url, address["token"], body, EDI)

    return next_request


def measure_http(seconds: float = 3.0, most: int = MOST) -> list[HttpRate]:
    """Return interchanges per second over HTTP, each kind in a new playground."""
    answers = {"270": b"~ST*271*", "276": b"~ST*277*", "278": b"~ST*278*"}
    rates = []
    with start_server("benchmarks.x12_sandbox", "serve") as open_playground:
        for name, (code, _, sets) in REQUESTS.items():
            address = open_playground()
            next_request, limit = build_requests(name, address), max(1, most // sets)
            load = keep_asking(address["url"].split("/")[2], next_request, CONNECTIONS, seconds, limit)
            assert load.sample.count(answers[code]) == sets, load.sample[:1000]
            # The next playground costs little beside the load.
            spent = open_playground()["cpu"] - address["cpu"]
            rates.append(HttpRate(name, load.rate, load.rate * sets, load.requests * sets / spent))
    return rates


def run_batch(sets: int) -> dict[str, float]:
    """Send so many 270 in one file, and wait in simulated time for the file with the answers."""
    site = Site()
    playground, sandboxes = site.open()
    drop = sandboxes.get_as(Files)
    text = interchange(group("270", *(eligibility(f"T{number}") for number in range(sets))))
    gc.collect()
    before, began, spent = resident(), time.perf_counter(), time.process_time()
    drop.write("outbound/batch.edi", text)
    playground.advance(timedelta(minutes=1))
    acknowledged = time.perf_counter() - began
    playground.advance(timedelta(minutes=30))
    answered, cpu = time.perf_counter() - began, time.process_time() - spent
    _, reply = sorted(drop.list("inbound"))
    assert drop.read(reply).count(b"~ST*271*") == sets
    site.listener.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "megabytes": len(text) / 1e6,
        "acknowledged": acknowledged,
        "answered": answered,
        "cpu": cpu,
        "before": before / 1024,
        "peak": peak,
        "events": len(playground.log.events),
    }


def run_idle(playgrounds: int) -> dict[str, float]:
    """Return the kilobytes of each of so many playgrounds, idle and after one inquiry."""
    site = Site()
    _, warm = site.open()
    warm.get_as(X12).send(build_interchange("270, one set", 1))
    gc.collect()
    before = resident()
    opened = [site.open() for _ in range(playgrounds)]
    handles = [sandboxes.get_as(X12) for _, sandboxes in opened]
    gc.collect()
    idle = resident()
    for handle in handles:
        handle.send(build_interchange("270, one set", 1))
    gc.collect()
    used = resident()
    site.listener.close()
    return {"idle": (idle - before) / playgrounds, "used": (used - before) / playgrounds}


CASES: dict[str, Callable[[int], dict[str, float]]] = {"batch": run_batch, "idle": run_idle}


def measure(case: str, size: int) -> dict[str, float]:
    """Measure one case in a process of its own."""
    return measure_case("benchmarks.x12_sandbox", case, size)


def table(seconds: float = 3.0, batch: int = BATCH, playgrounds: int = IDLE) -> str:
    """Measure everything, and return the table."""
    rows = [
        (
            f"{rate.name}, over HTTP on {CONNECTIONS} connections",
            f"{rate.interchanges:,.0f} interchanges/s",
            f"{rate.sets_per_cpu_second:,.0f} sets",
        )
        for rate in measure_http(seconds)
    ]
    figures = measure("batch", batch)
    rows += [
        (f"batch of {batch:,} 270 in a file of {figures['megabytes']:.1f} MB", f"{figures['answered']:.1f} s", ""),
        ("… CPU time", f"{figures['cpu']:.1f} s", f"{batch / figures['cpu']:,.0f} sets"),
        ("… memory: before, at most", f"{figures['before']:.0f} MB, {figures['peak']:.0f} MB", ""),
    ]
    idle = measure("idle", playgrounds)
    rows += [
        (f"{playgrounds:,} idle playgrounds with X12, files and a payer, each", f"{idle['idle']:.1f} KB", ""),
        ("… after one 270 in each", f"{idle['used']:.1f} KB", ""),
    ]
    return render_table(("sandbox", "measured", "per CPU second"), rows)


def main() -> None:
    """Parse the command line, and print the table or the figures of one case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="that it works at all: seconds instead of minutes")
    parser.add_argument("--case", choices=("serve", *CASES), help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=1, help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.case == "serve":
        serve()
    elif options.case:
        print(json.dumps(CASES[options.case](options.size)))
    else:
        print(table(0.3, 100, 20) if options.quick else table(), flush=True)


if __name__ == "__main__":
    main()
