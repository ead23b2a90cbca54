"""Measure MLLP round trips per second: our sandbox, and the server of the `hl7` library that answers with `create_ack`.

    python -m benchmarks.feeds_mllp [--seconds 1.5] [--rounds 3] [--quick]

The message is an ORU^R01 with five OBX segments. Each server is its own process. One client measures all of them in
turn and in rounds, one frame at a time on each connection; the result is the median of the rounds. Their server
parses the message and answers AA to everything. Ours validates it, logs it and acknowledges it by the rules; with a
chart, it also files the results.
"""

import argparse
import asyncio
import contextlib
import json
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

from hl7.mllp import HL7StreamReader, HL7StreamWriter, start_hl7_server

from benchmarks.processes import cpu_seconds
from benchmarks.table import render_table, times
from clerkship.events.log import MAX_EVENTS
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import render_resource
from clerkship.model.environment import Environment, Simulator
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.simulators import fhir, hl7

ROOT = Path(__file__).resolve().parent.parent
CONNECTIONS = (1, 8)
ROUNDS = 3
AIMS = {"ours": "≥ 3×", "chart": "≥ 600/s"}
ENOUGH = MAX_EVENTS - 5_000
"""Messages that one run takes: then the next is asked."""
PATIENT = {
    "resourceType": "Patient",
    "id": "p1",
    "identifier": [{"type": {"coding": [{"code": "MR"}]}, "value": "MRN1"}],
    "name": [{"family": "Okafor", "given": ["Ada"]}],
    "birthDate": "1965-03-15",
}
BODY = (
    "PID|1||MRN1^^^CLINIC^MR||Okafor^Ada||19650315|F\rORC|RE|P1|F1\r"
    "OBR|1|P1|F1|24323-8^Metabolic panel^LN|||20260302080000|||||||||||||||20260302083000|||F\r"
    "OBX|1|NM|2823-3^Potassium^LN||4.1|mmol/L|3.5-5.1|N|||F\rOBX|2|NM|2951-2^Sodium^LN||139|mmol/L|136-145|N|||F\r"
    "OBX|3|NM|2075-0^Chloride^LN||101|mmol/L|98-107|N|||F\rOBX|4|NM|2160-0^Creatinine^LN||1.1|mg/dL|0.6-1.2|N|||F\r"
    "OBX|5|NM|2345-7^Glucose^LN||96|mg/dL|70-99|N|||F\r"
)
SERVERS = {"ours": "clerkship", "chart": "clerkship, filed in the chart", "theirs": "hl7 0.4.5, create_ack"}


def message(facility: str, control_id: str) -> bytes:
    """Return a framed message."""
    head = rf"MSH|^~\&|AGENT|CLINIC|LAB|{facility}|20260302090000||ORU^R01^ORU_R01|{control_id}|P|2.5.1"
    return f"\x0b{head}\r{BODY}\x1c\r".encode()


# The servers.


@contextlib.contextmanager
def open_ours(runs: int, *, chart: bool) -> Iterator["Site"]:
    """Open so many playgrounds behind one listener in this process."""
    gateway = Gateway()
    lines = ListenerPool(gateway)
    simulators = {"lab": Simulator(kind="hl7")} | ({"ehr": Simulator(kind="fhir")} if chart else {})
    reactions = ["lab.oru.sent -> ehr"] if chart else []
    place = Environment.model_validate({"name": "bench", "simulators": simulators, "reactions": reactions})
    rooms = {"lab": PreparedSimulator(hl7.SPEC, hl7.SPEC.config())}
    if chart:
        rooms["ehr"] = PreparedSimulator(fhir.SPEC, fhir.SPEC.config(), Chart([render_resource(PATIENT)]))
    told = []
    for number in range(runs):
        playground = Playground(place, rooms, f"bench-{number}")
        told.append(open_sandboxes(gateway, playground, lambda: "", lines)["lab"].listeners["mllp"])
    try:
        yield Site("ours", int(told[0]["port"]), [str(each["facility"]) for each in told])
    finally:
        lines.close()


def serve_ours(runs: int, *, chart: bool) -> None:
    """Print the address, and serve until standard input is closed."""
    with open_ours(runs, chart=chart) as site:
        print(json.dumps({"port": site.port, "facilities": site.facilities}), flush=True)
        sys.stdin.read()


