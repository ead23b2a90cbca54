"""Run the command line in processes, read their output, and stop them by signals."""

import json
import os
import queue
import signal
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from tests.command_server import get_command_path

IN_BACKGROUND = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
"""Starts a command as a shell script starts one in the background, with Ctrl-C ignored."""
LIMIT = 30.0


class Stopped(NamedTuple):
    """How a process ended."""

    code: int
    out: str
    err: str


def clerkship(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    command, environment = ["clerkship", *arguments], _environment()
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)


class Process:
    """A command that runs until it is stopped; its lines can be read as it writes them."""

    def __init__(self, folder: Path, *arguments: str, merges_errors: bool = False, in_background: bool = False) -> None:
        self._process = subprocess.Popen(
            [*(IN_BACKGROUND if in_background else []), "clerkship", *arguments],
            cwd=folder,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merges_errors else subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill the process if it is still running."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(LIMIT)
        self._reader.join(LIMIT)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def line(self) -> str:
        """Return the next line."""
        try:
            return self._lines.get(timeout=LIMIT)
        except queue.Empty:
            self._process.kill()
            raise AssertionError(f"it wrote nothing: {self._read_errors()}") from None

    def expect(self, text: str) -> str:
        """Return the lines up to the first that contains a text."""
        lines = ""
        while text not in lines:
            lines += self.line()
        return lines

    def stop(self, number: int = signal.SIGINT) -> Stopped:
        """Send a signal and wait for the end."""
        self._process.send_signal(number)
        return self.wait_for_end()

    def wait_for_end(self) -> Stopped:
        """Wait for the end, and return how it ended."""
        code = self._process.wait(LIMIT)
        self._reader.join(LIMIT)
        rest = ""
        while not self._lines.empty():
            rest += self._lines.get_nowait()
        return Stopped(code, rest, self._read_errors())

    def _read_errors(self) -> str:
        return self._process.stderr.read() if self._process.stderr is not None else ""


class UpProcess(Process):
    """A running `clerkship up --json`."""

    def __init__(self, folder: Path, *arguments: str, in_background: bool = False) -> None:
        super().__init__(folder, "up", *arguments, "--json", in_background=in_background)
        self.folder = folder
        try:
            self.document: dict[str, Any] = json.loads(self.line())
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def way(self, sandbox: str) -> tuple[str, str]:
        """Return the address and token of a sandbox."""
        found = self.document["sandboxes"][sandbox]
        return found["url"], found["token"]

    def control(self) -> tuple[str, str]:
        """Return the address and token of the control API, from the registration file."""
        registration = self.read_registration()
        return registration["url"], registration["token"]

    def read_registration(self) -> dict[str, Any]:
        """Return what other commands know of this process."""
        path = self.folder / ".clerkship" / "up" / f"{self.document['name']}.json"
        registration: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return registration


def _environment() -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("CLERKSHIP_", "UV_"))}
    return own | {"PATH": get_command_path()}
