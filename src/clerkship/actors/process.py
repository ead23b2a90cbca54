"""The program of one trial: started, used, and ended together with everything it started.

Its pipes are read in the loop of the caller that waits for an answer. It may be closed from any thread.
"""

import asyncio
import atexit
import contextlib
import errno
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from signal import Signals

from pydantic import JsonValue

from clerkship.actors.contract import AgentError, AgentStopped
from clerkship.actors.isolation.contract import NOT_ISOLATED, Isolation
from clerkship.actors.process_pipes import MAX_STDERR_BYTES, ProcessPipes, wait_for
from clerkship.kit.secrets import new_name
from clerkship.kit.text import cut_start
from clerkship.kit.wall import monotonic, process_seconds
from clerkship.model.errors import PlatformError

MARK_VARIABLE = "CLERKSHIP_PROCESS"
"""Name of the variable that holds the mark."""
_PROC = Path("/proc")
_HAS_PROC = (_PROC / "self/stat").exists()
_HAS_CHILDREN = (_PROC / f"self/task/{os.getpid()}/children").exists()
_WAITING = (b"S", b"T", b"t", b"Z", b"X", b"I")
"""States in which a thread does not want the processor or a disk, proc(5)."""
EXIT_TIMEOUT = 0.25
"""Seconds for the program to end after its standard input is closed."""
LOOK_INTERVAL = 0.005
"""Seconds between two looks at whether a program ends after its last reply."""
WAITING_LOOKS = 4
"""Looks in a row at which a program waits, so that it is not about to end."""
LAUNCHER_EXIT_TIMEOUT = 1.0
"""Seconds to wait for the exit code of a launcher that closed its output."""
STACK_TIMEOUT = 0.05
"""Seconds for a hung process to write its stack."""
TERM_GRACE = 0.3
"""Seconds from SIGTERM to SIGKILL."""
_RUNNING: set["Process"] = set()
_ERROR = re.compile(r"\w*(Error|Exception)\b|\berror:")


def find_processes(session: int, mark: str) -> list[int]:
    """Return the running processes of a session or with its mark; empty if there is no /proc.

    The session is 0 if it is not known: the program was abandoned while it was being started.
    """
    if not _HAS_PROC:
        return []
    wanted = f"{MARK_VARIABLE}={mark}".encode()
    pids = (int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit())
    return [pid for pid in pids if _belongs(pid, session, wanted)]


def _belongs(pid: int, session: int, wanted: bytes) -> bool:
    try:
        # `pid (name) state ppid pgrp session …`, proc(5); a name may have brackets in it.
        state, _, _, sid = (_PROC / f"{pid}/stat").read_bytes().rpartition(b")")[2].split()[:4]
        if state in (b"Z", b"X"):
            return False
        return (session > 0 and int(sid) == session) or wanted in (_PROC / f"{pid}/environ").read_bytes().split(b"\0")
    except (OSError, ValueError):  # gone already, or another user's
        return False


def is_waiting(process: int) -> bool:
    """Return whether a process and all its descendants sleep: they wait for input, for time or for another process.

    Return False if the system does not tell.
    """
    if not _HAS_CHILDREN:
        return False
    try:
        threads = [entry.path for entry in os.scandir(_PROC / f"{process}/task")]
        if not all(_read_state(thread) in _WAITING for thread in threads):
            return False
        children = [int(child) for thread in threads for child in Path(thread, "children").read_bytes().split()]
    except (OSError, ValueError):  # it is ending
        return False
    return all(map(is_waiting, children))


def _read_state(thread: str) -> bytes:
    return Path(thread, "stat").read_bytes().rpartition(b")")[2].split()[0]


def signal_processes(number: signal.Signals, session: int, mark: str, spared: Collection[int] = ()) -> bool:
    """Signal all processes except those in `spared`; return whether any was found."""
    if not _HAS_PROC:
        with contextlib.suppress(OSError):
            if session > 0:
                os.killpg(session, number)
        return False
    processes = find_processes(session, mark)
    for pid in processes:
        if pid in spared:
            continue
        with contextlib.suppress(OSError):
            os.kill(pid, number)
    return bool(processes)


