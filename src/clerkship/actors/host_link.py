"""The connection of an agent's own process to the platform: lines of JSON over two pipes.

The platform sends calls of the agent's entry points and answers to requests; this side sends requests and results. Any
thread may send a request, and waits for its answer.
"""

import base64
import importlib
import json
import os
import threading
from itertools import count
from operator import attrgetter
from queue import SimpleQueue
from typing import Any

PART_BYTES = 4_000_000
"""Bytes of a body in one line; a longer one is sent in parts."""


class Disconnected(ConnectionError):
    """The platform has closed the connection: the trial is over."""


class HostLink:
    """Sends and receives lines; a thread reads them and passes each to the caller that waits for it."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._pid = os.getpid()
        self._calls: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._answers: dict[int, SimpleQueue[dict[str, Any]]] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._is_over = False
        threading.Thread(target=self._read, name="clerkship-link", daemon=True).start()

    def next_call(self) -> dict[str, Any] | None:
        """Wait for the next call of the platform; None at the end of the connection."""
        return self._calls.get()

    def request(self, what: str, *, body: bytes = b"", **details: Any) -> Any:
        """Send a request to the platform; return its value, or raise its error."""
        if os.getpid() != self._pid:
            raise Disconnected("sandboxes cannot be used from a process that the agent has forked")
        answer: SimpleQueue[dict[str, Any]] = SimpleQueue()
        with self._lock:
            if self._is_over:
                raise Disconnected("the trial is over")
            number = next(self._numbers)
            self._answers[number] = answer
            for start in range(0, len(body), PART_BYTES):
                self._write({"part": base64.b64encode(body[start : start + PART_BYTES]).decode()})
            self._write({"request": what, "number": number, **details})
        reply = answer.get()
        if "error" in reply:
            raise _rebuild(**reply["error"])
        return reply["value"]

    def send(self, message: dict[str, Any]) -> None:
        """Send the result of a call."""
        with self._lock:
            self._write(message)

    def _write(self, message: dict[str, Any]) -> None:
        line = memoryview(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        while line:
            line = line[os.write(self._writing, line) :]

    def _read(self) -> None:
        with os.fdopen(self._reading, "rb") as lines:
            for line in lines:
                message = json.loads(line)
                if "answer" in message:
                    self._answers.pop(message["answer"]).put(message)
                else:
                    self._calls.put(message)
        with self._lock:
            self._is_over = True
        over = {"type": "clerkship.actors.host_link:Disconnected", "message": "the trial is over"}
        for waiting in self._answers.values():
            waiting.put({"error": over})
        self._calls.put(None)


def _rebuild(type: str, message: str) -> Exception:
    """Create an exception of the class that was raised on the platform's side."""
    module, _, name = type.partition(":")
    kind = attrgetter(name)(importlib.import_module(module))
    try:
        error = kind(message)
    except Exception:  # its constructor takes something else
        return RuntimeError(message)
    return error if isinstance(error, Exception) else RuntimeError(message)
