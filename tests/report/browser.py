"""Chromium without a window, driven through the pipe of its debugging protocol."""

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAM = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")


class ScriptFailed(Exception):
    """A script of the page, or one of a test, raised an error."""


def _open_pipe() -> tuple[int, int]:
    """Open a pipe whose descriptors are neither 3 nor 4, so that redirecting one never closes another."""
    ends = os.pipe()
    above = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return above[0], above[1]


class Browser:
    """One page. Chromium reads commands from its descriptor 3 and writes answers to 4, each ended by a zero byte."""

    def __init__(self, profile: Path) -> None:
        self._profile = profile
        self._session: str | None = None
        self._sent = 0
        self.errors: list[str] = []
        """Errors that the page's own script raised."""

    def __enter__(self) -> Self:
        reads_commands, commands = _open_pipe()
        answers, writes_answers = _open_pipe()
        # A shell gives the descriptors the numbers 3 and 4.
        redirect = f'exec "$@" 3<&{reads_commands} 4>&{writes_answers}'
        command = ["bash", "-c", redirect, "bash", str(PROGRAM), *_FLAGS, f"--user-data-dir={self._profile}"]
        self._process = subprocess.Popen(
            [*command, "about:blank"],
            pass_fds=(reads_commands, writes_answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads_commands)
        os.close(writes_answers)
        self._commands, self._answers = os.fdopen(commands, "wb", buffering=0), os.fdopen(answers, "rb")
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.send("Page.enable")
        self.send("Runtime.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        finally:
            self._process.kill()
        self._commands.close()
        self._answers.close()

    def open(self, page: Path) -> None:
        """Open a file and wait until it is loaded."""
        self.errors.clear()
        self.send("Page.navigate", url=page.as_uri())
        while self._read().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression, which may be a promise."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise ScriptFailed(answer["exceptionDetails"])
        return answer["result"].get("value")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._sent += 1
        session = {"sessionId": self._session} if self._session else {}
        line = json.dumps({"id": self._sent, "method": method, "params": parameters, **session})
        self._commands.write(line.encode() + b"\0")
        while (answer := self._read()).get("id") != self._sent:
            pass
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self._answers.read(1)) != b"\0":
            if not byte:
                raise ScriptFailed("Chromium ended")
            data += byte
        message: dict[str, Any] = json.loads(data)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(message["params"]))
        return message