class Process:
    """A program that is started once and ended once."""

    def __init__(
        self, words: Sequence[str], folder: Path | None, isolation: Isolation = NOT_ISOLATED, *, is_host: bool = False
    ) -> None:
        """`folder` is the working folder; without one, the program works in its private folder."""
        self._words, self._folder, self._isolation = words, folder, isolation
        self._launchers = [
            *([isolation.level] if isolation.level != "none" else []),
            *(["its Python"] if is_host else []),
        ]
        """What must report that it is ready before the agent starts; `is_host` if the program itself must."""
        self.dumps_stack = False
        """Whether it writes its stack to standard error on SIGUSR1; other programs would be killed by that signal."""
        self._lock = threading.RLock()
        self._mark = new_name("agent")
        self._child: subprocess.Popen[bytes] | None = None
        self._private: Path | None = None
        self._closed = False
        self._pipes = ProcessPipes()

    @property
    def started(self) -> bool:
        return self._child is not None

    def program_seconds(self) -> float | None:
        """Return the processor time it has used; None before it is started."""
        return process_seconds(self._isolation.program(self._child.pid)) if self._child is not None else None

    def open_private_folder(self) -> Path:
        """Return the folder that only this trial can see, and that is removed with the program; create it if needed."""
        with self._lock:
            if self._closed:
                raise AgentStopped
            _RUNNING.add(self)
            if self._private is None:
                self._private = Path(tempfile.mkdtemp(prefix="clerkship-", dir=self._isolation.private))  # 0700
            return self._private

    def start(self, environ: Mapping[str, str], files: Mapping[str, bytes], more_words: Sequence[str] = ()) -> None:
        """Start the program. Each file is written where only this user can read it, and a variable holds its path.

        `more_words` are arguments that were not known before, such as paths in its private folder.
        """
        with self._lock:
            if self._closed:
                raise AgentStopped
            _RUNNING.add(self)  # from here on it can be found by its mark, even after an error
            given = {**environ, **self._write_files(files), MARK_VARIABLE: self._mark}
            folder = self._folder or self.open_private_folder()
            try:
                with self._isolation.command([*self._words, *more_words], self._private, self._folder) as command:
                    words, descriptors = command
                    self._child = _popen(words, folder, given, descriptors)
            except OSError as error:
                raise self._start_error(error) from None
            self._pipes.attach(self._child, len(self._launchers))

    def _start_error(self, error: OSError) -> Exception:
        """Return the error of a program that the system did not start: the agent's, unless a launcher or this machine
        failed.
        """
        text = f"{self._words[0]} could not be started: {error.strerror}"
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM):
            return PlatformError(f"{text}; too many concurrent agents for this machine")
        if self._launchers and (self._folder is None or self._folder.is_dir()) and error.errno != errno.E2BIG:
            return PlatformError(f"the agent was not started: {self._launchers[0]}: {error.strerror}")
        return AgentError(text)

    def _write_files(self, files: Mapping[str, bytes]) -> dict[str, str]:
        if not files:
            return {}
        private = self.open_private_folder()
        places = {variable: private / f"{variable.lower()}.json" for variable in files}
        for variable, place in places.items():
            place.touch(mode=0o600)
            place.write_bytes(files[variable])
        return {variable: str(place) for variable, place in places.items()}

    def send(self, line: bytes, *, is_last: bool = False) -> None:
        """Queue a line for the program's standard input, which is closed after the last one."""
        self._pipes.send(line, is_last=is_last)

    async def receive(self) -> bytes | None:
        """Return the next line of its output, without the line end; None at the end of output.

        Raise PlatformError if a launcher failed, so that the program never ran.
        """
        while self._pipes.launchers:
            if self._pipes.ended:
                raise await self._launch_error()
            await self._exchange()
        while True:
            line = self._pipes.take_line()
            if line is not None or self._pipes.ended:
                return line
            await self._exchange()

    async def _launch_error(self) -> PlatformError:
        code = await self.exit_code(LAUNCHER_EXIT_TIMEOUT)
        end = "did not report that it is ready" if code is None else f"ended with exit code {code}"
        message = f"the agent was not started: {self._launchers[-self._pipes.launchers]} {end}"
        words = self.stderr_tail()
        return PlatformError(f"{message}\n{words}" if words else message)

    async def exit_code(self, within: float | None = None) -> int | None:
        """Return the exit code as a shell reports it; None if the program has not ended in time."""
        until = None if within is None else monotonic() + within
        while self._running() and (until is None or monotonic() < until):
            await self._exchange()
        return self._code()

    async def own_exit_code(self) -> int | None:
        """Return the exit code if the program ends by itself now, with its standard input still open.

        Return None if it waits, as a program in a loop does for the next message, or has not ended in time. What it
        prints is discarded.
        """
        until, waiting = monotonic() + EXIT_TIMEOUT, 0
        while self._running() and monotonic() < until and waiting < WAITING_LOOKS:
            await asyncio.sleep(LOOK_INTERVAL)
            with self._lock:
                self._check_open()
                self._pipes.drain()
                child = self._child
            waiting = waiting + 1 if child is not None and is_waiting(child.pid) else 0
        return self._code()

    def _code(self) -> int | None:
        """Return the exit code; for a signal 128 plus its number, as launchers report it."""
        code = None if self._child is None else self._child.poll()
        return code if code is None or code >= 0 else 128 - code

    def error(self, message: str) -> AgentError:
        """Return an error with the end of the program's standard error."""
        words = self.stderr_tail()
        return AgentError(f"{message}\n{words}" if words else message)

    def stderr_tail(self) -> str:
        """Return the last lines of standard error, without control characters."""
        with self._lock:
            if not self._closed:
                self._pipes.drain_errors()
        every = self._pipes.errors.strip().splitlines()
        lines = every[-6:]
        if not any(_ERROR.search(line) for line in lines):  # the error may be far above a long traceback
            lines = [*[line for line in every if _ERROR.search(line)][-1:], *lines]
        plain = ("".join(sign if sign.isprintable() else " " for sign in line) for line in lines)
        return cut_start("\n".join(plain), 1000)

    def _running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    async def _exchange(self) -> None:
        """Wait until a pipe is ready, then read and write a little."""
        with self._lock:
            self._check_open()
            reading, writing = self._pipes.descriptors()
        await wait_for(reading, writing)
        with self._lock:
            self._check_open()
            gone = not self._running()  # checked first, so that all its output is in the pipe
            self._pipes.pump(gone)

    def _check_open(self) -> None:
        if self._closed or self._child is None:
            raise AgentStopped

    def close(self) -> Mapping[str, JsonValue]:
        """End the program and everything it started; return facts about its end."""
        with self._lock:  # waits for a concurrent read, which then sees that it is closed
            if self._closed:
                return {}
            self._closed = True
        try:
            ended_by = self._end()
            return self._facts(ended_by)
        finally:
            self._release()

    def _end(self) -> str | None:
        """End the program by closing its input, then by SIGTERM, then by SIGKILL; return the signal that was needed."""
        if self not in _RUNNING:
            return None
        session = 0 if self._child is None else self._child.pid
        self._pipes.close_input()
        self._wait_for_exit(EXIT_TIMEOUT)
        own_end = not self._running()
        if self.dumps_stack and not own_end and self._child is not None:
            with contextlib.suppress(OSError):
                os.kill(self._isolation.program(self._child.pid), Signals.SIGUSR1)
            self._wait_for_exit(STACK_TIMEOUT, at_least=True)
        spared = self._isolation.launcher(session)
        if not signal_processes(Signals.SIGTERM, session, self._mark, spared) and own_end:
            return None
        until = monotonic() + TERM_GRACE
        while monotonic() < until and (self._running() or find_processes(session, self._mark)):
            self._wait_for_exit(0.02, at_least=True)
        hard = self._kill(session)
        if own_end:
            return None
        return "SIGKILL" if hard else "SIGTERM"

    def _kill(self, session: int) -> bool:
        """Kill until no process is left: one that is forking may appear late."""
        running, rounds = self._running(), 0
        while (signal_processes(Signals.SIGKILL, session, self._mark) or self._running()) and rounds < 100:
            rounds += 1
            self._wait_for_exit(0.01, at_least=True)
        return running

    def _wait_for_exit(self, within: float, *, at_least: bool = False) -> None:
        """Wait for the program to end, reading its remaining output."""
        until, nap = monotonic() + within, 0.0005
        while monotonic() < until and (at_least or self._running()):
            self._pipes.drain()
            time.sleep(nap)
            nap = min(nap * 2, 0.01)

    def _facts(self, ended_by: str | None) -> dict[str, JsonValue]:
        if self._child is None:
            return {}
        self._pipes.drain_errors()
        errors = self._pipes.errors
        facts: dict[str, JsonValue] = {"agent_stderr": cut_start(errors, MAX_STDERR_BYTES - 1)} if errors else {}
        return facts | ({"agent_ended_by": ended_by} if ended_by else {"agent_exit_code": self._code()})

    def _release(self) -> None:
        _RUNNING.discard(self)
        self._pipes.close()
        if self._private is not None:
            shutil.rmtree(self._private, ignore_errors=True)

    def abandon(self) -> None:
        """Kill the program at once: this process is about to end."""
        session = 0 if self._child is None else self._child.pid
        signal_processes(Signals.SIGKILL, session, self._mark)
        if self._private is not None:
            shutil.rmtree(self._private, ignore_errors=True)
        if self._isolation.private is not None:
            with contextlib.suppress(OSError):  # other trials may still use it
                self._isolation.private.rmdir()


def _popen(
    words: Sequence[str], folder: Path, environ: Mapping[str, str], descriptors: Sequence[int]
) -> "subprocess.Popen[bytes]":
    pipe = subprocess.PIPE
    return subprocess.Popen(
        words,
        cwd=folder,
        env=environ,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        bufsize=0,
        start_new_session=True,
        pass_fds=descriptors,
    )


@atexit.register
def _kill_remaining() -> None:
    """End the programs that are left when this process ends early, such as after a second Ctrl-C."""
    for process in list(_RUNNING):
        with contextlib.suppress(Exception):
            process.abandon()
