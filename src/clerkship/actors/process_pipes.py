"""The standard streams of a program, read and written without blocking and without a thread.

Unread output stays in the pipe and blocks the program, so that no amount of output can fill the memory.
"""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Sequence
from typing import IO

from clerkship.actors.contract import AgentError
from clerkship.actors.isolation.contract import READY
from clerkship.actors.messages import MAX_REPLY_BYTES

MAX_STDERR_BYTES = 65_536
CHUNK = 65_536
POLL_INTERVAL = 0.05
"""Seconds between checks whether the program still runs: its children may keep its pipes open."""


class ProcessPipes:
    """Lines to and from one program, and the end of its standard error."""

    def __init__(self) -> None:
        self._files: tuple[IO[bytes], ...] = ()
        self._pending = bytearray()
        self._input_ends = False
        self._out, self._err = bytearray(), bytearray()
        self._searched = 0
        self.ended = False
        """Whether standard output has ended."""
        self._err_ended = False
        self.launchers = 0
        """The number of launchers that have not reported yet that they start the program."""

    def attach(self, child: "subprocess.Popen[bytes]", launchers: int = 0) -> None:
        """Use the pipes of a started program, which has this number of launchers before it."""
        self.launchers = launchers
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        self._files = (child.stdin, child.stdout, child.stderr)
        for file in self._files:
            os.set_blocking(file.fileno(), False)

    @property
    def errors(self) -> str:
        """The last MAX_STDERR_BYTES of its standard error, as text."""
        return self._err.decode(errors="replace")

    def send(self, line: bytes, *, is_last: bool = False) -> None:
        """Queue a line, to be written as fast as the program reads; standard input ends after the last one."""
        self._pending += line + b"\n"
        self._input_ends = is_last

    def take_line(self) -> bytes | None:
        """Return the next line without its end, or None if there is none yet; raise AgentError if it is too long."""
        end = self._out.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._out)
            if len(self._out) > MAX_REPLY_BYTES:
                raise AgentError(f"it wrote a line of more than {MAX_REPLY_BYTES:,} bytes")
            if not self.ended or not self._out:
                return None
            end = len(self._out)  # the last line may have no line end
        line = bytes(self._out[:end])
        del self._out[: end + 1]
        self._searched = 0
        return line

    def descriptors(self) -> tuple[list[int], list[int]]:
        """Return the descriptors to wait for: those to read from, and those to write to."""
        stdin, stdout, stderr = self._files
        reading = [stdout.fileno()] * (not self.ended) + [stderr.fileno()] * (not self._err_ended)
        return reading, [stdin.fileno()] if self._can_write() else []

    def pump(self, gone: bool) -> None:
        """Write and read a little; `gone` says that the program had ended before."""
        self._write()
        self._read_errors()
        data = _read(self._files[1]) if not self.ended else b""
        self._out += data or b""
        self.ended = self.ended or data == b"" or (gone and data is None)
        if self.launchers and self._out:
            self._start_next()

    def _start_next(self) -> None:
        """Answer a launcher that is ready. One that writes anything else has failed, so its output is not read on."""
        if self._out != READY:
            self.ended = True
            return
        self._out.clear()
        self.launchers -= 1
        with contextlib.suppress(OSError):  # it has been killed, so its output ends too
            os.write(self._files[0].fileno(), READY)

    def drain(self) -> None:
        """Discard standard output, and keep standard error."""
        if self._files:
            self.drain_errors()
            if not self.ended:
                self.ended = _read(self._files[1]) == b""

    def drain_errors(self) -> None:
        """Read what is in standard error now, a limited amount."""
        for _ in range(16):
            if not self._files or not self._read_errors():
                return

    def close_input(self) -> None:
        """Close standard input, which asks most programs to end."""
        if self._files:
            self._files[0].close()

    def close(self) -> None:
        for file in self._files:
            file.close()

    def _can_write(self) -> bool:
        return bool(self._pending) and not self.launchers and not self._files[0].closed

    def _write(self) -> None:
        stdin = self._files[0]
        if self._input_ends and not self._pending and not self.launchers:
            stdin.close()
        if not self._can_write():
            return
        try:
            del self._pending[: os.write(stdin.fileno(), self._pending[:CHUNK])]
        except BlockingIOError:
            pass
        except OSError:  # it closed its input, which is allowed
            self._pending.clear()
            stdin.close()

    def _read_errors(self) -> bool:
        """Read some of standard error; return whether there was any."""
        data = _read(self._files[2]) if not self._err_ended else b""
        self._err_ended = data == b""
        self._err += data or b""
        del self._err[:-MAX_STDERR_BYTES]
        return bool(data)


async def wait_for(reading: Sequence[int], writing: Sequence[int]) -> None:
    """Wait until a descriptor is ready, or until it is time to check whether the program still runs."""
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    for fd in reading:
        loop.add_reader(fd, wake)
    for fd in writing:
        loop.add_writer(fd, wake)
    timer = loop.call_later(POLL_INTERVAL, wake)
    try:
        await woken
    finally:
        timer.cancel()
        for fd in reading:
            loop.remove_reader(fd)
        for fd in writing:
            loop.remove_writer(fd)


def _read(file: IO[bytes]) -> bytes | None:
    """Read available data: empty at the end, None if there is nothing now."""
    try:
        return os.read(file.fileno(), CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""