def serve_theirs() -> None:
    """Serve with the `hl7` library as its documentation shows."""

    async def answer(reader: HL7StreamReader, writer: HL7StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while not writer.is_closing():
                writer.writemessage((await reader.readmessage()).create_ack())
                await writer.drain()
        writer.close()

    async def serve() -> None:
        server = await start_hl7_server(answer, "127.0.0.1", 0)
        print(json.dumps({"port": server.sockets[0].getsockname()[1], "facilities": ["X"]}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        server.close()

    asyncio.run(serve())


class Rate(NamedTuple):
    """Round trips per second of wall time, and per CPU second of the server."""

    wall: float
    cpu: float


@dataclass
class Site:
    """A running server."""

    who: str
    port: int
    facilities: list[str]
    sent: int = 0
    pid: int = 0
    """Of its process."""
    rates: dict[int, list[Rate]] = field(default_factory=dict)
    """By number of connections."""

    def facility(self, count: int = 1) -> str:
        """Return the facility of a run that can take so many more messages."""
        if len(self.facilities) > 1 and self.sent + count > ENOUGH:
            self.facilities.pop(0)
            self.sent = 0
        self.sent += count
        return self.facilities[0]


@contextlib.contextmanager
def started(who: str, runs: int) -> Iterator[Site]:
    """Start a server in its own process."""
    command = [sys.executable, "-m", "benchmarks.feeds_mllp", "--serve", who, "--runs", str(runs)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        try:
            yield Site(who, told["port"], told["facilities"], pid=process.pid)
        finally:
            process.stdin.close()
            process.wait(10)


# The client.


def drive(site: Site, connections: int, seconds: float) -> float:
    """Return round trips per second; each connection sends its next message as soon as it is answered."""
    with contextlib.ExitStack() as stack:
        ready = stack.enter_context(selectors.DefaultSelector())
        for _ in range(connections):
            wire = stack.enter_context(socket.create_connection(("127.0.0.1", site.port), timeout=10))
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ready.register(wire, selectors.EVENT_READ, bytearray())
            wire.sendall(next_message(site))
        began, count = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            for key, _ in ready.select(10):
                wire = key.fileobj  # type: ignore[assignment]
                key.data.extend(wire.recv(65536))
                if key.data.endswith(b"\x1c\r"):
                    assert b"MSA|AA|" in key.data, bytes(key.data)
                    key.data.clear()
                    count += 1
                    wire.sendall(next_message(site))
        return count / (time.perf_counter() - began)


def next_message(site: Site) -> bytes:
    """Return a message that was not sent before."""
    facility = site.facility()
    return message(facility, f"{len(site.facilities)}-{site.sent}")


class Measured(NamedTuple):
    """Round trips per second of one server, with a number of connections."""

    who: str
    connections: int
    rate: float
    rate_per_cpu_second: float
    theirs: float
    theirs_per_cpu_second: float

    @property
    def beside(self) -> float:
        """How many times as fast as the library's."""
        return self.rate / self.theirs

    @property
    def beside_in_cpu(self) -> float:
        """The same ratio in CPU seconds of the servers."""
        return self.rate_per_cpu_second / self.theirs_per_cpu_second


def measure(seconds: float = 1.5, rounds: int = ROUNDS) -> list[Measured]:
    """Measure every server with one and with eight connections, alternating, in several rounds."""
    runs = 2 + int(seconds * rounds * len(CONNECTIONS) * 10_000 / ENOUGH)
    with contextlib.ExitStack() as stack:
        sites = [stack.enter_context(started(who, runs)) for who in SERVERS]
        for site in sites:
            drive(site, 1, seconds / 4)  # what is loaded once is loaded
        for _ in range(rounds):
            for connections in CONNECTIONS:
                for site in sites:
                    site.rates.setdefault(connections, []).append(drive_and_count(site, connections, seconds))
        return [
            Measured(site.who, count, *median_of(site, count), *median_of(sites[-1], count))
            for count in CONNECTIONS
            for site in sites
        ]


def drive_and_count(site: Site, connections: int, seconds: float) -> Rate:
    """Return round trips per second, and per CPU second of the server."""
    spent, began = cpu_seconds(site.pid), time.perf_counter()
    rate = drive(site, connections, seconds)
    return Rate(rate, rate * (time.perf_counter() - began) / max(cpu_seconds(site.pid) - spent, 0.01))


def median_of(site: Site, connections: int) -> Rate:
    """Return the medians of the rounds of a server."""
    rates = site.rates[connections]
    return Rate(median(rate.wall for rate in rates), median(rate.cpu for rate in rates))


def table(found: list[Measured]) -> str:
    """Return the results as a table."""
    return render_table(
        ("MLLP, ORU^R01 with 5 OBX", "connections", "round trips/s", "per CPU second", "ratio", "in CPU", "aim"),
        [
            (
                SERVERS[row.who],
                str(row.connections),
                f"{row.rate:,.0f}",
                f"{row.rate_per_cpu_second:,.0f}",
                times(row.beside),
                times(row.beside_in_cpu),
                AIMS.get(row.who, ""),
            )
            for row in found
        ],
    )


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--seconds", type=float, default=1.5, help="of each measurement")
    asked.add_argument("--rounds", type=int, default=ROUNDS)
    asked.add_argument("--quick", action="store_true", help="one round of half a second")
    asked.add_argument("--serve", choices=tuple(SERVERS), help=argparse.SUPPRESS)
    asked.add_argument("--runs", type=int, default=2, help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.serve == "theirs":
        serve_theirs()
    elif options.serve:
        serve_ours(options.runs, chart=options.serve == "chart")
    else:
        found = measure(0.5, 1) if options.quick else measure(options.seconds, options.rounds)
        print(table(found))


if __name__ == "__main__":
    main()
