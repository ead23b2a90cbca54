"""The trials a process has begun in a run: a file beside the store, locked for as long as the process lives.

A line is written before an agent is called. Whatever kills the process, the lines stay and the lock goes, so that
whoever resumes the run knows which attempts were under way, and that nobody is at them any more. The file is mapped
into memory: to write a line is to copy it, without asking the system, and it is there all the same if the process dies.
"""

import contextlib
import errno
import mmap
import os
import sys
import threading
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Self

import orjson

from clerkship.model.run import Attempt
from clerkship.store.contract import RunBusy

if sys.platform != "win32":
    import fcntl


MAX_LOCK_ATTEMPTS = 10
INITIAL_BYTES = 1 << 12
"""Bytes that the file has at first; it doubles."""


class Journal:
    """Held by one process at a time."""

    def __init__(self, path: Path, run_id: str) -> None:
        self._path = path
        self._gate = threading.Lock()
        self._file = _open_locked(path, run_id)
        known = self._file.readall().rstrip(b"\0")
        self.begun = tuple(_parse_attempts(known))
        self._end = len(known)
        self._room = self._grow()

    def begin(self, attempt: Attempt) -> None:
        """Take a line down. A run that is let go of takes no more."""
        line = orjson.dumps(list(attempt)) + b"\n"
        with self._gate:
            if self._end + len(line) > len(self._room):
                full, self._room = self._room, self._grow()
                full.close()
            self._room[self._end : self._end + len(line)] = line
            self._end += len(line)

    def _grow(self) -> mmap.mmap:
        """Written, not only promised: on a full disk this fails, where a mapping of a hole would end the process."""
        self._file.seek(0, os.SEEK_END)
        wanted = max(INITIAL_BYTES, self._end)
        if self._file.write(bytes(wanted)) != wanted:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return mmap.mmap(self._file.fileno(), 0)

    def __enter__(self) -> Self:
        """In hand."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """The file goes before the lock, so that nobody locks a file that is going."""
        with self._gate:
            if kind is None:
                self._path.unlink(missing_ok=True)
            self._room.close()
            self._file.close()


def is_held(path: Path) -> bool:
    """Whether a process has it now."""
    try:
        with FileIO(path, "r") as file:
            return not _lock(file, shared=True)
    except FileNotFoundError:
        return False


def _open_locked(path: Path, run_id: str) -> FileIO:
    while True:
        file = FileIO(path, "a+")
        if not _lock_with_retries(file):
            file.close()
            raise RunBusy(f"another process is at work on {run_id}; wait for it, or stop it")
        if path.exists() and os.fstat(file.fileno()).st_ino == path.stat().st_ino:
            file.seek(0)
            return file
        file.close()  # its owner let go of it, and of the file, between the two calls


def _lock_with_retries(file: FileIO) -> bool:
    """Somebody who only looks whether it is held holds it for a moment too."""
    for _ in range(MAX_LOCK_ATTEMPTS):
        if _lock(file):
            return True
        time.sleep(0.005)
    return False


def _lock(file: FileIO, *, shared: bool = False) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _parse_attempts(data: bytes) -> Iterator[Attempt]:
    for line in data.split(b"\n"):
        with contextlib.suppress(orjson.JSONDecodeError):  # half a line: nothing had come of it
            yield Attempt(*orjson.loads(line))
