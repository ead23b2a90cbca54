"""The journal of a run: the attempts that a process has begun, in a file that is locked while the process lives.

A line is written before an agent is called. If the process is killed, the lines stay and the lock is released, so
that a resumed run knows which attempts were under way. The file is mapped into memory: writing a line is a copy,
without a system call, and survives the death of the process.
"""

import contextlib
import errno
import mmap
import os
import threading
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Self

import orjson

from clerkship.kit.file_lock import try_lock
from clerkship.model.run import Attempt
from clerkship.store.contract import RunBusy

MAX_LOCK_ATTEMPTS = 10
INITIAL_BYTES = 1 << 12
"""Bytes that the file has at first; it doubles."""


class Journal:
    """The journal of a run, held by one process at a time."""

    def __init__(self, path: Path, run_id: str) -> None:
        self._path = path
        self._gate = threading.Lock()
        self._file = _open_locked(path, run_id)
        try:
            known = self._file.readall().rstrip(b"\0")
            self.begun = tuple(_parse_attempts(known))
            self._end = len(known)
            self._room = self._grow()
        except BaseException:  # such as a full disk: nobody else would close the file
            self._file.close()
            raise

    def begin(self, attempt: Attempt) -> None:
        """Write a line; a run that was released takes no more."""
        line = orjson.dumps(list(attempt)) + b"\n"
        with self._gate:
            end = self._end + len(line)
            if end > len(self._room):
                full, self._room = self._room, self._grow()
                full.close()
            self._room[self._end : end] = line
            self._end = end

    def _grow(self) -> mmap.mmap:
        """Extend the file by writing zeros: on a full disk this fails, while writing to a mapped hole would kill the
        process.
        """
        self._file.seek(0, os.SEEK_END)
        wanted = max(INITIAL_BYTES, self._end)
        if self._file.write(bytes(wanted)) != wanted:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return mmap.mmap(self._file.fileno(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Delete the file before releasing the lock, so that no process locks a file that is being deleted."""
        with self._gate:
            if kind is None:
                self._path.unlink(missing_ok=True)
            self._room.close()
            self._file.close()


def is_held(path: Path) -> bool:
    """Return whether a process holds a journal."""
    try:
        with FileIO(path, "r") as file:
            return not try_lock(file, shared=True)
    except FileNotFoundError:
        return False


def read_begun(path: Path) -> tuple[Attempt, ...]:
    """Return the attempts in a journal; none if there is no such file."""
    try:
        return tuple(_parse_attempts(path.read_bytes().rstrip(b"\0")))
    except FileNotFoundError:
        return ()


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
    """Lock, with retries: a process that only checks the lock holds it for a moment too."""
    for _ in range(MAX_LOCK_ATTEMPTS):
        if try_lock(file):
            return True
        time.sleep(0.005)
    return False


def _parse_attempts(data: bytes) -> Iterator[Attempt]:
    for line in data.split(b"\n"):
        with contextlib.suppress(orjson.JSONDecodeError):  # half a line: nothing had come of it
            yield Attempt(*orjson.loads(line))
