"""Servers in processes of their own, forked from one that has imported everything: so a start takes a moment.

    python -m tests.api.server_process

For each line of its input, which is a data folder, it starts `clerkship serve`, prints the id of the process, the line
that the command prints, and how the process ended.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from tests.processes import start_process


class ServerProcess:
    """Starts servers one after the other, and ends them."""

    def __init__(self, launcher: "subprocess.Popen[str]") -> None:
        self._launcher = launcher
        self._pid = 0
        self.url = ""

    def start(self, folder: Path) -> None:
        """Start a server on a folder, and wait until it listens."""
        assert self._launcher.stdin is not None
        self._launcher.stdin.write(f"{folder}\n")
        self._launcher.stdin.flush()
        self._pid = self._read()["pid"]
        self.url = self._read()["url"]

    def end(self, number: signal.Signals) -> int:
        """Send a signal to the server, and return its exit code; that of a signal is negative."""
        os.kill(self._pid, number)
        return int(self._read()["exit"])

    def _read(self) -> dict[str, Any]:
        assert self._launcher.stdout is not None
        answer: dict[str, Any] = orjson.loads(self._launcher.stdout.readline())
        return answer


@contextmanager
def open_launcher(log: Path) -> Iterator[ServerProcess]:
    """Open a launcher of servers, which write their log to a file. Both end with the block."""
    with log.open("wb") as file:
        command = [sys.executable, "-m", "tests.api.server_process"]
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": file, "start_new_session": True}
        with start_process(command, **options) as launcher:
            try:
                yield ServerProcess(launcher)
            finally:
                os.killpg(launcher.pid, signal.SIGKILL)


def main() -> None:
    """Fork a server for each line."""
    from clerkship.api import serving  # noqa: F401, PLC0415  (so that it is imported once)
    from clerkship.cli.serve import serve  # noqa: PLC0415

    while folder := sys.stdin.readline().strip():
        pid = os.fork()
        if pid == 0:
            _write({"pid": os.getpid()})
            serve(data=Path(folder), port=0, json=True)
            os._exit(0)
        _write({"exit": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])})


def _write(answer: dict[str, int]) -> None:
    os.write(sys.stdout.fileno(), orjson.dumps(answer) + b"\n")


if __name__ == "__main__":
    main()
