"""A process of its own for work on untrusted data, with limits of memory, processor time and wall time.

Libraries that decode pictures and documents, and OCR engines, can take any amount of memory and time, and can crash.
In a process of their own that ends the process, and not the run.
"""

import atexit
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Literal

from clerkship.model.errors import PlatformError

Limit = Literal["memory", "cpu", "wall"]
LENGTH_BYTES = 8
"""Bytes of the length in front of each request and reply."""
MAX_REPLY = 500_000_000


@dataclass(frozen=True)
class WorkerLimits:
    """What one call may take."""

    memory: int
    """Bytes of address space of the process."""
    cpu_seconds: int
    wall_seconds: float


class WorkerLimitExceeded(Exception):
    """A call took more than it may. Its process was ended."""

    def __init__(self, limit: Limit, message: str) -> None:
        super().__init__(message)
        self.limit = limit


class WorkerCrashed(PlatformError):
    """The process ended, or its function raised an exception that it should have handled."""

    exit_code: int | None = None
    """The code with which the process ended, negative for a signal; None if it did not end."""


class WorkerProcess:
    """Calls one function, from bytes to bytes, in a process that is started on first use and kept.

    A process that ended is replaced at the next call. Threads can share a worker: calls are made one after the other.
    """

    def __init__(self, target: str, limits: WorkerLimits) -> None:
        self._target = target
        """The function as `package.module:function`."""
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def call(self, request: bytes) -> bytes:
        """Return the function's result. Raise WorkerLimitExceeded or WorkerCrashed."""
        with self._lock:
            process, is_late = self._start(), threading.Event()
            timer = threading.Timer(self._limits.wall_seconds, _kill, (process, is_late))
            timer.daemon = True
            timer.start()
            try:
                return self._exchange(process, request, is_late)
            finally:
                timer.cancel()

    def close(self) -> None:
        """End the process. The next call starts another."""
        with self._lock:
            self._end()

    def _start(self) -> "subprocess.Popen[bytes]":
        """Return the running process."""
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        limits = (str(self._limits.memory), str(self._limits.cpu_seconds))
        self._process = subprocess.Popen(
            # Not from the working folder, where an agent may have written modules.
            [sys.executable, "-B", "-P", "-m", "clerkship.formats.fax_pages.worker_main", self._target, *limits],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Nothing of our environment, where there are secrets. One thread: several make no page faster here.
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_THREAD_LIMIT": "1"},
            start_new_session=True,  # Ctrl-C ends the parent, which closes the pipe, which ends the worker
        )
        atexit.register(self.close)
        return self._process

    def _exchange(self, process: "subprocess.Popen[bytes]", request: bytes, is_late: threading.Event) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(len(request).to_bytes(LENGTH_BYTES, "big"))
            process.stdin.write(request)
            process.stdin.flush()
        status = process.stdout.read(1)
        reply = read_frame(process.stdout) if status else None
        if reply is None:
            raise self._explain_end(process, is_late)
        if status == b"m":
            raise WorkerLimitExceeded("memory", f"it takes more than {self._limits.memory:,} bytes of memory")
        if status == b"e":
            raise WorkerCrashed(f"{self._target}: {reply.decode(errors='replace')}")
        return reply

    def _explain_end(self, process: "subprocess.Popen[bytes]", is_late: threading.Event) -> Exception:
        """Return the exception for a process that ended before it replied."""
        self._end()
        if process.returncode == -signal.SIGXCPU:
            return WorkerLimitExceeded("cpu", f"it takes more than {self._limits.cpu_seconds} s of processor time")
        if is_late.is_set():
            return WorkerLimitExceeded("wall", f"it takes longer than {self._limits.wall_seconds:g} s")
        crash = WorkerCrashed(f"{self._target}: the worker process ended with code {process.returncode}")
        crash.exit_code = process.returncode
        return crash

    def _end(self) -> None:
        """End the process and close its pipes."""
        process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.close)
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _kill(process: "subprocess.Popen[bytes]", is_late: threading.Event) -> None:
    is_late.set()
    process.kill()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """Read a length and as many bytes; None if the stream ends before."""
    head = stream.read(LENGTH_BYTES)
    size = int.from_bytes(head, "big")
    if len(head) < LENGTH_BYTES or size > MAX_REPLY:
        return None
    body = stream.read(size)
    return body if len(body) == size else None
