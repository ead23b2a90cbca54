"""A Temporal server and workers as processes that can be killed."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Self

import pytest

from tests.clients.installs import CannotInstall, python_environment
from tests.waiting import wait_until

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
WORKER_TIMEOUT = 2
"""Seconds after which a killed worker counts as dead."""
AGENT = "python:clerk_agent:Clerk"
AGENT_FILE = """
import asyncio
import os


class Clerk:
    async def on_task(self, task_item, sandboxes):
        with open(os.environ["LEDGER"], "a") as ledger:
            ledger.write(task_item["name"] + "\\n")
        sandboxes["drop"].write("first.txt", b"a" * 5000)  # large enough to be kept as a body of its own
        await asyncio.sleep(float(os.environ.get("PAUSE", "0.1")))
        sandboxes["drop"].write("second.txt", task_item["name"].encode())
        return "done"
"""


class KillableProcess:
    """A program that can be killed and started again."""

    def __init__(self, command: list[str], folder: Path, environ: dict[str, str], ready: str = "") -> None:
        self._command, self._folder, self._environ = command, folder, environ
        self._ready = ready
        self._output = folder / f"{Path(command[0]).name}-{id(self)}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start it; `wait_ready` waits until it is ready."""
        log: IO[bytes]
        with self._output.open("wb") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=os.environ | self._environ, stdout=log, stderr=subprocess.STDOUT
            )
        return self

    def wait_ready(self) -> None:
        """Wait until it has printed what it prints when it is ready."""
        wait_until(lambda: self._ready in self.output() or not self.is_running(), self.output(), within=60)
        assert self.is_running(), self.output()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def output(self) -> str:
        """Return what it has printed since its last start."""
        return self._output.read_text(errors="replace")

    def kill(self) -> None:
        """End it by SIGKILL."""
        self.send(signal.SIGKILL)

    def send(self, number: int) -> int:
        """Send a signal that ends it, and return its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(60)

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)


class TemporalServer(KillableProcess):
    """Temporal's own development server, with its data in a file that outlives it, or in memory."""

    def __init__(self, folder: Path, *, in_memory: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        program = _find_program()
        self.port, http, metrics = _find_free_ports(3)
        self.address = f"127.0.0.1:{self.port}"
        command = [str(program), "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(self.port)]
        command += ["--http-port", str(http), "--metrics-port", str(metrics), "--log-level", "error"]
        command += [] if in_memory else ["--db-filename", str(folder / "temporal.db")]
        super().__init__(command, folder, {})

    def wait_ready(self) -> None:
        """Wait until it accepts connections."""
        wait_until(self._accepts, within=60)

    def _accepts(self) -> bool:
        assert self.is_running(), self.output()
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False


class Fleet:
    """A server, its workers, and the ledger of their agents."""

    def __init__(self, folder: Path, stack: ExitStack, *, pause: float = 0.1, in_memory: bool = False) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._stack = stack
        self.ledger = folder / "ledger.txt"
        self.ledger.touch()
        (folder / "clerk_agent.py").write_text(AGENT_FILE)
        self.environ = {
            "LEDGER": str(self.ledger),
            "PAUSE": str(pause),
            "CLERKSHIP_WORKER_TIMEOUT": f"{WORKER_TIMEOUT}",
        }
        self.server = TemporalServer(folder / "server", in_memory=in_memory)
        stack.callback(self.server.end)
        self.server.start()
        self.workers: list[KillableProcess] = []

    def add_workers(self, count: int, concurrency: int, *more: str) -> None:
        """Start workers, and wait until all are ready."""
        self.server.wait_ready()
        for _ in range(count):
            command = [sys.executable, "-m", "clerkship", "worker", "--temporal", self.server.address]
            command += ["--agent", AGENT, "--concurrency", str(concurrency), *more]
            worker = KillableProcess(command, self.folder, self.environ, "ready: ")
            self._stack.callback(worker.end)
            self.workers.append(worker.start())
        for worker in self.workers:
            worker.wait_ready()

    def count_started(self) -> int:
        """Return how many agents have started."""
        return len(self.ledger.read_text().splitlines())

    def wait_started(self, count: int) -> None:
        """Wait until so many agents have started."""
        wait_until(lambda: self.count_started() >= count, within=60)


@contextmanager
def open_fleet(folder: Path, *, pause: float = 0.1, in_memory: bool = False) -> Iterator[Fleet]:
    """Start a server; everything ends with the block."""
    with ExitStack() as stack:
        yield Fleet(folder, stack, pause=pause, in_memory=in_memory)


def _find_program() -> Path:
    try:
        python = python_environment("temporal", REQUIREMENTS)
    except CannotInstall as reason:
        pytest.skip(str(reason))
    return python.with_name("temporal")


def _find_free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
