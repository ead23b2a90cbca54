"""Cases and servers of benchmarks in processes of their own, the memory of a process, and the playgrounds in it."""

import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from clerkship.model.environment import Environment
from clerkship.playground.gateway import Gateway
from clerkship.playground.http import open_http
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.playground import Playground
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.handle import Sandboxes
from clerkship.simulators.spec import Spec

ROOT = Path(__file__).resolve().parent.parent


class BenchmarkSite:
    """Playgrounds with one sandbox, and the HTTP server that serves them."""

    def __init__(self, name: str, spec: Spec, config: dict[str, Any]) -> None:
        self.environment = Environment.model_validate({"name": "office", "simulators": {name: {"kind": spec.kind}}})
        prepared = PreparedSimulator(spec, spec.config.model_validate(config), spec.prepare(()))
        self.simulators = {name: prepared}
        self.gateway = Gateway()
        self.listener = open_http(self.gateway)
        self.opened = 0

    def open(self) -> tuple[Playground, Sandboxes]:
        """Open a new playground, as a trial does."""
        self.opened += 1
        playground = Playground(self.environment, self.simulators, f"seed-{self.opened}")
        return playground, open_sandboxes(self.gateway, playground, self.listener.url)


def measure_idle(site: BenchmarkSite, playgrounds: int) -> dict[str, float]:
    """Return the kilobytes of an idle playground, and the microseconds in which a simulated day passes on it."""
    site.open()
    gc.collect()
    before = resident()
    opened = [site.open()[0] for _ in range(playgrounds)]
    gc.collect()
    used = (resident() - before) / playgrounds
    began = time.process_time()
    for playground in opened:
        playground.advance(timedelta(days=1))
    day = (time.process_time() - began) / playgrounds
    site.listener.close()
    return {"kilobytes": used, "microseconds": day * 1_000_000}


def resident() -> float:
    """Return the kilobytes that this process has in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def run_case(module: str, *words: str, at_start: Callable[[], None] | None = None) -> dict[str, Any]:
    """Run `python -m MODULE --case WORDS`, and return the figures that it prints."""
    command = [sys.executable, "-m", module, "--case", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, preexec_fn=at_start)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def measure_case(module: str, case: str, size: int) -> dict[str, float]:
    """Run `python -m MODULE --case CASE --size SIZE`, and return the figures that it prints."""
    return run_case(module, case, "--size", str(size))


@contextmanager
def start_server(module: str, case: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """Run `python -m MODULE --case CASE`, and yield a function that returns the address it prints for a line."""
    command = [sys.executable, "-m", module, "--case", case]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def read_address() -> dict[str, Any]:
            stdin.write("\n")
            stdin.flush()
            address: dict[str, Any] = json.loads(stdout.readline())
            return address

        try:
            yield read_address
        finally:
            stdin.close()
            process.wait(30)
